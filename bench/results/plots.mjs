// Which plots the page has, by file name. A plot whose samples a run has not taken is undefined.
import { saturating } from '../measure/plan.mjs';
import { values } from './figures.mjs';
import { median } from './statistics.mjs';
import { bars, lines, stacks } from './svg.mjs';
import { number } from './tables.mjs';

const middle = (samples, where, field) => median(values(samples, where, field).filter(Number.isFinite));
const small = { block: 'small fast' };

function throughput({ samples, contenders }) {
  const rows = Object.entries(contenders)
    .map(([contender, { title }]) => ({
      label: title,
      accent: contender === 'facematch',
      value: middle(samples, { contender, ...small, clients: saturating }, 'throughput'),
    }))
    .filter(({ label, value }) => value > 0 && label !== contenders['facematch-again']?.title)
    .sort((a, b) => b.value - a.value)
    .map((row) => ({ ...row, shown: number(row.value) }));
  const subtitle = `two JPEGs of 250 pixels, mode fast, ${saturating} clients, two workers; more is better`;
  return rows.length > 0 ? bars({ title: 'Requests a second', subtitle, rows }) : undefined;
}

function latency({ samples, contenders, options }) {
  const curve = (contender, field, rest) => ({
    ...rest,
    values: options.clients.map((clients) => middle(samples, { contender, ...small, clients }, field)),
  });
  const series = ['facematch', 'do-it-yourself']
    .filter((name) => contenders[name])
    .flatMap((name, colour) => [
      curve(name, 'p50', { name: `${contenders[name].title}, p50`, colour }),
      curve(name, 'p99', { name: `${contenders[name].title}, p99`, colour, dashed: true }),
    ])
    .filter((one) => one.values.some(Number.isFinite));
  if (series.length === 0 || options.clients.length < 2) return undefined;
  return lines({
    title: 'Latency in milliseconds',
    subtitle:
      'two JPEGs of 250 pixels, mode fast, by the number of clients that ask one request after the other',
    places: options.clients.map(String),
    series,
    show: number,
  });
}

function cpu({ samples }) {
  const rows = ['small', 'card', 'photo', 'phone']
    .map((scenario) => {
      const block = `${scenario} fast`;
      const floor = { contender: 'floor', block };
      const nets = middle(samples, floor, 'nets');
      const pipeline = middle(samples, floor, 'pipeline');
      const server = middle(samples, { contender: 'facematch', block, clients: saturating }, 'cpu');
      return { label: scenario, values: [nets, pipeline - nets, Math.max(0, server - pipeline)] };
    })
    .filter((row) => row.values.every(Number.isFinite));
  if (rows.length === 0) return undefined;
  return stacks({
    title: 'Where the CPU time of a request goes, in milliseconds',
    subtitle: 'facematch, mode fast',
    names: ['nets', 'rest of the native pipeline', 'HTTP, Node, everything else'],
    rows,
    show: number,
  });
}

export const plots = { 'throughput.svg': throughput, 'latency.svg': latency, 'cpu.svg': cpu };
