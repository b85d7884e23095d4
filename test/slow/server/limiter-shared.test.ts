import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { makePair } from '../../fixtures/credentials.ts';
import {
  expectProblem,
  getModels,
  lengthHead,
  match,
  photoForm,
  photoRequest,
  RawClient,
  sendRaw,
  twoPhotos,
} from '../../server/support/client.ts';
import { redisInstalled, TestRedis } from '../../server/support/redis.ts';
import { Home, idOf, pause, type StartOptions, TestServer } from '../../server/support/server.ts';

/** Rate limits in a real Redis: shared, and what becomes of them when it is away. */

const up = 'facematch_limiter_up';
const fallbacks = 'facematch_limiter_fallbacks_total';
const decisions = 'facematch_limiter_duration_seconds_count';
/** Hardly a token comes back during a test. */
const slow = { rate: 0.001, burst: 5 };

let redis: TestRedis;
let home: Home;
beforeEach(async () => {
  home = new Home();
  redis = await TestRedis.start();
  return () => redis.kill();
});

const serve = (env: Record<string, string> = {}, options: StartOptions = {}) =>
  TestServer.forTest({ ...options, env: { FACEMATCH_LIMITER: redis.url, ...env } }, home);

/** One that Redis decides for by now. */
async function serveShared(env: Record<string, string> = {}, options?: StartOptions): Promise<TestServer> {
  const server = await serve(env, options);
  await server.metricBecomes(up, 1);
  return server;
}

const ask = async (server: TestServer, key = server.key) => (await getModels(server, { key })).status;

async function statuses(count: number, one: () => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let asked = 0; asked < count; asked++) all.push(await one());
  return all;
}

const changes = (server: TestServer) =>
  server.stderr.filter((line) => line.includes('rate limits are')).map((line) => JSON.parse(line).msg);

/** The log comes a little later than what it tells. */
async function changesBecome(server: TestServer, expected: readonly string[]): Promise<void> {
  while (changes(server).length < expected.length) await pause();
  expect(changes(server)).toEqual(expected);
}

/** What Redis holds for a key. */
const heldFor = (key: string) => redis.tell((told) => told.get(`facematch:bucket:${idOf(key)}`));

const words = { shared: 'rate limits are shared', local: 'rate limits are local: Redis is not reachable' };

