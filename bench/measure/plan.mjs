// Which measurements a run makes, and in which order. A block is what is compared directly: its contenders come one after
// the other, each from a fresh process, and begin in another place in every round.
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

const closed = (clients) => ({ loop: 'closed', clients });

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
    cells: options.clients
      .filter((clients) => clients <= most_clients)
      .filter((clients) => contenders[contender]?.clients?.includes(clients) ?? true)
      .map(closed),
  }));
  return { id: `${scenario} ${mode}`, scenario, mode, runs };
}

/** One worker against two: alone for the latency, busy for the throughput, and what the machine itself gains. */
function workersBlock(options) {
  const cells = [closed(1), closed(saturating)];
  const runs = [1, options.workers].flatMap((workers) =>
    ['facematch', 'floor']
      .filter((name) => options.contenders.includes(name))
      .map((contender) => ({ contender, workers, cells })),
  );
  return { id: 'workers', scenario: 'small', mode: 'fast', runs };
}

/** Latency at a load that leaves room, server and generator on CPUs of their own. */
function steadyBlock(options) {
  const cells = [closed(saturating), { loop: 'open', share: steady_share }];
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

/** Seconds that a plan takes, about. */
export function secondsOf(plan, { rounds, seconds, settle_s, warm_s }) {
  const start_s = 2;
  const ofRun = ({ contender, cells }) =>
    start_s + (contender === 'floor' ? seconds : cells.length * (seconds + warm_s) + settle_s - warm_s);
  return rounds * plan.flatMap(({ runs }) => runs).reduce((sum, one) => sum + ofRun(one), 0);
}
