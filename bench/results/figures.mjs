// The figures that the project wants to reach, each computed from the samples of one run.
import { saturating } from '../measure/plan.mjs';
import { ratios, spread } from './statistics.mjs';

/** What of a sample a figure looks at. */
const fields = {
  throughput: (sample) => sample.requests_per_second,
  cpu: (sample) => sample.cpu_ms,
  front: (sample) => sample.main_thread_cpu_ms,
  p50: (sample) => sample.latency_ms?.p50 ?? undefined,
  p99: (sample) => sample.latency_ms?.p99 ?? undefined,
  tail: (sample) => (sample.latency_ms?.p99 ?? Number.NaN) / (sample.latency_ms?.p50 ?? Number.NaN),
  rss_mb: (sample) => sample.rss_mib * 1.048576,
  pipeline: (sample) => sample.pipeline.cpu_ms,
  pipeline_throughput: (sample) => sample.pipeline.pairs_per_second,
  nets: (sample) => sample.nets.cpu_ms,
  decode_and_nets: (sample) => sample.decode.cpu_ms + sample.nets.cpu_ms,
  /** Of all CPU time that server and generator take, what is left to the workers. */
  workers_share: (sample) =>
    (sample.cpu_ms - sample.main_thread_cpu_ms) / (sample.cpu_ms + sample.generator_cpu_ms),
  generator_share: (sample) => sample.generator_cpu_ms / (sample.cpu_ms + sample.generator_cpu_ms),
};

/** A field of the samples that agree with `where`, of each turn in order: at the same place is what was measured in turn. */
export function values(samples, where, field) {
  const rounds = [];
  for (const sample of samples) {
    if (Object.entries(where).every(([name, value]) => sample[name] === value)) {
      rounds[sample.round] = (sample.turns ?? [sample]).map((turn) => fields[field](turn) ?? Number.NaN);
    }
  }
  const turns = Math.max(0, ...rounds.flatMap((round) => round?.length ?? 0));
  return Array.from(rounds, (round) =>
    Array.from({ length: turns }, (_, turn) => round?.[turn] ?? Number.NaN),
  ).flat();
}

const load = (scenario, clients = saturating) => ({ block: `${scenario} fast`, clients });
const ours = (where) => ({ contender: 'facematch', ...where });
const again = (where) => ({ contender: 'facematch-again', ...where });
const floor = (scenario) => ({ contender: 'floor', block: `${scenario} fast` });
const workers = (contender, count, clients) => ({
  contender,
  block: 'workers',
  workers: count,
  ...(clients && { clients }),
});

/** A ratio of two fields, with what the same ratio is between two measurements of one thing. */
const ratio = ([a, field_a], [b, field_b], noise) => ({
  of: (samples) => ratios(values(samples, a, field_a), values(samples, b, field_b)),
  noise: (samples) =>
    noise && ratios(values(samples, again(noise[0]), noise[1]), values(samples, ours(noise[0]), noise[1])),
});

const timesFaster = (peer, scenario, contender = 'facematch') =>
  ratio(
    [{ contender, ...load(scenario) }, 'throughput'],
    [{ contender: peer, ...load(scenario) }, 'throughput'],
    [load(scenario), 'throughput'],
  );

const overFloor = (scenario) => ({
  ...ratio([floor(scenario), 'pipeline'], [ours(load(scenario)), 'cpu'], [load(scenario), 'cpu']),
  beside: {
    'throughput ÷ floor’s': (samples) =>
      ratios(
        values(samples, ours(load(scenario)), 'throughput'),
        values(samples, floor(scenario), 'pipeline_throughput'),
      ),
    'generator’s share of the CPU': (samples) => values(samples, ours(load(scenario)), 'generator_share'),
    ...frontShare(scenario),
  },
});

/** Of a peer on the same nets: how many times its speed a server would have that did nothing but run ours. */
const overNets = (peer, scenario) => ({
  'a server of nothing but our nets': (samples) =>
    ratios(
      values(samples, { contender: peer, ...load(scenario) }, 'cpu'),
      values(samples, floor(scenario), 'nets'),
    ),
});

const frontShare = (scenario) => ({
  'the main thread’s share of the server’s CPU': (samples) =>
    ratios(values(samples, ours(load(scenario)), 'front'), values(samples, ours(load(scenario)), 'cpu')),
});

/** What two threads of the floor carry ÷ one. */
const machineGain = (samples) =>
  ratios(
    values(samples, workers('floor', 2), 'pipeline_throughput'),
    values(samples, workers('floor', 1), 'pipeline_throughput'),
  );

const why = {
  front:
    'the main thread receives bodies, parses and answers, its share is told beside; then come messages between threads, the kernel’s switching between them, JIT compilers and garbage collectors. Not all of the rest was traced',
  nets: 'the peer runs the same nets: what a server of nothing but ours would reach is told beside, and decoding, aligning and HTTP take their part of that. The pack int8 leaves the arithmetic of 32-bit floats, see the row below',
  int8: 'detector and landmarks stay in floats, and what is around the nets weighs more beside a faster embedder',
  body: 'the main thread takes in some 8 MB a request; its share is told beside',
  refusal:
    'judging the key, one line of log, metrics, an id and a problem in JSON cost more than the answer itself, all on one thread; the hello-world’s is not even busy, the generator is',
};

