// What node:http costs beside µWebSockets.js: requests a second, and CPU time of the main thread for each, of small matches and of
// refusals. Three servers run together and get load in turn: µWS, µWS again (their ratio is the noise), and node:http.
//   node bench/transports.mjs [--turns 5] [--seconds 3] [--json]
import { form, Load, lasting } from '../test/support/load.mjs';
import { portraits } from '../test/support/portraits.mjs';
import { endOnSignals, mainThreadCpuMsOf, startServer } from '../test/support/programs.mjs';
import { flags, progress, report } from '../test/support/report.mjs';
import { median } from './compare/results.mjs';

const options = flags({ turns: 5, seconds: 3, json: false });
const clients = 8;

endOnSignals();
const start = (http) =>
  startServer({
    env: {
      FACEMATCH_HTTP: http,
      FACEMATCH_AUTH_FAILURES_PER_MINUTE: '60000',
      FACEMATCH_AUTH_FAILURE_BURST: '60000',
    },
  });
const servers = { uws: await start('uws'), again: await start('uws'), node: await start('node') };

const files = (await portraits([{ width: 250, height: 250, format: 'jpeg' }])).map(({ bytes }) => bytes);
const bodies = files.map((image1, index) => form({ image1, image2: files[(index + 1) % files.length] }));
const scenarios = {
  small: (server) => new Load(server, bodies),
  // Beyond the burst they are 429, which costs as much.
  refused: (server) => new Load({ ...server, key: 'fm_wrong' }, bodies),
};

async function turn(server, open, seconds) {
  const load = open(server);
  const [started, main] = [performance.now(), mainThreadCpuMsOf(server.pid)];
  await load.closedLoop(clients, lasting(seconds));
  const [spent_ms, main_ms] = [performance.now() - started, mainThreadCpuMsOf(server.pid) - main];
  load.close();
  const { length } = load.answers;
  if (load.lost + load.stray > 0) throw new Error(`${load.lost} answers were lost, ${load.stray} strayed`);
  return { per_second: (1000 * length) / spent_ms, main_us: (1000 * main_ms) / length };
}

const turns = [];
for (let number = 0; number <= options.turns; number++) {
  progress(`turn ${number} of ${options.turns}`);
  const names = Object.keys(servers);
  // Another order each time.
  const order = names.map((_, index) => names[(index + number) % names.length]);
  for (const [scenario, open] of Object.entries(scenarios)) {
    const found = {};
    for (const name of order) found[name] = await turn(servers[name], open, options.seconds);
    // The first is for compilers and caches.
    if (number > 0) turns.push({ scenario, found });
  }
}
progress('');
await Promise.all(Object.values(servers).map((server) => server.stop()));

const round = (value) => Math.round(value * 1000) / 1000;
const of = (scenario, read) =>
  round(median(turns.filter((one) => one.scenario === scenario).map(({ found }) => read(found))));
const facts = Object.fromEntries(
  Object.keys(scenarios).flatMap((scenario) =>
    ['per_second', 'main_us'].map((figure) => [
      `${scenario} ${figure}`,
      {
        uws: of(scenario, ({ uws }) => uws[figure]),
        node: of(scenario, ({ node }) => node[figure]),
        'uws ÷ node': of(scenario, ({ uws, node }) => uws[figure] / node[figure]),
        'uws ÷ uws': of(scenario, ({ uws, again }) => uws[figure] / again[figure]),
      },
    ]),
  ),
);
report({
  title: `Transports: medians of ${options.turns} turns of ${options.seconds} s, ${clients} clients; small is two 250 × 250 JPEG`,
  json: options.json,
  facts,
  claims: [],
});
