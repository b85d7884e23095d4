// Formats the results for the terminal, and as the tables and the plot of docs/research/benchmarks.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { barX, text } from '@observablehq/plot';
import { drawSvg } from '../../dist/lab/report/chart.js';
import { fileStyle } from '../../dist/lab/score-chart.js';
import { filled, table as markdownTable } from '../../scripts/lib/markdown.mjs';
import { root } from '../../test/support/programs.mjs';
import { saturating } from './plan.mjs';

const table = (head, rows) =>
  markdownTable(
    head,
    rows.map((row) => row.map(String)),
  );

/** Formats a value with about three significant digits, and a missing value as a dash. */
function number(value) {
  if (value === undefined || value === null) return '–';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(4, digits));
}

/** Formats the median and the range over turns. */
function range(found) {
  if (!found) return '–';
  const { median, low, high } = found;
  return low === high ? number(median) : `${number(median)} (${number(low)}–${number(high)})`;
}

function verdict({ min, max, found }) {
  if (!found) return 'not measured';
  if (min === undefined && max === undefined) return '';
  return (min === undefined ? found.median <= max : found.median >= min) ? '✓' : '✗ missed';
}

function target({ min, max }) {
  if (min !== undefined) return `≥ ${min}`;
  return max === undefined ? '' : `≤ ${max}`;
}

const figureTable = ({ figures }) =>
  table(
    ['figure', 'target', 'measured', 'A/A noise', ''],
    figures.map((figure) => [
      figure.what,
      target(figure),
      range(figure.found),
      range(figure.noise),
      verdict(figure),
    ]),
  );

const floorTable = ({ rows }) =>
  table(
    ['images', 'threads', 'pairs/s', 'CPU-ms per pair', 'of which models', 'scaled decoding alone'],
    rows
      .filter(({ contender }) => contender === 'floor')
      .map(({ block, workers, pairs_per_second, pipeline_cpu_ms, nets_cpu_ms, decode_cpu_ms }) => [
        block,
        workers,
        ...[pairs_per_second, pipeline_cpu_ms, nets_cpu_ms, decode_cpu_ms].map(number),
      ]),
  );

const columns = {
  'requests/s': 'requests_per_second',
  'p50 ms': 'p50_ms',
  'p99 ms': 'p99_ms',
  'p99.9 ms': 'p99_9_ms',
  'other responses': 'other_responses',
  'CPU-ms per request': 'cpu_ms',
  'main thread’s': 'main_thread_cpu_ms',
  'generator’s': 'generator_cpu_ms',
  'RSS MiB': 'rss_mib',
};

function loadTable({ rows, contenders }, block, leftOut) {
  const names = Object.keys(columns).filter((name) => !leftOut.includes(name));
  const workers = leftOut.includes('workers') ? [] : ['workers'];
  const loads = rows.filter((row) => row.block === block && row.contender !== 'floor');
  const cell = (row, name) =>
    name === 'other_responses' ? `${number(row[name] * 100)} %` : number(row[name]);
  return table(
    ['contender', ...workers, 'clients', ...names],
    loads.map((row) => [
      contenders[row.contender].title,
      ...workers.map(() => row.workers),
      row.clients ?? `${number(row.rate)} per second`,
      ...names.map((name) => cell(row, columns[name])),
    ]),
  );
}

const what = {
  workers: 'facematch with one worker and with two; two JPEGs of 250 pixels, mode fast.',
  steady:
    'Server and load generator run on separate CPUs, with at most one worker per CPU. The maximum load is measured first, then 70 % of it at a fixed rate. Latency is measured from the time when a request was due.',
};

/** Returns the heading, description and table of each block with servers. */
function blockSections(results, leftOut = []) {
  const { rows, contenders, scenarios, checks } = results;
  const blocks = new Set(rows.filter(({ contender }) => contender !== 'floor').map(({ block }) => block));
  return [...blocks].map((block) => {
    const asked = checks.filter((one) => one.block === block && one.asked > 0);
    const wrong = asked
      .filter((one) => one.right < one.asked)
      .map((one) => `${contenders[one.contender].title} ${one.right} of ${one.asked}`);
    const scenario = scenarios[block.split(' ')[0]];
    const about = what[block] ?? `${scenario.charAt(0).toUpperCase()}${scenario.slice(1)}.`;
    const verdicts = wrong.length > 0 ? `all correct, except ${wrong.join(', ')}` : 'all correct';
    const responses = asked.length > 0 ? ` Responses checked before the load: ${verdicts}.` : '';
    return `#### ${block}\n\n${about}${responses}\n\n${loadTable(results, block, leftOut)}`;
  });
}

