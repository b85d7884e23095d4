import { readFileSync } from 'node:fs';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { makePair } from '../../fixtures/credentials.ts';
import { expectProblem, photoForm, RawClient, twoPhotos } from '../../server/support/client.ts';
import { redisInstalled, TestRedis } from '../../server/support/redis.ts';
import { Home, idOf, pause, type StartOptions, TestServer } from '../../server/support/server.ts';

/** Tests rate limits in a real Redis, which are shared between servers, and local while Redis is unavailable. */

const up = 'facematch_limiter_up';
const fallbacks = 'facematch_limiter_fallbacks_total';
const decisions = 'facematch_limiter_duration_seconds_count';

/** Every server has all keys. Tokens are refilled so slowly that tests do not notice. */
const home = new Home();
const other = home.key();
const keyOf = (burst: number) => home.key({ rate: 0.001, burst });
const keys = { one: keyOf(5), rejected: keyOf(5), full: keyOf(5), odd: keyOf(5), away: keyOf(5) };
const early = keyOf(1);

let redis: TestRedis;
const startRedis = async () => {
  redis = await TestRedis.start();
  return () => redis.kill();
};

const settings = (env: Record<string, string>): StartOptions => ({
  env: { FACEMATCH_LIMITER: redis.url, ...env },
});
const serve = (env: Record<string, string> = {}) => TestServer.forTest(settings(env), home);

/** Starts a server and waits until it uses Redis. The caller stops it. */
async function startShared(env: Record<string, string> = {}, gate?: 'open'): Promise<TestServer> {
  const server = await TestServer.start({ ...settings(env), ...(gate && { gate }) }, home);
  await server.metricBecomes(up, 1);
  return server;
}

const ask = async (server: TestServer, key = server.key) => (await server.getModels({ key })).status;

async function statuses(count: number, one: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let asked = 0; asked < count; asked++) all.push(await one());
  return all;
}

const changes = (server: TestServer): string[] =>
  server.stderr.filter((line) => line.includes('rate limits are')).map((line) => JSON.parse(line).msg);

/** Waits for the log lines, which are written after the event. */
async function changesBecome(server: TestServer, expected: readonly string[]): Promise<void> {
  while (changes(server).length < expected.length) await pause();
  expect(changes(server)).toEqual(expected);
}

const words = {
  shared: 'connected to Redis; rate limits are shared',
  local: 'Redis is not reachable; rate limits are local',
};

/** Length of a match request's body in bytes. */
const length = String(photoForm().length);
const uploaded = (server: TestServer, bytes: number) =>
  server.metricBecomes('facematch_upload_memory_bytes', bytes);

