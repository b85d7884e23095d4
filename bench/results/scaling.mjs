// docs/scaling.md: what the results of one run say about machines that are larger. The sums are here, the numbers are
// those of the run.
import { saturating, steady_share } from '../measure/plan.mjs';
import { values } from './figures.mjs';
import { median } from './statistics.mjs';
import { markdown, number } from './tables.mjs';

const kinds = ['small', 'card', 'photo', 'phone'];
const modes = ['fast', 'balance'];
const cores = [2, 4, 8, 16, 32];
const day_s = 24 * 60 * 60;

const middle = (samples, where, field) => median(values(samples, where, field).filter(Number.isFinite));

/**
 * What a request costs, in milliseconds of CPU: `all` of the server, `front` of its main thread, which there is one of;
 * `ceiling` is how many requests a second one process can take in, however many workers it has.
 */
export function costOf(samples, kind, mode) {
  const where = { contender: 'facematch', block: `${kind} ${mode}`, clients: saturating };
  const all = middle(samples, where, 'cpu');
  const front = middle(samples, where, 'front');
  return { all, front, ceiling: 1000 / front };
}

/** Requests a second of one process on `count` cores, at its best, where it is bound by CPU and the front's share of it. */
export const capacity = ({ all, ceiling }, count) => Math.min((1000 * count) / all, ceiling);

/** Cores for so many requests a day, of which the busiest hour has `peak` times the mean, run at 70 % of the best. */
export const coresFor = ({ all }, a_day, peak) => ((a_day / day_s) * peak * all) / 1000 / steady_share;

const rowsOf = (samples) =>
  kinds
    .flatMap((kind) => modes.map((mode) => ({ kind, mode, cost: costOf(samples, kind, mode) })))
    .filter(({ cost }) => Number.isFinite(cost.all));

const costTable = (rows) => ({
  head: [
    'pictures',
    'mode',
    'CPU-ms a request',
    'of which main thread',
    'requests/s a core',
    'main thread full at, requests/s',
  ],
  rows: rows.map(({ kind, mode, cost }) => [
    kind,
    mode,
    number(cost.all),
    number(cost.front),
    number(1000 / cost.all),
    number(cost.ceiling),
  ]),
});

const capacityTable = (rows) => ({
  head: ['pictures', 'mode', ...cores.map((count) => `${count} cores`)],
  rows: rows.map(({ kind, mode, cost }) => [
    kind,
    mode,
    ...cores.map((count) => number(steady_share * capacity(cost, count))),
  ]),
});

function example(rows) {
  const chosen = rows.find(({ kind, mode }) => kind === 'photo' && mode === 'balance');
  if (chosen === undefined) return [];
  const [a_day, peak] = [1_000_000, 3];
  const rate = (a_day / day_s) * peak;
  return [
    `For example, ${a_day.toLocaleString('en')} comparisons a day of two photos in mode balance, the busiest hour ${peak} times the mean: ` +
      `${number(rate)} requests a second × ${number(chosen.cost.all)} ms ÷ ${steady_share} = **${number(coresFor(chosen.cost, a_day, peak))} cores**.`,
  ];
}

const workersBlock = (contender, workers) => ({ contender, block: 'workers', workers });

/** The page's text. */
export function scalingText({ environment, options, samples }) {
  const { commit, cpu, memory_gib, node, date } = environment;
  const rows = rowsOf(samples);
  const busy = (workers) => ({ ...workersBlock('facematch', workers), clients: saturating });
  const gain = middle(samples, busy(2), 'throughput') / middle(samples, busy(1), 'throughput');
  const machine =
    middle(samples, workersBlock('floor', 2), 'pipeline_throughput') /
    middle(samples, workersBlock('floor', 1), 'pipeline_throughput');
  const [one, two] = [1, 2].map((workers) => middle(samples, busy(workers), 'rss_mb'));
  return `${[
    '# Scaling',
    '<!-- Made by `npm run bench -- --report` out of docs/benchmarks/results.json. -->',
    `What a machine of so many cores can carry, by sums from what was [measured](benchmarks.md) on two: ${date}, commit ${commit}, ${cpu}, ${memory_gib} GiB, Node ${node}. ` +
      'Nothing beyond two cores was measured; another processor has other times but much the same proportions. Measure yours with `npm run bench -- --contenders facematch,floor`.',
    '## What a request costs',
    `CPU time of the whole server, all ${options.workers} workers busy. The pictures: *small* two JPEGs of 250 pixels, *card* of 640 × 480, *photo* of 1350 pixels a side, *phone* of 12 megapixels and some 4 MB.`,
    markdown(costTable(rows)),
    'A request needs one worker thread for all of its time but a little, which is the main thread’s: it receives bodies, parses forms, and answers. There is one main thread a process, so its part of a request says where a process is full, whatever number of cores it has.',
    '## One process, more cores',
    `Two workers answer ${number(gain)} times as many requests as one; the same native pipeline without HTTP gains ${number(machine)} on two threads of this machine. Workers share nothing but the nets’ weights, which are read only, so what larger machines add or lose is theirs: memory bandwidth, clock rates with many cores busy, hyper-threads that are no cores.`,
    `At ${steady_share * 100} % of the best, where latency stays low, in requests a second: min(cores × 1000 ÷ CPU-ms, where the main thread is full) × ${steady_share}.`,
    markdown(capacityTable(rows)),
    ...example(rows),
    '`FACEMATCH_WORKERS` is the number of CPUs that the process may use unless you set it.',
    '## Memory',
    `${number(one)} MB with one worker and ${number(two)} MB with two, after warm-up: each further worker adds some ${number(two - one)} MB. On top come the bodies being received, at most 1.25 × \`FACEMATCH_MAX_UPLOAD_BYTES\`, up to 64 MiB of memory that waits for the next ones, and for each worker the two pictures that it works on, three bytes a pixel: 300 MB where both have 50 megapixels and are no JPEGs, which are read at a smaller scale.`,
    '## More processes',
    'A server keeps no state but rate limits. Behind a balancer of `n` replicas a key has `n` times its rate, unless they count in one Redis: [replicas](replicas.md). Give each replica the same key file, which is read again when it changes. No replica knows of the others, so throughput adds up: `n` times the table, as long as the balancer spreads requests by open requests (least connections) and not by turns, for requests differ as much as the table above. Take readiness from `/readyz` of the admin port, and let the balancer try another replica on 503.',
    'Prefer replicas of 4 to 8 cores to one large process: a process that restarts takes less with it, and no main thread comes near its limit.',
  ].join('\n\n')}\n`;
}
