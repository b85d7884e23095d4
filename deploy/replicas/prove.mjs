// Proves what docs/replicas.md says, on real programs under load: Debian's redis-server and nginx, and three replicas of the
// server. Every request is accounted for by its id.
//   node deploy/replicas/prove.mjs [--quick] [--only limits] [--json]
// --quick    short phases, and only what holds on a machine of any speed: a minute becomes seconds
// --only     one of limits, kill, redis, rolling, throughput
// Needs a build (npm run setup), redis-server and nginx (apt-get install redis-server nginx).

import { setTimeout } from 'node:timers/promises';
import { form, Load, lasting } from '../../test/support/load.mjs';
import { cpuMsOf, endOnSignals } from '../../test/support/programs.mjs';
import { claim, flags, progress, report } from '../../test/support/report.mjs';
import { Cluster } from './cluster.mjs';

const limiterUp = 'facematch_limiter_up';
const fallbacks = 'facematch_limiter_fallbacks_total';

// ---- A key's rate and burst hold, whichever replicas its requests reach.

/** How much less than may pass is admitted at most, where the generator keeps up. */
const tolerance = 0.02;
/** Requests that are offered for each that may pass. */
const eagerness = 3;
/** Requests that wait for an answer at most: nginx has connections for some more. */
const most_pending = 200;

/** How the requests of one key reach the replicas: the ports to send to, one for each request in turn. */
const ways = [
  ['through nginx', ({ port }) => [port]],
  ['18 of 20 to one replica', ({ replicas: [a, b, c] }) => [...Array(18).fill(a.port), b.port, c.port]],
  [
    '50 to one replica, then 50 to the next',
    ({ replicas }) => replicas.flatMap(({ port }) => Array(50).fill(port)),
  ],
];

/**
 * Forms without images are charged as any, and refused with 400 at once: the limit is all that is measured, at a rate that
 * makes two percent many requests. Photos follow at a rate that three replicas on one core can carry.
 */
const kinds = [
  { what: 'forms without images', limits: { rate: 200, burst: 100 }, passed: 400, ways },
  { what: 'photos', limits: { rate: 5, burst: 15 }, passed: 200, ways: ways.slice(0, 1) },
];

/**
 * That a limit is never exceeded holds on any machine. That it is reached, and that Redis always answers in time, does not where
 * the machine stalls: with `quick` it is not claimed.
 */
async function proveLimits(cluster, { seconds, quick }) {
  const claims = [];
  let alone = 0;
  for (const { what, limits, passed, ways } of quick ? kinds.slice(0, 1) : kinds) {
    for (const [way, portsOf] of ways) {
      const key = await cluster.key(limits);
      const body = what === 'photos' ? cluster.body : form({ a: 'b' });
      const before = await cluster.sum(fallbacks);
      const { sent, statuses, lasted_s } = await press(cluster, portsOf(cluster), key, body, limits, seconds);
      // Judged by a replica without Redis, which counts for itself.
      const apart = (await cluster.sum(fallbacks)) - before;
      alone += apart;
      const [admitted, refused] = [statuses[passed] ?? 0, statuses[429] ?? 0];
      const allowed = limits.rate * lasted_s + limits.burst;
      const others = sent - admitted - refused;
      const whose = `${what} ${way}, key of ${limits.rate}/s and burst ${limits.burst}`;
      claims.push(
        claim(
          `${whose}: not exceeded, nothing lost`,
          `${admitted} of ${sent} admitted in ${lasted_s.toFixed(2)} s, where ${allowed.toFixed(1)} may be; ${apart} by a replica alone; ${others} neither admitted nor refused`,
          'no more than may be; 0',
          // A bucket takes a token that is short by rounding for a whole one.
          admitted - apart <= allowed + 1e-6 && admitted > apart && others === 0,
        ),
      );
      if (quick) continue;
      claims.push(
        claim(
          `${whose}: reached`,
          `${(100 * (admitted / allowed - 1)).toFixed(2)} %`,
          `at most ${100 * tolerance} % or one request below`,
          // A token that is not whole yet at the end admits nobody.
          allowed - admitted <= Math.max(1, tolerance * allowed),
        ),
      );
    }
  }
  if (!quick) claims.push(claim('requests of these that a replica judged alone', alone, '0', alone === 0));
  return { claims };
}