describe.skipIf(!redisInstalled)('a limit that replicas share', () => {
  test('is one limit, whichever of them is asked', async () => {
    const key = home.key(slow);
    const [a, b] = [await serveShared(), await serveShared()];
    expect(await ask(a, key)).toBe(200);
    expect(await ask(b, key)).toBe(200);
    expect(await statuses(4, () => ask(a, key))).toEqual([200, 200, 200, 429]);
    expect(await ask(b, key)).toBe(429);
  });

  test('lets a caller who is refused cost Redis nothing until there is a token', async () => {
    const key = home.key(slow);
    const server = await serveShared();
    const before = await server.metric(decisions);
    const all = await statuses(50, () => ask(server, key));
    expect(all.filter((status) => status === 200)).toHaveLength(5);
    expect((await server.metric(decisions)) - before).toBe(5);
    expect(await server.metric(fallbacks)).toBe(0);
  });

  test('keeps in Redis the id of a key and four numbers', async () => {
    const key = home.key({ rate: 1, burst: 5 });
    const server = await serveShared();
    await ask(server, key);
    expect(await heldFor(key)).toMatch(/^4 [\d.]+ 1 5$/);
  });

  test('gets the tokens of a request back that the full queue refuses', async () => {
    const key = home.key(slow);
    const server = await serveShared({ FACEMATCH_QUEUE: '0' }, { gate: 'open' });
    server.gate.close();
    const running = match(server, twoPhotos(), { key });
    await server.metricBecomes('facematch_workers_busy', 1);
    const refused = await match(server, twoPhotos(), { key });
    expect(refused.body.code).toBe('overloaded');
    expect(refused.headers.get('ratelimit')).toMatch('r=4;');
    await expect.poll(() => heldFor(key)).toMatch(/^4[. ]/);
    server.gate.open();
    expect((await running).status).toBe(200);
  });

  test('needs no more of Redis than docs/replicas.md says', async () => {
    const page = readFileSync(projectPath('docs/replicas.md'), 'utf8');
    const [, rights = ''] = /^ACL SETUSER facematch (.+)$/m.exec(page) ?? [];
    const words = rights.replace('PASSWORD', 'hunter2').split(' ');
    await redis.tell((told) => told.acl('SETUSER', 'facematch', ...words));
    await redis.tell((told) => told.script('FLUSH'));
    const server = await serve({ FACEMATCH_LIMITER: `redis://facematch:hunter2@127.0.0.1:${redis.port}` });
    await server.metricBecomes(up, 1);
    expect(await ask(server)).toBe(200);
    expect(await server.metric(fallbacks)).toBe(0);
  });

  const connection = async () =>
    /^id=(\d+) .* cmd=eval/m.exec(await redis.tell((told) => told.client('LIST') as Promise<string>))?.[1];

  test('goes on without a word when Redis closes the connection, because it was idle', async () => {
    const server = await serveShared();
    await redis.tell((told) => told.config('SET', 'timeout', '1'));
    for (let closed = 0; closed < 2; closed++) {
      const before = await connection();
      const isNew = async () => ![undefined, before].includes(await connection());
      await expect.poll(isNew, { timeout: 20_000 }).toBe(true);
    }
    expect(await statuses(20, () => ask(server))).toEqual(Array(20).fill(200));
    expect(await server.metric(decisions)).toBe(20);
    expect(await server.metric(fallbacks)).toBe(0);
    await changesBecome(server, [words.shared]);
  });

  test('goes on when its script is no longer known, or when a bucket cannot be read', async () => {
    const key = home.key(slow);
    const server = await serveShared();
    await redis.tell((told) => told.script('FLUSH'));
    await redis.tell((told) => told.hset(`facematch:bucket:${idOf(key)}`, 'tokens', '1'));
    await redis.tell((told) => told.set(`facematch:bucket:${idOf(server.key)}`, 'garbage'));
    expect(await statuses(6, () => ask(server, key))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await ask(server)).toBe(200);
    expect(await server.metric(fallbacks)).toBe(0);
  });

  test('is reached through TLS', async () => {
    const { cert, key } = makePair(home.folder, 'redis');
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    await redis.kill();
    await redis.start('--tls-port', String(redis.port), '--port', '0', '--tls-auth-clients', 'no', ...files);
    const url = `rediss://localhost:${redis.port}`;
    const trusting = await serve({ FACEMATCH_LIMITER: url, NODE_EXTRA_CA_CERTS: cert });
    await trusting.metricBecomes(up, 1);
    const doubting = await serve({ FACEMATCH_LIMITER: url });
    expect(await doubting.line(doubting.stderr, /Redis is not reachable/)).toMatch(/certificate/);
    expect(await ask(doubting)).toBe(200);
  });

  test('ends no server by a handshake that fails after its time was up', async () => {
    const { cert, key } = makePair(home.folder, 'late');
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
    await redis.kill();
    await redis.start('--tls-port', String(redis.port), '--port', '0', '--tls-auth-clients', 'no', ...files);
    const url = `rediss://localhost:${redis.port}`;
    redis.pause();
    const doubting = await serve({ FACEMATCH_LIMITER: url });
    await doubting.line(doubting.stderr, /no answer within 1000 ms/);
    redis.resume();
    // Redis has answered the others before this one.
    const trusting = await serve({ FACEMATCH_LIMITER: url, NODE_EXTRA_CA_CERTS: cert });
    await trusting.metricBecomes(up, 1);
    expect(await ask(doubting)).toBe(200);
  });

  test('lets a server end at once', async () => {
    const server = await serveShared();
    server.child.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    const clients = () => redis.tell((told) => told.client('LIST'));
    await expect.poll(clients).toMatch(/^.+\n$/);
  });
});

