// Plans the measurements of a run and their order. A block contains measurements that are compared directly. Its servers
// are all up at the same time, in processes that are new in each round. Each cell (such as a number of clients) is
// measured for one contender after another, starting with a different one each time. So compared measurements are
// seconds apart.
import { contenders } from '../contenders/index.mjs';
import { scenarios } from './requests.mjs';

/** Path of the endpoint that every contender serves. */
export const path = '/API/v1.0/face/match/upload/advanced';

/** Number of clients for the figures in results.mjs: enough to keep both workers busy, with short queues. */
export const saturating = 8;

/** Rate of the open loop, as a share of the maximum throughput. */
export const steady_share = 0.7;

/** Length of an open loop as a multiple of `seconds`. A high percentile of latency needs many responses. */
export const open_loop_factor = 3;

/** Contenders of each scenario in a quick run. */
const quickContenders = {
  small: Object.keys(contenders),
  photo: ['facematch', 'floor'],
  phone: ['facematch', 'facematch-again', 'do-it-yourself', 'floor'],
  'rejected-key': ['facematch', 'facematch-again', 'hello'],
};

/** Returns a closed-loop cell. Cells that a figure in results.mjs uses have several turns. */
const closed = (clients, mode, { turns }) => ({
  loop: 'closed',
  clients,
  turns: mode === 'fast' && clients === saturating ? turns : 1,
});

/** Returns a block with all contenders of a scenario in one mode, with increasing numbers of clients. */
function loadBlock(scenario, mode, options) {
  const { max_clients = Number.POSITIVE_INFINITY } = scenarios[scenario];
  const takesPart = (name) =>
    !(options.quick && !quickContenders[scenario].includes(name)) &&
    contenders[name].scenarios.includes(scenario) &&
    (mode === 'fast' || contenders[name].balance);
  const runs = options.contenders.filter(takesPart).map((contender) => ({
    contender,
    workers: options.workers,
    cells: options.clients
      .filter((clients) => clients <= max_clients)
      .filter((clients) => contenders[contender].clients?.includes(clients) ?? true)
      .map((clients) => closed(clients, mode, options)),
  }));
  return { id: `${scenario} ${mode}`, scenario, mode, runs };
}

/** Returns a block that compares one worker with two: latency with one client, and throughput under load. */
function workersBlock(options) {
  const clients = { facematch: [1, saturating], floor: [saturating] };
  const runs = [1, options.workers].flatMap((workers) =>
    Object.keys(clients)
      .filter((name) => options.contenders.includes(name))
      .map((contender) => ({
        contender,
        workers,
        cells: clients[contender].map((count) => ({ loop: 'closed', clients: count, turns: options.turns })),
      })),
  );
  return { id: 'workers', scenario: 'small', mode: 'fast', runs };
}

/** Returns a block that measures latency below full load, with server and generator on separate CPUs. */
function steadyBlock(options) {
  const cells = [closed(saturating, 'fast', options), { loop: 'open', turns: options.turns }];
  const runs = ['facematch', 'facematch-again', 'do-it-yourself']
    .filter((name) => options.contenders.includes(name) && !(options.quick && name !== 'facematch'))
    .map((contender) => ({ contender, workers: options.workers, cells, separate_cpus: true }));
  return { id: 'steady', scenario: 'small', mode: 'fast', runs };
}

export function planOf(options) {
  const wanted = options.scenarios.filter((name) => !options.quick || name in quickContenders);
  const loads = wanted.flatMap((scenario) =>
    (scenario === 'rejected-key' || options.quick ? ['fast'] : ['fast', 'balance']).map((mode) =>
      loadBlock(scenario, mode, options),
    ),
  );
  const others = wanted.includes('small') ? [workersBlock(options), steadyBlock(options)] : [];
  return [...loads, ...others].filter(({ runs }) => runs.length > 0);
}

/** Rotates the list by `round`, because the state of the machine changes from the first to the last run. */
export const rotated = (runs, round) => runs.map((_item, index) => runs[(index + round) % runs.length]);

export const sameCell = (a, b) => a.loop === b.loop && a.clients === b.clients;

/** Returns the distinct cells of all runs. */
export function cellsOf(runs) {
  const cells = runs.flatMap((run) => run.cells);
  return cells.filter((cell, index) => cells.findIndex((other) => sameCell(other, cell)) === index);
}
