// A key's rate and burst hold, whichever replicas its requests reach.
import { form } from '../../bench/lib/form.mjs';
import { Load } from '../../bench/lib/load.mjs';

const tolerance = 0.02;
/** Requests that are offered for each that may pass. */
const eagerness = 3;

/** How the requests of one key reach the replicas. Each answers the ports to send to, one for each request in turn. */
const ways = [
  ['through nginx', ({ nginx }) => [nginx.port]],
  ['18 of 20 to one replica', ({ replicas: [a, b, c] }) => [...Array(18).fill(a.port), b.port, c.port]],
  [
    '50 to one replica, then 50 to the next',
    ({ replicas }) => replicas.flatMap(({ port }) => Array(50).fill(port)),
  ],
];

/**
 * Forms without pictures are charged as any, and refused with 400 at once: with them the limit is all that is measured,
 * at a rate that makes two percent many requests. Photos follow at a rate that three replicas on one core can carry.
 */
const kinds = [
  {
    what: 'forms without pictures',
    quota: { rate: 200, burst: 100 },
    passed: 400,
    ways,
    body: () => form({ a: 'b' }).body,
  },
  {
    what: 'photos',
    quota: { rate: 5, burst: 15 },
    passed: 200,
    ways: ways.slice(0, 1),
    body: ({ body }) => body,
  },
];

export async function proveLimits(cluster, { seconds, quick }) {
  const claims = [];
  const fallbacks = 'facematch_limiter_fallbacks_total';
  const before = await cluster.sum(fallbacks);
  for (const { what, quota, passed, ways, body } of quick ? kinds.slice(0, 1) : kinds) {
    for (const [way, portsOf] of ways) {
      const key = await cluster.key(quota);
      const { sent, statuses, lasted } = await press(
        cluster,
        portsOf(cluster),
        key,
        body(cluster),
        quota,
        seconds,
      );
      const [admitted, refused] = [statuses[passed] ?? 0, statuses[429] ?? 0];
      const allowed = quota.rate * lasted + quota.burst;
      const others = sent - admitted - refused;
      claims.push({
        what: `${what} ${way}, key of ${quota.rate}/s and burst ${quota.burst}`,
        found: `${admitted} of ${sent} admitted in ${lasted.toFixed(2)} s, where ${allowed.toFixed(1)} may be: ${(100 * (admitted / allowed - 1)).toFixed(2)} %; ${others} neither admitted nor refused`,
        limit: `within ${100 * tolerance} % or one request; 0`,
        // A token that is not whole yet at the end admits nobody.
        ok: Math.abs(admitted - allowed) <= Math.max(1, tolerance * allowed) && others === 0,
      });
    }
  }
  // Otherwise it would not be Redis that was tried.
  const alone = (await cluster.sum(fallbacks)) - before;
  claims.push({
    what: 'requests of these that a replica judged alone',
    found: alone,
    limit: '0',
    ok: alone === 0,
  });
  return { claims };
}

/**
 * An open loop: requests come whether or not those before have been answered. `lasted` is the time in seconds from
 * before the first request to the last decision, by Redis's clock: requests take a while to get there.
 */
async function press({ redis }, ports, key, body, { rate, burst }, seconds) {
  const lines = new Map([...new Set(ports)].map((port) => [port, new Load({ port, key }, [body])]));
  const total = Math.round(eagerness * rate * seconds + burst);
  const send = (count) => lines.get(ports[count % ports.length]).one();
  const first_ms = await redis.now();
  const start = performance.now();
  const pending = [];
  for (let count = 0; count < total; ) {
    const due = Math.min(total, Math.ceil(((performance.now() - start) / 1000) * eagerness * rate));
    for (; count < due; count++) pending.push(send(count));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(pending);
  const last_ms = await redis.decidedAt(key);
  const statuses = {};
  for (const load of lines.values()) {
    for (const { status } of load.answers) statuses[status] = (statuses[status] ?? 0) + 1;
    load.close();
  }
  return { sent: total, statuses, lasted: (last_ms - first_ms) / 1000 };
}