describe.skipIf(!redisInstalled)('a Redis that is away', () => {
  let other: Redis | undefined;
  const killOthers = (told: Redis) => told.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  const faults: readonly [what: string, reason: RegExp, away: () => unknown, back: () => unknown][] = [
    ['killed', /ECONNREFUSED|closed/, () => redis.kill(), () => redis.start()],
    ['stopped', /no answer within 200 ms/, () => redis.pause(), () => redis.resume()],
    [
      'read-only',
      /^READONLY/,
      () => redis.tell((told) => told.replicaof('127.0.0.1', 1)),
      () => redis.tell((told) => told.replicaof('NO', 'ONE')),
    ],
    [
      'full',
      /^OOM/,
      () => redis.tell((told) => told.config('SET', 'maxmemory', '1')),
      () => redis.tell((told) => told.config('SET', 'maxmemory', '0')),
    ],
    [
      'taken by others',
      /max number of clients/,
      async () => {
        other = redis.connect();
        await other.config('SET', 'maxclients', '1');
        await killOthers(other);
      },
      async () => {
        await other!.config('SET', 'maxclients', '100');
        other!.disconnect();
      },
    ],
  ];

  test.each(faults)('because it is %s loses no request, is told once, and comes back', async (...fault) => {
    const [, reason, away, back] = fault;
    const server = await serveShared();
    await away();
    expect(await statuses(20, () => ask(server))).toEqual(Array(20).fill(200));
    await server.metricBecomes(up, 0);
    expect(await server.metric(fallbacks)).toBeGreaterThan(0);
    const told = JSON.parse(await server.line(server.stderr, /Redis is not reachable/));
    const named = { redis: `${redis.url}/0`, reason: expect.stringMatching(reason) };
    expect(told).toMatchObject({ level: 'warn', ...named });
    expect((await server.probe())[0]).toBe(200);
    await back();
    await server.metricBecomes(up, 1);
    const before = await server.metric(fallbacks);
    expect(await ask(server)).toBe(200);
    expect(await server.metric(fallbacks)).toBe(before);
    await changesBecome(server, [words.shared, words.local, words.shared]);
  });

  test('leaves a caller what was left of the shared bucket, and no fresh burst', async () => {
    const key = home.key(slow);
    const [a, b] = [await serveShared(), await serveShared()];
    expect(await statuses(3, () => ask(a, key))).toEqual([200, 200, 200]);
    expect(await ask(b, key)).toBe(200);
    await redis.kill();
    await b.metricBecomes(up, 0);
    expect(await statuses(2, () => ask(b, key))).toEqual([200, 429]);
  });

  /** One that reads its data from disk, which takes as long as it is told to. */
  async function restartLoading(): Promise<void> {
    const kept = ['--dir', home.folder];
    await redis.kill();
    await redis.start(...kept);
    await redis.tell(async (told) => {
      await told.eval("for i = 1, 2000 do redis.call('set', 'key' .. i, string.rep('x', 999)) end", 0);
      await told.save();
    });
    await redis.kill();
    const slowly = ['--key-load-delay', '20000', '--loading-process-events-interval-bytes', '1024'];
    await redis.start(...kept, ...slowly);
  }

  test.each<[what: string, reason: RegExp, away: () => Promise<unknown>, back: () => Promise<unknown>]>([
    ['not running', /ECONNREFUSED/, () => redis.kill(), () => redis.start()],
    [
      'loading its data',
      /LOADING/,
      restartLoading,
      () => redis.tell((told) => told.config('SET', 'key-load-delay', '0')),
    ],
  ])(
    'at the start, %s, keeps no server from getting ready, which shares once it can',
    async (_what, reason, away, back) => {
      await away();
      const server = await serve();
      expect(await ask(server)).toBe(200);
      expect(await server.metric(up)).toBe(0);
      expect(await server.line(server.stderr, /Redis is not reachable/)).toMatch(reason);
      await back();
      await server.metricBecomes(up, 1);
      await changesBecome(server, [words.local, words.shared]);
    },
  );

  test('makes at most the first request wait for it', async () => {
    const server = await serveShared();
    redis.pause();
    await Promise.all(Array.from({ length: 8 }, () => ask(server)));
    await server.metricBecomes(up, 0);
    const asked = await server.metric(decisions);
    const alone = await server.metric(fallbacks);
    await statuses(10, () => ask(server));
    expect((await server.metric(fallbacks)) - alone).toBe(10);
    expect(await server.metric(decisions)).toBe(asked);
  });

  test.each([
    ['wrong', 'hunter2-wrong'],
    ['not needed', undefined],
  ])('because the password is %s is told without it', async (_what, wanted) => {
    const secret = 'hunter2';
    if (wanted !== undefined) await redis.tell((told) => told.config('SET', 'requirepass', wanted));
    const server = await serve({ FACEMATCH_LIMITER: `redis://:${secret}@127.0.0.1:${redis.port}` });
    const told = await server.line(server.stderr, /Redis is not reachable/);
    expect(told).toMatch(/WRONGPASS|without any password configured/);
    expect(await ask(server)).toBe(200);
    const all = [...server.stdout, ...server.stderr, await server.metrics()].join('\n');
    expect(all).not.toContain(secret);
    expect(all).toContain(`redis://:***@127.0.0.1:${redis.port}/0`);
  });
});