describe.skipIf(!redisInstalled)('a limit that replicas share', () => {
  let a: TestServer;
  let b: TestServer;
  beforeAll(async () => {
    const stop = await startRedis();
    a = await startShared({ FACEMATCH_QUEUE_CAPACITY: '0' }, 'open');
    const twice = String(2 * Number(length));
    const memory = { FACEMATCH_MAX_BODY_BYTES: length, FACEMATCH_UPLOAD_MEMORY_BYTES: twice };
    b = await startShared(memory);
    return () => Promise.all([a.stop(), b.stop(), stop()]);
  });

  /** Returns the value that Redis stores for a key. */
  const heldFor = (key: string) => redis.asAdmin((admin) => admin.get(`facematch:bucket:${idOf(key)}`));
  const clients = () => redis.asAdmin((admin) => admin.client('LIST') as Promise<string>);

  test('is one limit for all replicas, and Redis stores only the id of the key and four numbers', async () => {
    expect(await ask(a, keys.one)).toBe(200);
    expect(await heldFor(keys.one)).toMatch(/^4[\d.]* [\d.]+ 0\.001\d* 5$/);
    expect(await ask(b, keys.one)).toBe(200);
    expect(await statuses(4, () => ask(a, keys.one))).toEqual([200, 200, 200, 429]);
    expect(await ask(b, keys.one)).toBe(429);
  });

  test('sends no request of a rejected client to Redis until there is a token', async () => {
    const before = await a.metric(decisions);
    const all = await statuses(50, () => ask(a, keys.rejected));
    expect(all.filter((status) => status === 200)).toHaveLength(5);
    expect((await a.metric(decisions)) - before).toBe(5);
    expect(await a.metric(fallbacks)).toBe(0);
  });

  test('returns the tokens of a request that the full queue rejects', async () => {
    a.gate.close();
    const running = a.match(twoPhotos(), { key: keys.full });
    await a.metricBecomes('facematch_workers_busy', 1);
    const rejected = await a.match(twoPhotos(), { key: keys.full });
    expect(rejected.body.code).toBe('overloaded');
    expect(rejected.headers.get('ratelimit')).toMatch('r=4;');
    await expect.poll(() => heldFor(keys.full)).toMatch(/^4[. ]/);
    a.gate.open();
    expect((await running).status).toBe(200);
  });

  test('continues if Redis has lost the script, or a bucket is unreadable', async () => {
    await redis.asAdmin((admin) => admin.script('FLUSH'));
    await redis.asAdmin((admin) => admin.hset(`facematch:bucket:${idOf(keys.odd)}`, 'tokens', '1'));
    expect(await statuses(6, () => ask(a, keys.odd))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await a.metric(fallbacks)).toBe(0);
  });

  test('counts body memory per key, so that other keys with the same IP address keep theirs', async () => {
    const stalled = new RawClient(b.port);
    stalled.write(b.photoRequest().subarray(0, -1000));
    await uploaded(b, Number(length) - 1000);
    expect((await b.sendRaw(b.photoRequest())).status).toBe(503);
    expect((await b.sendRaw(b.photoRequest({ 'x-api-key': other }))).status).toBe(200);
    stalled.leave();
  });

  test('skips the body after a rejection, and serves the next request on the connection', async () => {
    expect(await ask(a, early)).toBe(200);
    // This server does not know the key's bucket yet, so it asks Redis.
    const client = new RawClient(b.port);
    client.write(b.lengthHeaders(Number(length), { 'x-api-key': early }));
    const rejected = await client.response();
    expectProblem(rejected, 'rate_limit_exceeded');
    expect(rejected.headers.get('retry-after')).toBe('1000');
    expect(rejected.headers.get('ratelimit')).toBe('"default";r=0;t=1000');
    client.write(Buffer.concat([photoForm(), b.photoRequest()]));
    expect((await client.responses(2)).map(({ status }) => status)).toEqual([429, 200]);
    client.leave();
  });

  test('lets a server shut down at once', async () => {
    const lines = async () => (await clients()).split('\n').length;
    const before = await lines();
    const server = await startShared();
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    await expect.poll(lines).toBe(before);
  });

  test('needs only the Redis permissions of docs/replicas.md', async () => {
    const page = readFileSync(projectPath('docs/replicas.md'), 'utf8');
    const [, rights = ''] = /^ACL SETUSER facematch (.+)$/m.exec(page) ?? [];
    await redis.asAdmin((admin) =>
      admin.acl('SETUSER', 'facematch', ...rights.replace('PASSWORD', 'hunter2').split(' ')),
    );
    await redis.asAdmin((admin) => admin.script('FLUSH'));
    const server = await serve({ FACEMATCH_LIMITER: `redis://facematch:hunter2@127.0.0.1:${redis.port}` });
    await server.metricBecomes(up, 1);
    expect(await ask(server)).toBe(200);
    expect(await server.metric(fallbacks)).toBe(0);
  });

  test('reconnects silently when Redis closes an idle connection', async () => {
    const connections = async () =>
      [...(await clients()).matchAll(/^id=(\d+) .* cmd=eval/gm)].map(([, id]) => Number(id));
    await redis.asAdmin((admin) => admin.config('SET', 'timeout', '1'));
    for (let closed = 0; closed < 2; closed++) {
      const last = Math.max(...(await connections()));
      const areNew = async () => (await connections()).filter((id) => id > last).length;
      await expect.poll(areNew).toBeGreaterThanOrEqual(2);
    }
    const before = await a.metric(decisions);
    expect(await statuses(20, () => ask(a))).toEqual(Array(20).fill(200));
    expect((await a.metric(decisions)) - before).toBe(20);
    expect(await a.metric(fallbacks)).toBe(0);
    await changesBecome(a, [words.shared]);
    await redis.asAdmin((admin) => admin.config('SET', 'timeout', '0'));
  });

  test('keeps the remaining tokens of the shared bucket when Redis is killed, without a fresh burst', async () => {
    expect(await statuses(3, () => ask(a, keys.away))).toEqual([200, 200, 200]);
    expect(await ask(b, keys.away)).toBe(200);
    await redis.kill();
    await b.metricBecomes(up, 0);
    expect(await statuses(2, () => ask(b, keys.away))).toEqual([200, 429]);
  });
});