/**
 * An open loop over `ports`, unless the machine stalls. `lasted_s` is the time from before the first request to the last decision, by Redis's clock:
 * requests take a while to get there.
 */
async function press(cluster, ports, key, body, { rate, burst }, seconds) {
  const loads = new Map(ports.map((port) => [port, new Load({ port, key }, [body])]));
  const total = Math.round(eagerness * rate * seconds + burst);
  const first_ms = await cluster.tellRedis(async (redis) => {
    const [whole_s, part_us] = await redis.time();
    return Number(whole_s) * 1000 + Number(part_us) / 1000;
  });
  const start = performance.now();
  const pending = new Set();
  for (let count = 0; count < total; ) {
    const due = Math.min(total, Math.ceil(((performance.now() - start) / 1000) * eagerness * rate));
    for (; count < due && pending.size < most_pending; count++) {
      const load = loads.get(ports[count % ports.length]);
      const request = load.one().finally(() => pending.delete(request));
      pending.add(request);
    }
    await setTimeout(1);
  }
  await Promise.all(pending);
  // The bucket keeps when it was last asked; it must not have filled up since.
  const bucket = await cluster.tellRedis((redis) => redis.get(`facematch:bucket:${key.split('_')[1]}`));
  const statuses = {};
  for (const load of loads.values()) {
    for (const { status } of load.answers) statuses[status] = (statuses[status] ?? 0) + 1;
    load.close();
  }
  return { sent: total, statuses, lasted_s: (Number(bucket.split(' ')[1]) - first_ms) / 1000 };
}

// ---- What is lost when a replica or Redis goes away.

/** Fewer than two replicas take into their queues: what is refused here is refused because of the fault. */
const clients = 6;

/** A closed loop for at least `seconds`, in which the steps are done one after another, evenly spread. */
async function under(what, cluster, seconds, steps) {
  const key = await cluster.key();
  const load = new Load({ port: cluster.port, key }, [cluster.body]);
  const again = cluster.sentAgain();
  let over = false;
  const running = load.closedLoop(clients, () => !over);
  try {
    for (const step of [...steps, () => {}]) {
      await setTimeout((seconds * 1000) / (steps.length + 1));
      await step();
    }
  } finally {
    over = true;
    await running;
    load.close();
  }
  const { sent, lost, stray, answers } = load;
  const failed = answers.filter(({ status }) => status !== 200).map(({ status }) => status);
  const statuses = failed.length === 0 ? '' : ` (${[...new Set(failed)].join(', ')})`;
  return {
    facts: { [`${what}: sent again by nginx`]: cluster.sentAgain() - again },
    claims: [
      claim(
        `requests lost while ${what}`,
        `${sent - answers.length} of ${sent} without an answer, ${failed.length} answered other than 200${statuses}, ${stray} with another's id`,
        '0, 0 and 0',
        sent > 0 && sent === answers.length && lost === 0 && failed.length === 0 && stray === 0,
      ),
    ],
  };
}

function proveKill(cluster, { seconds }) {
  const [killed, restarted] = cluster.replicas;
  const killAndStart = async () => {
    await killed.kill();
    await killed.start();
  };
  const steps = [killAndStart, () => restarted.replace()];
  return under('one replica is killed and one restarted', cluster, seconds, steps);
}

/** SIGTERM, wait, start, ready, next. nginx is not told. */
function proveRolling(cluster, { seconds }) {
  const steps = cluster.replicas.map((replica) => () => replica.replace());
  return under('all three are replaced, one after another', cluster, seconds, steps);
}

async function proveRedisLoss(cluster, { seconds }) {
  const took = {};
  /** Milliseconds until every replica has seen it. */
  const seen = async (what, value) => {
    const start = performance.now();
    await Promise.all(cluster.replicas.map((replica) => replica.becomes(limiterUp, value)));
    took[what] = `${Math.round(performance.now() - start)} ms`;
  };
  const before = await cluster.sum(fallbacks);
  const { facts, claims } = await under('Redis is killed and restarted', cluster, seconds, [
    async () => {
      await cluster.killRedis();
      await seen('Redis gone, noticed by all', 0);
      while ((await cluster.sum(fallbacks)) === before) await setTimeout(10);
    },
    async () => {
      await cluster.startRedis();
      await seen('Redis back, shared by all', 1);
    },
  ]);
  const alone = (await cluster.sum(fallbacks)) - before;
  const what = 'requests that replicas judged alone meanwhile, by their metrics';
  return {
    facts: { ...facts, ...took },
    claims: [...claims, claim(what, alone, 'more than 0', alone > 0)],
  };
}