/** A Redis that is stopped makes a request wait for 200 ms: long enough for a body to come meanwhile. */
describe.skipIf(!redisInstalled)('a body that comes while Redis is asked', () => {
  const length = String(photoForm().length);
  const uploaded = (server: TestServer, bytes: number) =>
    server.metricBecomes('facematch_upload_bytes', bytes);

  async function waiting(env: Record<string, string> = {}) {
    const server = await serveShared(env);
    redis.pause();
    return { server, client: new RawClient(server.port), whole: photoRequest(server) };
  }

  test('in part goes on where it was', async () => {
    const { server, client, whole } = await waiting();
    client.write(whole.subarray(0, 70_000));
    await server.metricBecomes(up, 0);
    client.write(whole.subarray(70_000));
    expect(await client.answer()).toMatchObject({ status: 200, body: { match: true } });
    client.leave();
  });

  test('is refused when all bodies together have no memory left, and the memory is given back', async () => {
    const limits = { FACEMATCH_MAX_BODY_BYTES: length, FACEMATCH_MAX_UPLOAD_BYTES: length };
    const { server, client, whole } = await waiting(limits);
    client.write(whole.subarray(0, -1000));
    await uploaded(server, Number(length) - 1000);
    const other = await sendRaw(server, whole.subarray(0, -1000));
    expect(other).toMatchObject({ status: 503, body: { code: 'overloaded' } });
    client.write(whole.subarray(-1000));
    expect((await client.answer()).status).toBe(200);
    await uploaded(server, 0);
    client.leave();
  });

  test('is charged to its key, and leaves the other keys of the same address their memory', async () => {
    const other = home.key();
    const twice = String(2 * Number(length));
    const server = await serveShared({
      FACEMATCH_MAX_BODY_BYTES: length,
      FACEMATCH_MAX_UPLOAD_BYTES: twice,
    });
    const stalled = new RawClient(server.port);
    stalled.write(photoRequest(server).subarray(0, -1000));
    await uploaded(server, Number(length) - 1000);
    expect((await sendRaw(server, photoRequest(server))).status).toBe(503);
    expect((await sendRaw(server, photoRequest(server, { 'x-api-key': other }))).status).toBe(200);
    stalled.leave();
  });

  test('is dropped with a client that leaves', async () => {
    const { server, client } = await waiting();
    const request_id = 'left-while-waiting';
    client.write(photoRequest(server, { 'x-request-id': request_id }).subarray(0, 1000));
    await server.metricBecomes('facematch_requests_unanswered', 1);
    client.leave();
    expect(await server.logged(request_id)).toMatchObject({ status: 499 });
    await uploaded(server, 0);
  });

  test('behind a refusal is skipped, and the connection serves the next request', async () => {
    const key = home.key({ rate: 0.001, burst: 1 });
    const [server, other] = [await serveShared(), await serveShared()];
    expect(await ask(other, key)).toBe(200);
    // This one has not heard of it, and asks.
    const client = new RawClient(server.port);
    client.write(lengthHead(server, Number(length), { 'x-api-key': key }));
    const refused = await client.answer();
    expectProblem(refused, 'rate_limit_exceeded');
    expect(refused.headers.get('retry-after')).toBe('1000');
    expect(refused.headers.get('ratelimit')).toBe('"default";r=0;t=1000');
    client.write(Buffer.concat([photoForm(), photoRequest(server)]));
    expect((await client.answers(2)).map(({ status }) => status)).toEqual([429, 200]);
    client.leave();
  });
});
