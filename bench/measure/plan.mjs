// Which measurements a run makes, and in which order. A block is what is compared directly: all of its contenders are up,
// in processes that are fresh in every round, and each cell (so many clients) goes from one to the next, beginning in
// another place every time. What is compared is then seconds apart, and meets the same machine.
import { isDeepStrictEqual } from 'node:util';
import { contenders } from '../contenders/index.mjs';
import { scenarios } from '../scenarios/index.mjs';

/** The load at which figures are compared: both workers are busy, and nobody waits long. */
export const saturating = 8;

/** Of the best throughput; what a service is run at. */
export const steady_share = 0.7;

const modesOf = (scenario) => (scenario.startsWith('refused') ? ['fast'] : ['fast', 'balance']);

/** Without faces to be found there is no pipeline to be compared with. */
const hasFloor = (scenario) => !scenario.startsWith('refused') && scenario !== 'mixed';

/** What a quick run leaves out. */
const quickScenarios = ['small', 'photo', 'phone', 'refused-key'];
const quickContenders = {
  photo: ['facematch', 'floor'],
  phone: ['facematch', 'facematch-again', 'do-it-yourself', 'floor'],
  'refused-key': ['facematch', 'facematch-again', 'hello'],
};

/** The cells that figures are made of come in several turns. */
const closed = (clients, mode, { turns }) => ({
  loop: 'closed',
  clients,
  turns: mode === 'fast' && clients === saturating ? turns : 1,
});

/** All contenders of a scenario in one mode, with more and more clients. */
function loadBlock(scenario, mode, options) {
  const { most_clients = Number.POSITIVE_INFINITY } = scenarios[scenario];
  const fits = (name) => {
    if (options.quick && quickContenders[scenario] && !quickContenders[scenario].includes(name)) return false;
    if (name === 'floor') return hasFloor(scenario);
    return contenders[name].scenarios.includes(scenario) && contenders[name].modes.includes(mode);
  };
  const runs = options.contenders.filter(fits).map((contender) => ({
    contender,
    workers: options.workers,
    cells: (contender === 'floor' ? [saturating] : options.clients)
      .filter((clients) => clients <= most_clients)
      .filter((clients) => contenders[contender]?.clients?.includes(clients) ?? true)
      .map((clients) => closed(clients, mode, options)),
  }));
  return { id: `${scenario} ${mode}`, scenario, mode, runs };
}

/** One worker against two: alone for the latency, busy for the throughput, and what the machine itself gains. */
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

/** Latency at a load that leaves room, server and generator on CPUs of their own. */
function steadyBlock(options) {
  const open = { loop: 'open', share: steady_share, turns: options.turns };
  const cells = [closed(saturating, 'fast', options), open];
  const runs = ['facematch', 'facematch-again', 'do-it-yourself']
    .filter((name) => options.contenders.includes(name) && !(options.quick && name !== 'facematch'))
    .map((contender) => ({ contender, workers: options.workers, cells, apart: true }));
  return { id: 'steady', scenario: 'small', mode: 'fast', runs };
}

export function planOf(options) {
  const wanted = options.scenarios.filter((name) => !options.quick || quickScenarios.includes(name));
  const loads = wanted.flatMap((scenario) =>
    modesOf(scenario)
      .filter((mode) => !options.quick || mode === 'fast')
      .map((mode) => loadBlock(scenario, mode, options)),
  );
  const others = wanted.includes('small') ? [workersBlock(options), steadyBlock(options)] : [];
  return [...loads, ...others].filter(({ runs }) => runs.length > 0);
}

/** The same, begun `round` places further on: whoever comes first meets another machine than whoever comes last. */
export const rotated = (runs, round) => runs.map((_, index) => runs[(index + round) % runs.length]);

/** The cells of all runs, each once. */
export function cellsOf(runs) {
  const cells = [];
  for (const cell of runs.flatMap((run) => run.cells)) {
    if (!cells.some((known) => isDeepStrictEqual(known, cell))) cells.push(cell);
  }
  return cells;
}

/** An open loop is asked for its slowest answers, and so must see more of them: so many times `seconds`. */
export const open_longer = 3;

/** Seconds that a plan takes, about. */
export function secondsOf(plan, { rounds, seconds, settle_s, warm_s }) {
  const start_s = 2;
  const runs = plan.flatMap((block) => block.runs);
  const servers = new Set(
    runs
      .filter(({ contender }) => contender !== 'floor')
      .map(({ contender, workers, apart }) => [contender, workers, apart].join()),
  );
  const ofCell = ({ loop, turns }) => turns * (seconds * (loop === 'open' ? open_longer : 1) + warm_s);
  const cells = runs.flatMap((run) => run.cells);
  return rounds * (servers.size * (start_s + settle_s) + cells.reduce((sum, cell) => sum + ofCell(cell), 0));
}
