// What the main thread costs: CPU time for each request of small matches, of photos as phones take them, and of refusals. Four
// servers run together and get load in turn: facematch on µWS, the same again (their ratio is the noise), facematch on node:http,
// and the least that a main thread can do (contenders/least.mjs): the same bodies at the same rate, with busy threads beside it.
//   node bench/transports.mjs [--turns 5] [--seconds 3] [--own FOLDER] [--json]
// --own  also the µWebSockets.js of a folder, as FACEMATCH_UWS names it
import { Load, lasting } from '../test/support/load.mjs';
import {
  cpuMsOf,
  endOnSignals,
  mainThreadCpuMsOf,
  root,
  startProgram,
  startServer,
} from '../test/support/programs.mjs';
import { flags, progress, report } from '../test/support/report.mjs';
import { scenarios as requests } from './compare/requests.mjs';
import { median } from './compare/results.mjs';

const options = flags({ turns: 5, seconds: 3, own: '', json: false });
const clients = 8;

endOnSignals();
const workers = 2;
const start = (http, env = {}) =>
  startServer({
    env: {
      ...env,
      FACEMATCH_HTTP: http,
      FACEMATCH_WORKERS: String(workers),
      FACEMATCH_QUEUE: '64',
      FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
      FACEMATCH_AUTH_FAILURE_BURST: '60000',
    },
  });
const servers = { uws: await start('uws'), again: await start('uws'), node: await start('node') };
if (options.own !== '') servers.own = await start('uws', { FACEMATCH_UWS: options.own });

const bodies = {
  small: await requests.small.bodies('fast'),
  phone: await requests.phone.bodies('fast'),
};
const path = '/API/v1.0/face/match/upload/advanced';
const scenarios = {
  small: (server) => new Load({ ...server, path }, bodies.small),
  phone: (server) => new Load({ ...server, path }, bodies.phone),
  // Beyond the burst they are 429, which costs as much.
  refused: (server) => new Load({ ...server, key: 'fm_wrong' }, bodies.small),
};

/** About what an answer has, head and body. */
const answer_bytes = 2500;
const receiver = await startProgram(
  process.execPath,
  [`${root}bench/contenders/least.mjs`, 'receiver', String(answer_bytes), String(workers)],
  { ready: /address/ },
);
const floor = { ...receiver, key: '', port: Number(new URL(JSON.parse(receiver.line).address).port) };

/** At a `rate`, or as fast as so many clients are answered. */
async function turn(server, open, seconds, rate) {
  const load = open(server);
  const [started, main, cpu] = [performance.now(), mainThreadCpuMsOf(server.pid), cpuMsOf(server.pid)];
  if (rate === undefined) await load.closedLoop(clients, lasting(seconds));
  else await load.openLoop(rate, seconds);
  const [spent_ms, main_ms] = [performance.now() - started, mainThreadCpuMsOf(server.pid) - main];
  const cpu_ms = cpuMsOf(server.pid) - cpu;
  load.close();
  const { length } = load.answers;
  if (load.lost + load.stray > 0) throw new Error(`${load.lost} answers were lost, ${load.stray} strayed`);
  return {
    per_second: (1000 * length) / spent_ms,
    main_us: (1000 * main_ms) / length,
    main_share: main_ms / cpu_ms,
  };
}

/** Its busy threads must not run beside the others. */
async function floorTurn(open, rate) {
  process.kill(floor.pid, 'SIGCONT');
  const found = await turn(floor, open, options.seconds, rate);
  process.kill(floor.pid, 'SIGSTOP');
  return found;
}

process.kill(floor.pid, 'SIGSTOP');
const turns = [];
for (let number = 0; number <= options.turns; number++) {
  progress(`turn ${number} of ${options.turns}`);
  const names = Object.keys(servers);
  // Another order each time.
  const order = names.map((_, index) => names[(index + number) % names.length]);
  for (const [scenario, open] of Object.entries(scenarios)) {
    const found = {};
    for (const name of order) found[name] = await turn(servers[name], open, options.seconds);
    // The floor of a refusal is `hello` of npm run bench.
    if (scenario !== 'refused') found.floor = await floorTurn(open, found.uws.per_second);
    // The first is for compilers and caches.
    if (number > 0) turns.push({ scenario, found });
  }
}
progress('');
process.kill(floor.pid, 'SIGCONT');
await Promise.all([...Object.values(servers), floor].map((server) => server.stop()));

const round = (value) => Math.round(value * 1000) / 1000;
const of = (scenario, read) =>
  round(median(turns.filter((one) => one.scenario === scenario).map(({ found }) => read(found))));
const facts = Object.fromEntries(
  Object.keys(scenarios).flatMap((scenario) =>
    ['per_second', 'main_us', 'main_share'].map((figure) => [
      `${scenario} ${figure}`,
      {
        uws: of(scenario, ({ uws }) => uws[figure]),
        node: of(scenario, ({ node }) => node[figure]),
        ...(figure === 'main_us' &&
          scenario !== 'refused' && {
            floor: of(scenario, ({ floor }) => floor.main_us),
            'uws ÷ floor': of(scenario, ({ uws, floor }) => uws.main_us / floor.main_us),
          }),
        'uws ÷ node': of(scenario, ({ uws, node }) => uws[figure] / node[figure]),
        'uws ÷ uws': of(scenario, ({ uws, again }) => uws[figure] / again[figure]),
        ...(servers.own && { 'uws ÷ own': of(scenario, ({ uws, own }) => uws[figure] / own[figure]) }),
      },
    ]),
  ),
);
report({
  title: `The main thread: medians of ${options.turns} turns of ${options.seconds} s, ${clients} clients`,
  json: options.json,
  facts,
  claims: [],
});
