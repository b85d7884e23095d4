// What becomes of the server under four times its maximum load? It runs on one core with one worker, the generator on another.
// A round: a closed loop with more and more clients finds the best goodput (answers 200 a second); an open loop then
// sends four times as many. A second server with a low rate limit gets as many. Keep the machine quiet meanwhile.
import { loadavg } from 'node:os';
import { form, Load, lasting } from '../../test/support/load.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import { bindTo, startServer } from '../../test/support/programs.mjs';
import { claim, progress, quantile, round1 } from '../../test/support/report.mjs';

export const defaults = { rounds: 3, seconds: 12 };
const times = 4;
const least_goodput = 0.95;
const slowest_refusal_ms = 20;
/** Up to the number that one worker with its queue of 8 accepts without a refusal. */
const concurrencies = [1, 2, 4, 8];

const start = (limits) => startServer({ cores: '0', env: { FACEMATCH_WORKERS: '1' }, limits });

async function bestGoodput(server, bodies, seconds) {
  const goodputs = [];
  for (const concurrency of concurrencies) {
    const load = new Load(server, bodies);
    const begin = performance.now();
    await load.closedLoop(concurrency, lasting(seconds));
    goodputs.push(load.rate(200, begin, performance.now()));
    load.close();
  }
  return Math.max(...goodputs);
}

/** Sends `rate` requests a second and returns what happened; `refusal` is the expected status. */
async function offer(server, bodies, { rate, seconds, refusal }) {
  const load = new Load(server, bodies);
  const begin = performance.now();
  await load.openLoop(rate, seconds);
  load.close();
  const refusals = load.answers.filter(({ status }) => status === refusal).map(({ ms }) => ms);
  // With the limiter, requests that it accepts together may still be too many for the queue.
  const others = load.answers.filter(({ status }) => ![200, refusal, 503].includes(status)).length;
  return {
    offered: round1(rate),
    // The queue fills up in the first second.
    goodput: round1(load.rate(200, begin + 1000, begin + seconds * 1000)),
    refusals: refusals.length,
    refusal_ms: {
      p50: round1(quantile(refusals, 0.5)),
      p99: round1(quantile(refusals, 0.99)),
      max: round1(quantile(refusals, 1)),
    },
    ...{ sent: load.sent, lost: load.lost, stray: load.stray, others },
  };
}

async function oneRound(bodies, seconds) {
  // JIT compilation comes to its end, and with the limiter the burst is used up.
  const warmUp = (server) => new Load(server, bodies).closedLoop(2, lasting(2));
  const server = await start();
  await warmUp(server);
  const best = await bestGoodput(server, bodies, seconds / 2);
  const offered = { rate: best * times, seconds };
  const overload = await offer(server, bodies, { ...offered, refusal: 503 });
  await server.stop();

  const rate = Math.max(1, Math.floor(best * 0.8));
  const limited = await start({ rate, burst: rate });
  await warmUp(limited);
  const limiter = { rate, ...(await offer(limited, bodies, { ...offered, refusal: 429 })) };
  await limited.stop();
  return { best: round1(best), overload, limiter };
}

export async function prove({ rounds: count, seconds, json }) {
  bindTo(1);
  const images = await portraits([{ width: 250, height: 250, format: 'jpeg' }]);
  const bodies = images.map(({ bytes }, index) =>
    form({ image1: bytes, image2: images.at(index - 1).bytes }),
  );
  const rounds = [];
  const load_before = round1(loadavg()[0]);
  for (let number = 1; number <= count; number++) {
    progress(`round ${number} of ${count}`);
    rounds.push(await oneRound(bodies, seconds));
    progress('');
    if (!json) console.log(JSON.stringify(rounds.at(-1)));
  }

  const share = (part, whole) => Math.round((part / whole) * 1000) / 1000;
  const enough = [`at least ${least_goodput}`, (value) => value >= least_goodput];
  const soon = [`at most ${slowest_refusal_ms}`, (ms) => ms <= slowest_refusal_ms];
  const none = ['none', (found) => found === '0/0/0'];
  const claims = {
    'goodput under overload over the best goodput': [
      ({ best, overload }) => share(overload.goodput, best),
      ...enough,
    ],
    'refusals 503, p99 in ms': [({ overload }) => overload.refusal_ms.p99, ...soon],
    'refusals 429, p99 in ms': [({ limiter }) => limiter.refusal_ms.p99, ...soon],
    'goodput with the limiter over the rate that it allows': [
      ({ limiter }) => share(limiter.goodput, limiter.rate),
      ...enough,
    ],
    'requests lost, answers that are not the own, other answers': [
      ({ overload, limiter }) =>
        [overload, limiter].map(({ lost, stray, others }) => `${lost}/${stray}/${others}`),
      ...none,
    ],
  };
  return {
    title: `Overload: ${times} times the best goodput, ${count} rounds, one core and one worker`,
    facts: { load_before, rounds },
    claims: Object.entries(claims).map(([what, [pick, limit, ok]]) => {
      const values = rounds.flatMap(pick);
      return claim(what, values.join(', '), limit, values.every(ok));
    }),
  };
}
