// Results as rows of text, for the console and for the page alike.
import { median } from './statistics.mjs';

/** Three significant digits, and a dash for what was not measured. */
export function number(value) {
  if (value === undefined || value === null || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(4, digits));
}

/** Median, and from where to where the turns went. */
export function range(spread) {
  if (spread === undefined) return '–';
  const { median: middle, low, high, turns } = spread;
  return turns === 1 ? number(middle) : `${number(middle)} (${number(low)}–${number(high)})`;
}

/** A table { head, rows } as Markdown. */
export function markdown({ head, rows }) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

const target = ({ least, most }) => (least === undefined ? `≤ ${most}` : `≥ ${least}`);
const mark = { true: '✓', false: '✗ missed', null: 'not measured' };

export function figureTable(figures) {
  return {
    head: ['what', 'target', 'reached', 'A/A noise', ''],
    rows: figures.map((figure) => [
      figure.what,
      target(figure),
      range(figure.found),
      range(figure.noise),
      mark[figure.reached],
    ]),
  };
}

/** What is told beside the figures: [figure, what, value]. */
export const besideFigures = (figures) =>
  figures.flatMap(({ what, beside }) =>
    Object.entries(beside)
      .filter(([, found]) => found !== undefined)
      .map(([name, found]) => [what, name, range(found)]),
  );

const middle = (samples, pick) => {
  const found = samples.map(pick).filter((value) => typeof value === 'number' && Number.isFinite(value));
  return found.length === 0 ? undefined : median(found);
};

function groups(samples, key) {
  const found = new Map();
  for (const sample of samples) {
    const name = key(sample);
    found.set(name, [...(found.get(name) ?? []), sample]);
  }
  return [...found.values()];
}

/** Answers that were not those expected, and requests without one, of all. */
function otherAnswers(samples) {
  const of = ({ statuses, answers, errors }) => {
    const all = Object.values(statuses).reduce((sum, count) => sum + count, 0) + errors;
    return (all - answers) / all;
  };
  const share = middle(samples, of);
  return share === undefined ? '–' : `${number(share * 100)} %`;
}

const loopName = ({ loop, clients, rate }) =>
  loop === 'open' ? `${number(rate)} a second` : String(clients);

/** Servers of a block, each with each number of clients. */
export function loadTable(samples, block, titles) {
  const loaded = samples.filter((sample) => sample.block === block && sample.loop !== 'floor');
  const rows = groups(loaded, ({ contender, workers, loop, clients }) =>
    [contender, workers, loop, clients].join(),
  ).map((same) => {
    const [{ contender, workers }] = same;
    return [
      titles[contender] ?? contender,
      String(workers),
      loopName({ ...same[0], rate: middle(same, ({ rate }) => rate) }),
      number(middle(same, (sample) => sample.requests_per_second)),
      ...['p50', 'p99', 'p99_9'].map((name) => number(middle(same, ({ latency_ms }) => latency_ms[name]))),
      otherAnswers(same),
      number(middle(same, (sample) => sample.cpu_ms)),
      number(middle(same, (sample) => sample.generator_cpu_ms)),
      number(middle(same, (sample) => sample.rss_mib)),
    ];
  });
  return {
    head: [
      'contender',
      'workers',
      'clients',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'other answers',
      'CPU-ms a request',
      'generator’s',
      'RSS MiB',
    ],
    rows,
  };
}

/** The machine's limit: pipeline, nets and decoding by themselves. */
export function floorTable(samples) {
  const floors = samples.filter((sample) => sample.loop === 'floor');
  const rows = groups(floors, ({ block, workers }) => [block, workers].join()).map((same) => [
    same[0].block,
    String(same[0].workers),
    number(middle(same, ({ pipeline }) => pipeline.pairs_per_second)),
    ...['pipeline', 'nets', 'decode'].map((kind) => number(middle(same, (sample) => sample[kind].cpu_ms))),
  ]);
  return {
    head: ['pictures', 'threads', 'pairs/s', 'CPU-ms a pair', 'of which nets', 'bare scaled decoding'],
    rows,
  };
}

export const blocksOf = (samples) => [...new Set(samples.map(({ block }) => block))];
