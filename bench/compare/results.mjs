// Computes the results from the windows: the medians of each cell, and the figures with their targets.
import { saturating } from './plan.mjs';

/** Returns the median of the finite values; NaN if there are none. */
export function median(values) {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Returns a quantile by nearest rank; NaN if there are too few values to distinguish it from the maximum. */
function quantile(sorted, share) {
  if (sorted.length < 1 / (1 - share)) return Number.NaN;
  return sorted[Math.ceil(sorted.length * share) - 1];
}

const total = (windows, name) => windows.reduce((sum, window) => sum + window[name], 0);

/** Returns the row of one cell from its windows. Only expected statuses count as responses. */
function loadRow(windows) {
  const [{ expects, rate }] = windows;
  const seconds = total(windows, 'seconds');
  const all = windows.flatMap(({ latencies }) => latencies);
  const counted = all
    .filter(([status]) => expects.includes(status))
    .map(([, ms]) => ms)
    .sort((a, b) => a - b);
  const errors = total(windows, 'errors');
  return {
    ...(rate && { rate }),
    requests_per_second: counted.length / seconds,
    p50_ms: quantile(counted, 0.5),
    p99_ms: quantile(counted, 0.99),
    p99_9_ms: quantile(counted, 0.999),
    other_responses: (all.length + errors - counted.length) / (all.length + errors),
    // CPU time per response of any status, because rejections also cost CPU time.
    cpu_ms: total(windows, 'server_ms') / all.length,
    main_thread_cpu_ms: total(windows, 'main_thread_ms') / all.length,
    generator_cpu_ms: total(windows, 'generator_ms') / all.length,
    rss_mib: windows.at(-1).rss_mib,
  };
}

/**
 * Returns the row of native/bench/floor.cpp: pairs per second of the pipeline, and CPU time per pair of the pipeline,
 * the models and the decoding.
 */
function floorRow(windows) {
  const mean = (kind, name) => windows.reduce((sum, one) => sum + one[kind][name], 0) / windows.length;
  return {
    pairs_per_second: mean('pipeline', 'pairs_per_second'),
    pipeline_cpu_ms: mean('pipeline', 'cpu_ms'),
    nets_cpu_ms: mean('nets', 'cpu_ms'),
    decode_cpu_ms: mean('decode', 'cpu_ms'),
  };
}

const rowOf = (windows) => (windows[0].loop === 'floor' ? floorRow : loadRow)(windows);

function grouped(windows, key) {
  const groups = new Map();
  for (const window of windows) groups.set(key(window), [...(groups.get(key(window)) ?? []), window]);
  return [...groups.values()];
}

/** Returns one row per cell, with medians over the rounds. */
export function rowsOf(windows) {
  const cellOf = ({ block, contender, workers, loop, clients }) =>
    [block, contender, workers, loop, clients].join();
  return grouped(windows, cellOf).map((same) => {
    const [{ block, contender, workers, loop, clients }] = same;
    const rounds = grouped(same, ({ round }) => round).map(rowOf);
    const medians = Object.keys(rounds[0]).map((name) => {
      const value = median(rounds.map((row) => row[name]));
      return [name, Number.isNaN(value) ? null : Number(value.toPrecision(6))];
    });
    const where = loop === 'closed' ? { block, contender, workers, clients } : { block, contender, workers };
    return { ...where, ...Object.fromEntries(medians) };
  });
}

/** Returns a map from `round,turn` to the value of the turn. */
function turnsOf(windows, where, pick) {
  const fits = windows.filter((window) =>
    Object.entries(where).every(([name, value]) => window[name] === value),
  );
  return new Map(fits.map((window) => [`${window.round},${window.turn}`, pick(rowOf([window]))]));
}

const picks = {
  throughput: (row) => row.requests_per_second,
  cpu: (row) => row.cpu_ms,
  latency: (row) => row.p50_ms,
  tail: (row) => row.p99_ms / row.p50_ms,
  rss_mb: (row) => row.rss_mib * 1.048576,
  pairs: (row) => row.pairs_per_second,
  pipeline: (row) => row.pipeline_cpu_ms,
  nets: (row) => row.nets_cpu_ms,
  decode_and_nets: (row) => row.decode_cpu_ms + row.nets_cpu_ms,
  front_share: (row) => row.main_thread_cpu_ms / row.cpu_ms,
  generator_share: (row) => row.generator_cpu_ms / (row.cpu_ms + row.generator_cpu_ms),
};

const load = (scenario, contender = 'facematch') => ({
  contender,
  block: `${scenario} fast`,
  clients: saturating,
});
const floor = (scenario) => ({ contender: 'floor', block: `${scenario} fast` });
const workers = (contender, count, clients) => ({ contender, block: 'workers', workers: count, clients });

/**
 * Defines a figure: the ratio `above` ÷ `below` of two values, or the value `above` alone. `min` or `max` is its
 * target. The noise is the ratio of the value `own` between two identical facematch servers.
 */
const figure = (what, target, above, below, own) => ({ what, ...target, above, below, noise: own });

const timesFaster = (peer, scenario, min, contender = 'facematch', title = '') =>
  figure(
    `throughput ${title}÷ ${peer === 'face-api-ssd' ? 'face-api, SSD' : peer}; ${scenario}, fast`,
    { min },
    [load(scenario, contender), 'throughput'],
    [load(scenario, peer), 'throughput'],
    [load(scenario), 'throughput'],
  );

const floorShare = (scenario) => {
  const own = [load(scenario), 'cpu'];
  const what = `pipeline without HTTP ÷ server, CPU time per pair; ${scenario}, fast`;
  return figure(what, { min: 0.94 }, [floor(scenario), 'pipeline'], own, own);
};

const aboveFloor = (what, scenario, max, pick) => {
  const own = [load(scenario), 'cpu'];
  return figure(
    `CPU time per request ÷ that of ${what}; ${scenario}, fast`,
    { max },
    own,
    [floor(scenario), pick],
    own,
  );
};

const tail = [{ contender: 'facematch', block: 'steady', loop: 'open' }, 'tail'];

const figures = [
  floorShare('small'),
  floorShare('photo'),
  aboveFloor('the models alone', 'small', 1.3, 'nets'),
  timesFaster('do-it-yourself', 'small', 2.5),
  timesFaster('do-it-yourself', 'small', 2.5, 'facematch-int8', 'with the pack int8 '),
  timesFaster('opencv4nodejs', 'small', 2),
  timesFaster('opencv4nodejs', 'small', 2, 'facematch-int8', 'with the pack int8 '),
  timesFaster('do-it-yourself', 'phone', 1.3),
  aboveFloor('scaled decoding and models alone', 'phone', 1.15, 'decode_and_nets'),
  timesFaster('face-api-ssd', 'small', 30),
  timesFaster('human', 'small', 12),
  figure('p99 ÷ p50 at 70 % of the best throughput; small, fast', { max: 2 }, tail, undefined, tail),
  figure(
    'one request alone: latency with two workers ÷ with one; small, fast',
    { max: 0.65 },
    [workers('facematch', 2, 1), 'latency'],
    [workers('facematch', 1, 1), 'latency'],
  ),
  {
    ...timesFaster('hello', 'rejected-key', 0.6),
    what: 'throughput of rejections (wrong key, logged) ÷ µWS hello-world',
  },
  figure(
    'throughput with two workers ÷ with one; small, fast',
    { min: 1.9 },
    [workers('facematch', 2, saturating), 'throughput'],
    [workers('facematch', 1, saturating), 'throughput'],
  ),
  figure(
    'pipeline without HTTP, throughput of two threads ÷ one; small, fast',
    {},
    [workers('floor', 2, saturating), 'pairs'],
    [workers('floor', 1, saturating), 'pairs'],
  ),
  ...['small', 'photo', 'phone'].map((scenario) =>
    figure(`main thread’s share of the server’s CPU time; ${scenario}, fast`, {}, [
      load(scenario),
      'front_share',
    ]),
  ),
  ...['small', 'photo'].flatMap((scenario) => [
    figure(
      `throughput ÷ pipeline without HTTP; ${scenario}, fast`,
      {},
      [load(scenario), 'throughput'],
      [floor(scenario), 'pairs'],
    ),
    figure(`load generator’s share of all CPU time; ${scenario}, fast`, {}, [
      load(scenario),
      'generator_share',
    ]),
  ]),
  // Maximum possible speed-up over a peer, if a server only ran facematch's models.
  ...['do-it-yourself', 'opencv4nodejs'].map((peer) =>
    figure(
      `CPU time per request of ${peer} ÷ that of the models alone; small, fast`,
      {},
      [load('small', peer), 'cpu'],
      [floor('small'), 'nets'],
    ),
  ),
  figure('resident memory after warm-up, two workers, in MB; small, fast', { max: 300 }, [
    load('small'),
    'rss_mb',
  ]),
];

/** Returns the median, minimum and maximum of the finite values; null if there are none. */
function spread(values) {
  const found = values.filter(Number.isFinite);
  if (found.length === 0) return null;
  const digits = (value) => Number(value.toPrecision(6));
  return { median: digits(median(found)), low: digits(Math.min(...found)), high: digits(Math.max(...found)) };
}

function ratios(windows, [where, pick], below) {
  const above = turnsOf(windows, where, picks[pick]);
  if (below === undefined) return [...above.values()];
  const others = turnsOf(windows, below[0], picks[below[1]]);
  return [...above].map(([turn, value]) => value / (others.get(turn) ?? Number.NaN));
}

/** Returns { what, min or max, found, noise } for each figure. `found` is null if this run did not measure it. */
export const figuresOf = (windows) =>
  figures.map(({ what, min, max, above, below, noise }) => ({
    what,
    min,
    max,
    found: spread(ratios(windows, above, below)),
    noise: noise
      ? spread(ratios(windows, [{ ...noise[0], contender: 'facematch-again' }, noise[1]], noise))
      : null,
  }));