// ---- Do three replicas behind nginx carry what they carry alone on the same cores?

const least_ratio = 0.95;
const rounds = 3;

/**
 * Alone, a replica is asked directly while the other two idle. Where k replicas are bound to one core each can have a k-th
 * of it, so what is expected of all is the sum of (alone ÷ k). Phases alternate, so that a slow moment of the machine
 * meets both sides.
 */
async function proveThroughput(cluster, { seconds }) {
  const key = await cluster.key();
  const { replicas } = cluster;
  const sharing = replicas.map(({ core }) => replicas.filter((other) => other.core === core).length);
  const alone = replicas.map(() => []);
  const together = [];
  const ask = (port) => measure(cluster, port, key, seconds / 4);
  await ask(cluster.port);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { port }] of replicas.entries()) {
      const both = [
        async () => alone[index].push(await ask(port)),
        async () => together.push(await ask(cluster.port)),
      ];
      for (const phase of (round + index) % 2 === 0 ? both : both.reverse()) await phase();
    }
  }
  const sum = alone.reduce((total, phases, index) => total + mean(phases, 'rate') / sharing[index], 0);
  const ratio = mean(together, 'rate') / sum;
  const side = (phases) =>
    `${mean(phases, 'rate').toFixed(1)} requests/s; CPU-ms a request: ${mean(phases, 'servers_ms').toFixed(1)} in replicas, ${mean(phases, 'front_ms').toFixed(2)} in nginx and Redis`;
  return {
    facts: {
      cores: `replicas on ${replicas.map(({ core }) => core).join(', ')}; nginx, Redis and the generator on ${cluster.othersCore}`,
      'three behind nginx': side(together),
      'one alone, directly': side(alone.flat()),
    },
    claims: [
      claim(
        'throughput of three behind nginx ÷ the sum of what each carries alone on the same cores',
        `${ratio.toFixed(3)} (${mean(together, 'rate').toFixed(1)} of ${sum.toFixed(1)} requests/s)`,
        `at least ${least_ratio}`,
        ratio >= least_ratio,
      ),
    ],
  };
}

/** Answers 200 a second, and CPU milliseconds for each. Two requests wait at each replica while one is at work. */
async function measure({ replicas, frontPids, body }, port, key, seconds) {
  const load = new Load({ port, key }, [body]);
  const cpu = () => [
    replicas.reduce((total, { server }) => total + cpuMsOf(server.pid), 0),
    frontPids.reduce((total, pid) => total + cpuMsOf(pid), 0),
  ];
  const [before, start] = [cpu(), performance.now()];
  await load.closedLoop(3 * replicas.length, lasting(seconds));
  const took_s = (performance.now() - start) / 1000;
  const after = cpu();
  load.close();
  const answered = load.answers.filter(({ status }) => status === 200).length;
  const [servers_ms, front_ms] = after.map((value, side) => (value - before[side]) / answered);
  return { rate: answered / took_s, servers_ms, front_ms };
}

const mean = (phases, name) => phases.reduce((sum, phase) => sum + phase[name], 0) / phases.length;

// ---- the program

endOnSignals();
/** The proofs by their names for --only. */
const all = {
  limits: proveLimits,
  kill: proveKill,
  redis: proveRedisLoss,
  rolling: proveRolling,
  throughput: proveThroughput,
};
const options = flags({ quick: false, only: ['all', ...Object.keys(all)], json: false });
/** Of a phase. */
const seconds = options.quick ? 2 : 20;
const proofs = Object.entries(all).filter(([name]) =>
  options.only === 'all' ? !(options.quick && name === 'throughput') : name === options.only,
);

const facts = {};
const claims = [];
const cluster = await Cluster.start();
try {
  for (const [name, prove] of proofs) {
    progress(name);
    const proof = await prove(cluster, { seconds, quick: options.quick });
    Object.assign(facts, proof.facts);
    claims.push(...proof.claims);
  }
} finally {
  await cluster.stop();
}
progress('');
report({ title: 'Three replicas behind nginx, limits in Redis', facts, claims, json: options.json });
