// Measures the server under four times its maximum load. The server runs on one CPU with one worker, and the load
// generator on another CPU. In each round, a closed loop with increasing numbers of clients finds the maximum goodput
// (responses with status 200 per second). Then an open loop sends four times as many requests per second. Run nothing
// else on the machine.
import { loadavg } from 'node:os';
import { form, Load, lasting } from '../../test/support/load.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import { bindTo, startServer } from '../../test/support/programs.mjs';
import { claim, progress, quantile, round1 } from '../../test/support/report.mjs';

export const defaults = { rounds: 3, seconds: 12 };
const times = 4;
const min_goodput_share = 0.95;
const max_rejection_ms = 20;
/** Numbers of clients that one worker, with its queue of 8 matches, accepts without a rejection. */
const concurrencies = [1, 2, 4, 8];

async function maxGoodput(server, bodies, seconds) {
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
  // Warms up until JIT compilation is complete.
  await new Load(server, bodies).closedLoop(2, lasting(2));
  const best = await maxGoodput(server, bodies, seconds / 2);
  const load = new Load(server, bodies);
  const begin = performance.now();
  await load.openLoop(best * times, seconds);
  load.close();
  await server.stop();
  // Skips the first second, in which the queue fills.
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
    unexpected: `${load.lost}/${load.stray}/${others}`,
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
  const isEnough = (value) => value >= min_goodput_share;
  const isFast = (ms) => ms <= max_rejection_ms;
  const isNone = (found) => found === '0/0/0';
  return {
    title: `Overload: ${times} times the maximum goodput, ${count} rounds, one CPU and one worker`,
    facts: { load_before, rounds },
    claims: [
      every('goodput under overload ÷ maximum goodput', 'share', `at least ${min_goodput_share}`, isEnough),
      every('latency of 503 responses, p99 in ms', 'p99_ms', `at most ${max_rejection_ms}`, isFast),
      every('lost requests / wrong request ids / other statuses', 'unexpected', '0/0/0', isNone),
    ],
  };
}