const measuredOn = ({ environment: { date, commit, cpu, memory_gib, node } }) =>
  `Measured on ${date}: commit ${commit}, ${cpu}, ${memory_gib} GiB, Node ${node}.`;

export const consoleText = (results) =>
  [measuredOn(results), ...blockSections(results), floorTable(results), figureTable(results)].join('\n\n');

/** Draws the requests per second of each contender as bars, for light and dark mode. */
function throughputPicture({ rows, contenders }) {
  const bars = rows
    .filter(({ block, clients }) => block === 'small fast' && clients === saturating)
    .filter(({ contender }) => contender !== 'floor' && contender !== 'facematch-again')
    .map(({ contender, requests_per_second: x }) => ({ contender, x, y: contenders[contender].title }));
  const title = 'Requests per second';
  const about = `two JPEGs of 250 pixels, mode fast, ${saturating} clients, two workers; more is better`;
  const heading = { frameAnchor: 'top-left', dx: -150 };
  return `${drawSvg(
    {
      ...{ width: 720, height: 60 + bars.length * 30, marginTop: 46, marginRight: 90, marginLeft: 150 },
      ariaLabel: title,
      ariaDescription: about,
      x: { axis: null },
      y: { label: null, tickSize: 0 },
      marks: [
        barX(bars, {
          ...{ x: 'x', y: 'y', sort: { y: '-x' } },
          fill: ({ contender }) => (contender === 'facematch' ? '#0969da' : '#818b98'),
        }),
        text(bars, { x: 'x', y: 'y', text: ({ x }) => number(x), dx: 6, textAnchor: 'start' }),
        text([title], { ...heading, dy: -44, fontWeight: 600 }),
        text([about], { ...heading, dy: -24, className: 'small' }),
      ],
    },
    fileStyle,
  )}\n`;
}

/** Formats the results as JSON with one list entry per line. */
export function resultsText(results) {
  const member = ([name, value]) => {
    if (!Array.isArray(value)) return `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
    return `${JSON.stringify(name)}: [\n${value.map((entry) => `  ${JSON.stringify(entry)}`).join(',\n')}\n]`;
  };
  return `{\n${Object.entries(results).map(member).join(',\n')}\n}\n`;
}

/** Blocks that the page shows. The results file has all blocks. */
const shown = ['small fast', 'photo fast', 'phone fast', 'rejected-key fast', 'steady'];
const hidden = ['workers', 'p99.9 ms', 'generator’s'];

/** Writes the results file, the plot and the tables of docs/research/benchmarks.md. */
export function writePage(results) {
  const folder = join(root, 'docs/research/benchmarks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'results.json'), resultsText(results));
  writeFileSync(join(folder, 'throughput.svg'), throughputPicture(results));
  const { contenders, options, pictures } = results;
  const versions = (found) =>
    Object.entries(found)
      .map((pair) => pair.join(' '))
      .join(', ');
  const how = Object.values(contenders).map(({ title, how: text, versions: found }) => [
    title,
    text,
    versions(found),
  ]);
  const sources = Object.entries(pictures).map(([kind, source]) => `${kind} from ${source}`);
  const page = join(root, 'docs/research/benchmarks.md');
  const tables = {
    measured: `${measuredOn(results)} ${options.rounds} ${options.rounds === 1 ? 'round' : 'rounds'} of new processes, with ${options.turns} windows of ${options.seconds} s for each measurement that a figure uses. Images: ${sources.join(', ')}.`,
    figures: figureTable(results),
    contenders: table(['contender', 'how', 'versions'], how),
    floor: floorTable(results),
    measurements: blockSections(
      {
        ...results,
        rows: results.rows.filter(
          ({ block, contender, clients = saturating }) =>
            shown.includes(block) && contender !== 'facematch-again' && clients === saturating,
        ),
      },
      hidden,
    ).join('\n\n'),
  };
  writeFileSync(page, filled(page, tables));
}
