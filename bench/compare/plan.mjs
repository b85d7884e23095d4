// The measurements of a run and their order. A block contains what is compared directly: all its contenders run, in processes
// that are new in every round, and each cell (a number of clients) goes from one contender to the next, starting with another
// one every time. Compared measurements are then seconds apart, under the same conditions.
import { contenders } from '../contenders/index.mjs';
import { scenarios } from './requests.mjs';

/** Number of clients at which figures are compared: both workers are busy, and waiting times are short. */
export const saturating = 8;

/** Share of the best throughput at which a service normally runs. */
export const steady_share = 0.7;

/** An open loop measures the slowest responses and needs more of them: it lasts this many times `seconds`. */
export const open_longer = 3;

/** Cells of each scenario in a quick run. */
const quickContenders = {
  small: Object.keys(contenders),
  photo: ['facematch', 'floor'],
  phone: ['facematch', 'facematch-again', 'do-it-yourself', 'floor'],
  'refused-key': ['facematch', 'facematch-again', 'hello'],
};

/** Cells that figures use have several turns. */
const closed = (clients, mode, { turns }) => ({
  loop: 'closed',
  clients,
  turns: mode === 'fast' && clients === saturating ? turns : 1,
});

/** All contenders of a scenario in one mode, with increasing numbers of clients. */
function loadBlock(scenario, mode, options) {
  const { most_clients = Number.POSITIVE_INFINITY } = scenarios[scenario];
  const takesPart = (name) =>
    !(options.quick && !quickContenders[scenario].includes(name)) &&
    contenders[name].scenarios.includes(scenario) &&
    (mode === 'fast' || contenders[name].balance);
  const runs = options.contenders.filter(takesPart).map((contender) => ({
    contender,
    workers: options.workers,
    cells: options.clients
      .filter((clients) => clients <= most_clients)
      .filter((clients) => contenders[contender].clients?.includes(clients) ?? true)
      .map((clients) => closed(clients, mode, options)),
  }));
  return { id: `${scenario} ${mode}`, scenario, mode, runs };
}

/**
 * One worker against two: latency with one client, throughput under load, and the gain of two threads on this
 * machine.
 */
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

/** Latency below full load, server and generator on separate CPUs. */
function steadyBlock(options) {
  const cells = [closed(saturating, 'fast', options), { loop: 'open', turns: options.turns }];
  const runs = ['facematch', 'facematch-again', 'do-it-yourself']
    .filter((name) => options.contenders.includes(name) && !(options.quick && name !== 'facematch'))
    .map((contender) => ({ contender, workers: options.workers, cells, apart: true }));
  return { id: 'steady', scenario: 'small', mode: 'fast', runs };
}

export function planOf(options) {
  const wanted = options.scenarios.filter((name) => !options.quick || name in quickContenders);
  const loads = wanted.flatMap((scenario) =>
    (scenario === 'refused-key' || options.quick ? ['fast'] : ['fast', 'balance']).map((mode) =>
      loadBlock(scenario, mode, options),
    ),
  );
  const others = wanted.includes('small') ? [workersBlock(options), steadyBlock(options)] : [];
  return [...loads, ...others].filter(({ runs }) => runs.length > 0);
}

/**
 * Returns the same list, starting `round` places later, because the state of the machine differs between
 * first and last.
 */
export const rotated = (runs, round) => runs.map((_item, index) => runs[(index + round) % runs.length]);

export const sameCell = (a, b) => a.loop === b.loop && a.clients === b.clients;

/** The cells of all runs, each once. */
export function cellsOf(runs) {
  const cells = runs.flatMap((run) => run.cells);
  return cells.filter((cell, index) => cells.findIndex((other) => sameCell(other, cell)) === index);
}