/** In the order of the page. `least` or `most` is the target; `why` is said where it is missed. */
export const figures = [
  {
    what: 'floor: CPU a pair ÷ CPU a request; small, fast',
    least: 0.94,
    why: why.front,
    ...overFloor('small'),
  },
  {
    what: 'floor: CPU a pair ÷ CPU a request; photo, fast',
    least: 0.94,
    why: why.front,
    ...overFloor('photo'),
  },
  {
    what: 'CPU a request ÷ bare runs of the nets; small, fast',
    most: 1.3,
    ...ratio([ours(load('small')), 'cpu'], [floor('small'), 'nets'], [load('small'), 'cpu']),
  },
  {
    what: 'throughput ÷ do-it-yourself; small, fast',
    least: 2.5,
    why: why.nets,
    ...timesFaster('do-it-yourself', 'small'),
    beside: overNets('do-it-yourself', 'small'),
  },
  {
    what: 'throughput with the pack int8 ÷ do-it-yourself; small, fast',
    least: 2.5,
    why: why.int8,
    ...timesFaster('do-it-yourself', 'small', 'facematch-int8'),
  },
  {
    what: 'throughput ÷ opencv4nodejs; small, fast',
    least: 2,
    why: why.nets,
    ...timesFaster('opencv4nodejs', 'small'),
    beside: overNets('opencv4nodejs', 'small'),
  },
  {
    what: 'throughput with the pack int8 ÷ opencv4nodejs; small, fast',
    least: 2,
    why: why.int8,
    ...timesFaster('opencv4nodejs', 'small', 'facematch-int8'),
  },
  { what: 'throughput ÷ do-it-yourself; phone, fast', least: 1.3, ...timesFaster('do-it-yourself', 'phone') },
  {
    what: 'CPU a request ÷ (bare scaled decoding of both + bare runs of the nets); phone, fast',
    most: 1.15,
    why: why.body,
    beside: frontShare('phone'),
    ...ratio([ours(load('phone')), 'cpu'], [floor('phone'), 'decode_and_nets'], [load('phone'), 'cpu']),
  },
  { what: 'throughput ÷ face-api, SSD; small, fast', least: 30, ...timesFaster('face-api-ssd', 'small') },
  { what: 'throughput ÷ face-api, tiny; small, fast', least: 12, ...timesFaster('face-api-tiny', 'small') },
  { what: 'throughput ÷ human; small, fast', least: 12, ...timesFaster('human', 'small') },
  {
    what: 'p99 ÷ p50 at 70 % of the best throughput; small, fast',
    most: 2,
    of: (samples) => values(samples, ours({ block: 'steady', loop: 'open' }), 'tail'),
    noise: (samples) =>
      ratios(
        values(samples, again({ block: 'steady', loop: 'open' }), 'tail'),
        values(samples, ours({ block: 'steady', loop: 'open' }), 'tail'),
      ),
  },
  {
    what: 'one request alone: latency with two workers ÷ with one; small, fast',
    most: 0.65,
    ...ratio([workers('facematch', 2, 1), 'p50'], [workers('facematch', 1, 1), 'p50']),
  },
  {
    what: 'refused (wrong key, logged) ÷ µWS hello-world: throughput',
    least: 0.6,
    why: why.refusal,
    ...timesFaster('hello', 'refused-key'),
  },
  {
    what: 'throughput with two workers ÷ with one; small, fast',
    least: 1.9,
    why: 'beside one worker, the main thread and the generator have the other processor to themselves; two workers share both with them. What that leaves of the machine’s own gain stands beside',
    ...ratio(
      [workers('facematch', 2, saturating), 'throughput'],
      [workers('facematch', 1, saturating), 'throughput'],
    ),
    beside: {
      'the machine itself, two threads of the floor ÷ one': machineGain,
      'the same × the workers’ share of all CPU time, with two': (samples) => {
        const share = values(samples, workers('facematch', 2, saturating), 'workers_share');
        return machineGain(samples).map((gain, turn) => gain * share[turn]);
      },
    },
  },
  {
    what: 'resident memory after warm-up, two workers, in MB; small, fast',
    most: 300,
    of: (samples) => values(samples, ours(load('small')), 'rss_mb'),
    noise: () => undefined,
  },
];

function reached({ least, most }, found) {
  if (found === undefined) return null;
  return least === undefined ? found.median <= most : found.median >= least;
}

/**
 * { what, least or most, found, noise, beside, reached } of each; `found` is a spread over the turns and undefined where
 * this run has not measured it, `reached` is then null.
 */
export function figuresOf(samples) {
  return figures.map(({ what, least, most, why: reason, of, noise, beside = {} }) => {
    const found = spread(of(samples));
    const verdict = reached({ least, most }, found);
    return {
      what,
      ...(least === undefined ? { most } : { least }),
      found,
      noise: spread(noise(samples) ?? []),
      beside: Object.fromEntries(Object.entries(beside).map(([name, act]) => [name, spread(act(samples))])),
      reached: verdict,
      ...(verdict === false && reason && { why: reason }),
    };
  });
}