describe.skipIf(!redisInstalled)('an unavailable Redis', () => {
  let server: TestServer;
  beforeAll(async () => {
    const stop = await startRedis();
    server = await startShared({ FACEMATCH_MAX_BODY_BYTES: length, FACEMATCH_UPLOAD_MEMORY_BYTES: length });
    return () => Promise.all([server.stop(), stop()]);
  });

  const faults: readonly [what: string, reason: RegExp, away: () => unknown, back: () => unknown][] = [
    ['killed', /ECONNREFUSED|closed/, () => redis.kill(), () => redis.start()],
    ['stopped', /no response within 200 ms/, () => redis.pause(), () => redis.resume()],
    [
      'read-only',
      /^READONLY/,
      () => redis.asAdmin((admin) => admin.replicaof('127.0.0.1', 1)),
      () => redis.asAdmin((admin) => admin.replicaof('NO', 'ONE')),
    ],
  ];

  test.each(faults)('loses no request, is reported once, and is used again later: %s', async (...fault) => {
    const [, reason, away, back] = fault;
    const earlier = changes(server);
    const alone = await server.metric(fallbacks);
    await away();
    try {
      expect(await statuses(20, () => ask(server))).toEqual(Array(20).fill(200));
      await server.metricBecomes(up, 0);
      expect(await server.metric(fallbacks)).toBeGreaterThan(alone);
      const nth = earlier.filter((msg) => msg === words.local).length + 1;
      const admin = JSON.parse(await server.line(server.stderr, /Redis is not reachable/, nth));
      const named = { redis: `${redis.url}/0`, reason: expect.stringMatching(reason) };
      expect(admin).toMatchObject({ level: 'warn', ...named });
      expect((await server.probe())[0]).toBe(200);
    } finally {
      // Redis works again before the next case.
      await back();
    }
    await server.metricBecomes(up, 1);
    const before = await server.metric(fallbacks);
    expect(await ask(server)).toBe(200);
    expect(await server.metric(fallbacks)).toBe(before);
    await changesBecome(server, [...earlier, words.local, words.shared]);
  });

  /** While Redis is paused, a request waits 200 ms for it, so that a body can arrive in the meantime. */
  describe('a paused Redis', () => {
    let client: RawClient;
    let whole: Buffer;
    beforeEach(() => {
      redis.pause();
      client = new RawClient(server.port);
      whole = server.photoRequest();
    });
    afterEach(async () => {
      client.leave();
      redis.resume();
      await server.metricBecomes(up, 1);
    });

    test('delays only the first requests', async () => {
      await Promise.all(Array.from({ length: 8 }, () => ask(server)));
      await server.metricBecomes(up, 0);
      const asked = await server.metric(decisions);
      const alone = await server.metric(fallbacks);
      await statuses(10, () => ask(server));
      expect((await server.metric(fallbacks)) - alone).toBe(10);
      expect(await server.metric(decisions)).toBe(asked);
    });

    test('keeps the received part of a body', async () => {
      client.write(whole.subarray(0, 70_000));
      await server.metricBecomes(up, 0);
      client.write(whole.subarray(70_000));
      expect(await client.response()).toMatchObject({ status: 200, body: { match: true } });
    });

    test('rejects a body when the memory for bodies is exhausted, and releases it', async () => {
      client.write(whole.subarray(0, -1000));
      await uploaded(server, Number(length) - 1000);
      const rejected = await server.sendRaw(whole.subarray(0, -1000));
      expect(rejected).toMatchObject({ status: 503, body: { code: 'overloaded' } });
      client.write(whole.subarray(-1000));
      expect((await client.response()).status).toBe(200);
      await uploaded(server, 0);
    });

    test('drops the body of a client that disconnects', async () => {
      const request_id = 'left-while-waiting';
      client.write(server.photoRequest({ 'x-request-id': request_id }).subarray(0, 1000));
      await server.metricBecomes('facematch_requests_in_flight', 1);
      client.leave();
      expect(await server.logged(request_id)).toMatchObject({ status: 499 });
      await uploaded(server, 0);
    });
  });
});

describe.skipIf(!redisInstalled)('a server at startup', () => {
  beforeEach(startRedis);

  test('becomes ready without Redis, and shares limits once Redis runs', async () => {
    await redis.kill();
    const server = await serve();
    expect(await ask(server)).toBe(200);
    expect(await server.metric(up)).toBe(0);
    expect(await server.line(server.stderr, /Redis is not reachable/)).toMatch(/ECONNREFUSED/);
    await redis.start();
    await server.metricBecomes(up, 1);
    await changesBecome(server, [words.local, words.shared]);
  });

  test.each([
    ['wrong', 'hunter2-wrong'],
    ['not needed', undefined],
  ])('reports a password that is %s, without printing it', async (_what, wanted) => {
    const secret = 'hunter2';
    if (wanted !== undefined) await redis.asAdmin((admin) => admin.config('SET', 'requirepass', wanted));
    const server = await serve({ FACEMATCH_LIMITER: `redis://:${secret}@127.0.0.1:${redis.port}` });
    const admin = await server.line(server.stderr, /Redis is not reachable/);
    expect(admin).toMatch(/WRONGPASS|without any password configured/);
    expect(await ask(server)).toBe(200);
    const all = [...server.stdout, ...server.stderr, await server.metrics()].join('\n');
    expect(all).not.toContain(secret);
    expect(all).toContain(`redis://:***@127.0.0.1:${redis.port}/0`);
  });

  test('connects with TLS, and continues with an untrusted certificate, even after a delay', async () => {
    const { cert, key } = makePair(home.folder, 'redis');
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    await redis.kill();
    await redis.start('--tls-port', String(redis.port), '--port', '0', '--tls-auth-clients', 'no', ...files);
    const url = { FACEMATCH_LIMITER: `rediss://localhost:${redis.port}` };
    // This server's handshake fails after its timeout.
    redis.pause();
    const late = await serve(url);
    await late.line(late.stderr, /no response within 1000 ms/);
    redis.resume();
    const doubting = await serve(url);
    expect(await doubting.line(doubting.stderr, /Redis is not reachable/)).toMatch(/certificate/);
    // Redis has replied to the earlier requests before this one.
    const trusting = await serve({ ...url, NODE_EXTRA_CA_CERTS: cert });
    await trusting.metricBecomes(up, 1);
    for (const server of [late, doubting]) expect(await ask(server)).toBe(200);
  });
});
