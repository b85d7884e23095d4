// Measures the server under four times its maximum load. It runs on one core with one worker, the generator
// on another. A round: a closed loop with more and more clients finds the best goodput (200 responses per
// second); an open loop then sends four times as many. Keep the machine quiet meanwhile.
import { loadavg } from 'node:os';
import { form, Load, lasting } from '../../test/support/load.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import { bindTo, startServer } from '../../test/support/programs.mjs';
import { claim, progress, quantile, round1 } from '../../test/support/report.mjs';

export const defaults = { rounds: 3, seconds: 12 };
const times = 4;
const least_goodput = 0.95;
const slowest_rejection_ms = 20;
/** Up to the number that one worker with its queue of 8 accepts without a rejection. */
const concurrencies = [1, 2, 4, 8];

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

async function oneRound(bodies, seconds) {
  const server = await startServer({ cores: '0', env: { FACEMATCH_WORKERS: '1' } });
  // Time until JIT compilation is complete.
  await new Load(server, bodies).closedLoop(2, lasting(2));
  const best = await bestGoodput(server, bodies, seconds / 2);
  const load = new Load(server, bodies);
  const begin = performance.now();
  await load.openLoop(best * times, seconds);
  load.close();
  await server.stop();
  // The queue fills up in the first second.
  const goodput = load.rate(200, begin + 1000, begin + seconds * 1000);
  const rejections = load.responses.filter(({ status }) => status === 503).map(({ ms }) => ms);
  const others = load.responses.filter(({ status }) => status !== 200 && status !== 503).length;
  return {
    best: round1(best),
    goodput: round1(goodput),
    share: Math.round((goodput / best) * 1000) / 1000,
    sent: load.sent,
    rejections: rejections.length,
    p99_ms: round1(quantile(rejections, 0.99)),
    strange: `${load.lost}/${load.stray}/${others}`,
  };
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
  const every = (what, name, limit, ok) => {
    const values = rounds.map((round) => round[name]);
    return claim(what, values.join(', '), limit, values.every(ok));
  };
  const least = (value) => value >= least_goodput;
  const most = (ms) => ms <= slowest_rejection_ms;
  const none = (found) => found === '0/0/0';
  return {
    title: `Overload: ${times} times the best goodput, ${count} rounds, one core and one worker`,
    facts: { load_before, rounds },
    claims: [
      every('goodput under overload over the best goodput', 'share', `at least ${least_goodput}`, least),
      every('responses 503, p99 in ms', 'p99_ms', `at most ${slowest_rejection_ms}`, most),
      every('requests lost, answers that are not the own, other answers', 'strange', 'none', none),
    ],
  };
}
