// Tests the server under four times its maximum load. It runs on one core with one worker, the generator on another.
//   node bench/overload.mjs [--rounds 3] [--seconds 12] [--json]
// A round: a closed loop with more and more clients finds the best goodput (answers 200 a second); an open loop then
// sends four times as many. A second server with a low rate limit gets as many. Keep the machine quiet meanwhile.
import { loadavg } from 'node:os';
import { form, Load, lasting } from '../test/support/load.mjs';
import { portraits } from '../test/support/portraits.mjs';
import { bindTo, endOnSignals, startServer } from '../test/support/programs.mjs';
import { claim, flags, progress, quantile, report, round1 } from '../test/support/report.mjs';

const options = flags({ rounds: 3, seconds: 12, json: false });
const times = 4;
const least_goodput = 0.95;
const slowest_refusal_ms = 20;
/** Up to the number that one worker with its queue of 8 accepts without a refusal. */
const concurrencies = [1, 2, 4, 8];

endOnSignals();
bindTo(1);
const start = (limits) => startServer({ cores: '0', env: { FACEMATCH_WORKERS: '1' }, limits });

const images = await portraits([{ width: 250, height: 250, format: 'jpeg' }]);
const bodies = images.map(({ bytes }, index) => form({ image1: bytes, image2: images.at(index - 1).bytes }));

/** Before measuring, for JIT compilation. */
const warmUp = (server) => new Load(server, bodies).closedLoop(2, lasting(2));

async function bestGoodput(server) {
  const goodputs = [];
  for (const concurrency of concurrencies) {
    const load = new Load(server, bodies);
    const begin = performance.now();
    await load.closedLoop(concurrency, lasting(options.seconds / 2));
    goodputs.push(load.rate(200, begin, performance.now()));
    load.close();
  }
  return Math.max(...goodputs);
}

/** Sends `rate` requests a second and returns what happened; `refusal` is the expected status. */
async function offer(server, rate, refusal) {
  const load = new Load(server, bodies);
  const begin = performance.now();
  await load.openLoop(rate, options.seconds);
  load.close();
  // The queue fills up in the first second.
  const goodput = load.rate(200, begin + 1000, begin + options.seconds * 1000);
  const refusals = load.answers.filter(({ status }) => status === refusal).map(({ ms }) => ms);
  // With the limiter, requests that it accepts together may still be too many for the queue.
  const others = load.answers.filter(
    ({ status }) => status !== 200 && status !== refusal && status !== 503,
  ).length;
  return {
    offered: round1(rate),
    goodput: round1(goodput),
    refusals: refusals.length,
    refusal_ms: {
      p50: round1(quantile(refusals, 0.5)),
      p99: round1(quantile(refusals, 0.99)),
      max: round1(quantile(refusals, 1)),
    },
    sent: load.sent,
    lost: load.lost,
    stray: load.stray,
    others,
  };
}

async function oneRound() {
  const server = await start();
  await warmUp(server);
  const best = await bestGoodput(server);
  const overload = await offer(server, best * times, 503);
  await server.stop();

  const rate = Math.max(1, Math.floor(best * 0.8));
  const limited = await start({ rate, burst: rate });
  // Uses up the burst of the rate limit.
  await warmUp(limited);
  const limiter = { rate, ...(await offer(limited, best * times, 429)) };
  await limited.stop();
  return { best: round1(best), overload, limiter };
}

const rounds = [];
const load_before = round1(loadavg()[0]);
for (let number = 1; number <= options.rounds; number++) {
  progress(`round ${number} of ${options.rounds}`);
  rounds.push(await oneRound());
  progress('');
  if (!options.json) console.log(JSON.stringify(rounds.at(-1)));
}

const share = (part, whole) => Math.round((part / whole) * 1000) / 1000;
const every = (what, values, limit, ok) => claim(what, values.join(', '), limit, values.every(ok));
const goodputs = (what, values) =>
  every(what, values, `at least ${least_goodput}`, (value) => value >= least_goodput);
const refusals = (status, offers) =>
  every(
    `refusals ${status}, p99 in ms`,
    offers.map(({ refusal_ms }) => refusal_ms.p99),
    `at most ${slowest_refusal_ms}`,
    (ms) => ms <= slowest_refusal_ms,
  );
report({
  title: `Overload: ${times} times the best goodput, ${options.rounds} rounds, one core and one worker`,
  json: options.json,
  facts: { load_before, rounds },
  claims: [
    goodputs(
      'goodput under overload over the best goodput',
      rounds.map(({ best, overload }) => share(overload.goodput, best)),
    ),
    refusals(
      503,
      rounds.map(({ overload }) => overload),
    ),
    refusals(
      429,
      rounds.map(({ limiter }) => limiter),
    ),
    goodputs(
      'goodput with the limiter over the rate that it allows',
      rounds.map(({ limiter }) => share(limiter.goodput, limiter.rate)),
    ),
    every(
      'requests lost, answers that are not the own, other answers',
      rounds.flatMap(({ overload, limiter }) =>
        [overload, limiter].map(({ lost, stray, others }) => `${lost}/${stray}/${others}`),
      ),
      'none',
      (found) => found === '0/0/0',
    ),
  ],
});
