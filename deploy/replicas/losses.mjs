// What is lost when a replica or Redis goes away under load: every request is accounted for by its id.
import { Load } from '../../bench/lib/load.mjs';

/** Fewer than two replicas take into their queues: what is refused here is refused because of the fault. */
const clients = 6;
const unlimited = { rate: 1_000_000, burst: 1_000_000 };

/** One replica is killed, another is stopped and started, each in a third of the time. */
export async function proveKill(cluster, { seconds }) {
  const [killed, restarted] = cluster.replicas;
  const { load, account } = await under(cluster, seconds, [
    async () => {
      await killed.kill();
      await killed.start();
    },
    () => restarted.replace(),
  ]);
  return {
    facts: { 'sent again, kill and restart': sentAgain(account, load) },
    claims: [complete('requests lost while one replica is killed and one restarted', load)],
  };
}

/** All three, one after another: SIGTERM, wait, start, ready, next. nginx is not told. */
export async function proveRolling(cluster, { seconds }) {
  const { load, account } = await under(
    cluster,
    seconds,
    cluster.replicas.map((replica) => () => replica.replace()),
  );
  return {
    facts: { 'sent again, rolling': sentAgain(account, load) },
    claims: [complete('requests lost while all three are replaced, one after another', load)],
  };
}

export async function proveRedisLoss(cluster, { seconds }) {
  const series = 'facematch_limiter_up';
  const every = (value) => Promise.all(cluster.replicas.map((replica) => replica.becomes(series, value)));
  const before = await cluster.sum('facematch_limiter_fallbacks_total');
  let noticed_ms;
  let recovered_ms;
  const { load } = await under(cluster, seconds, [
    async () => {
      await cluster.redis.kill();
      const start = performance.now();
      await every(0);
      noticed_ms = performance.now() - start;
    },
    async () => {
      await cluster.redis.start();
      const start = performance.now();
      await every(1);
      recovered_ms = performance.now() - start;
    },
  ]);
  const fallbacks = (await cluster.sum('facematch_limiter_fallbacks_total')) - before;
  return {
    facts: {
      'Redis gone, noticed by all': `${Math.round(noticed_ms)} ms`,
      'Redis back, shared by all': `${Math.round(recovered_ms)} ms`,
    },
    claims: [
      complete('requests lost while Redis is killed and restarted', load),
      {
        what: 'requests that replicas judged alone meanwhile, by their metrics',
        found: fallbacks,
        limit: 'more than 0',
        ok: fallbacks > 0,
      },
    ],
  };
}

/** A closed loop for at least `seconds`, in which the steps are done one after another, evenly spread. */
async function under(cluster, seconds, steps) {
  const key = await cluster.key(unlimited);
  const load = new Load({ port: cluster.nginx.port, key }, [cluster.body]);
  const pause = () => new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / (steps.length + 1)));
  let over = false;
  const client = async () => {
    while (!over) await load.one();
  };
  const running = Promise.all(Array.from({ length: clients }, client));
  try {
    for (const step of steps) {
      await pause();
      await step();
    }
    await pause();
  } finally {
    over = true;
    await running;
    load.close();
  }
  return { load, account: cluster.nginx.account() };
}

function complete(what, { sent, lost, stray, answers }) {
  const failed = answers.filter(({ status }) => status !== 200);
  const statuses = [...new Set(failed.map(({ status }) => status))].join(', ');
  const missing = sent - answers.length;
  return {
    what,
    found: `${missing} of ${sent} without an answer, ${failed.length} answered other than 200${statuses && ` (${statuses})`}, ${stray} with another's id`,
    limit: '0, 0 and 0',
    ok: missing === 0 && lost === 0 && failed.length === 0 && stray === 0 && sent > 0,
  };
}

/** How many of them nginx sent to another replica, by what became of them at the first. */
function sentAgain(account, { answers }) {
  const counts = new Map();
  for (const { request_id } of answers) {
    const { tried = [], statuses = [], connected = [] } = account.get(request_id) ?? {};
    if (tried.length < 2) continue;
    const met = connected[0] === '-' ? 'it did not listen' : (meanings[statuses[0]] ?? statuses[0]);
    counts.set(met, (counts.get(met) ?? 0) + 1);
  }
  return [...counts].map(([met, count]) => `${count} (${met})`).join(', ') || 'none';
}

const meanings = { 502: 'the connection broke', 503: 'it answered 503' };
