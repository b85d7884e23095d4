import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { editKeyFile } from '../../src/auth/key-file.ts';
import { revokeKey } from '../fixtures/key-files.ts';
import { samples } from '../fixtures/pictures.ts';
import { expectProblem, match, paths, type Send, send, twoPhotos } from './support/client.ts';
import { Home, idOf, TestServer, WorkerGate } from './support/server.ts';

/** Who asks, in which trace and from where; how much a key may run at once and has used, and that it can be revoked. */

const home = new Home();
const gate = new WorkerGate(home);
const narrow = home.key({ name: 'narrow', concurrent: 2 });
const [shop, rotated] = [home.key({ name: 'shop' }), home.key({ name: 'shop' })];
const limited = home.key({ name: 'limited', rate: 0.001, burst: 1 });
const other = home.key();
const server = await TestServer.forFile({ env: { ...gate.env, FACEMATCH_LOG_CLIENT: 'on' } }, home);
afterEach(() => gate.open());

test('a key runs as many requests at once as it may, and is told when it sends more', async () => {
  gate.close();
  const ask = () => match(server, twoPhotos(), { key: narrow });
  const running = [ask(), ask()];
  await server.metricBecomes('facematch_requests_unanswered', 2);
  const refused = await ask();
  expectProblem(refused, 'rate_limit_exceeded', { detail: expect.stringMatching(/2 running at once/) });
  expect(refused.headers.get('retry-after')).toBe('1');
  // Nothing was taken for it.
  expect(refused.headers.get('ratelimit')).toMatch(/r=(998|999|1000);/);
  const other = match(server, twoPhotos(), { key: shop });
  gate.open();
  expect((await Promise.all([...running, other])).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await ask()).status).toBe(200);
});

test('a limit that a key gets while its requests run counts those', async () => {
  gate.close();
  const ask = () => match(server, twoPhotos(), { key: shop });
  const running = [ask(), ask()];
  await server.metricBecomes('facematch_requests_unanswered', 2);
  editKeyFile(home.keysFile, (records) => ({
    records: records.map((record) => (record.id === idOf(shop) ? { ...record, concurrent: 2 } : record)),
  }));
  await server.line(server.stderr, /the key file was reloaded/);
  expectProblem(await ask(), 'rate_limit_exceeded', {
    detail: expect.stringMatching(/2 running at once/),
  });
  gate.open();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
  expect((await ask()).status).toBe(200);
});

test('a request that is refused or whose client leaves is running no longer', async () => {
  for (let sent = 0; sent < 3; sent++) {
    expect((await match(server, {}, { key: narrow })).status).toBe(400);
    const leaving = new AbortController();
    gate.close();
    const left = match(server, twoPhotos(), { key: narrow, signal: leaving.signal }).catch(() => 'left');
    await server.metricBecomes('facematch_requests_unanswered', 1);
    leaving.abort();
    expect(await left).toBe('left');
    await server.metricBecomes('facematch_requests_unanswered', 0);
    gate.open();
  }
  expect((await match(server, twoPhotos(), { key: narrow })).status).toBe(200);
});

test('what was used is counted by the name of the key', async () => {
  const used = async (key: string) =>
    Promise.all(
      ['requests', 'pictures', 'comparisons'].map((what) =>
        server.metric(`facematch_key_${what}_total{key="${key}"}`),
      ),
    );
  const before = await used('shop');
  const image2 = [samples.three, samples.one, Buffer.from('no picture')];
  await match(server, { image1: samples.one, image2 }, { path: paths.many, key: shop });
  await match(server, twoPhotos(), { key: rotated });
  await match(server, {}, { key: rotated });
  await send(server, { path: paths.models, method: 'GET', key: rotated });
  expect(await used('shop')).toEqual([4, 6, 3].map((more, index) => before[index]! + more));

  const status = () => send(server, { path: paths.models, method: 'GET', key: limited });
  expect([(await status()).status, (await status()).status]).toEqual([200, 429]);
  expect((await used('limited'))[0]).toBe(1);
});

test('a revocation that the server has no descriptor to read is in force once it has one', async () => {
  const descriptors = (most: number) =>
    execFileSync('prlimit', ['--pid', String(server.child.pid), `--nofile=${most}:`]);
  // From here on the admin listener is asked on one connection.
  await server.metricBecomes('facematch_keys_stale', 0);
  descriptors(1);
  try {
    revokeKey(home.keysFile, idOf(rotated));
    await server.metricBecomes('facematch_keys_stale', 1);
  } finally {
    descriptors(1024);
  }
  await server.metricBecomes('facematch_keys_stale', 0);
  expectProblem(await send(server, { path: paths.models, method: 'GET', key: rotated }), 'invalid_api_key');
  expect(server.stderr.filter((line) => line.includes('(EMFILE)'))).toHaveLength(1);
});

const askModels = (headers: Record<string, string>, key: Send['key'] = null) =>
  send(server, { path: paths.models, method: 'GET', key, headers });
const logged = async (headers: Record<string, string>) => {
  const { body, headers: answered } = await askModels(
    { ...headers, 'x-request-id': `id-${Math.random()}` },
    server.key,
  );
  expect(body.pack).toBeDefined();
  return { line: await server.logged(answered.get('x-request-id')!), answered };
};

describe('a key in Authorization: Bearer', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is taken after %j', async (scheme) => {
    expect((await askModels({ authorization: `${scheme} ${server.key}` })).status).toBe(200);
  });

  test('may be the same as in x-api-key, and may not differ', async () => {
    const authorization = `Bearer ${server.key}`;
    expect((await askModels({ authorization }, server.key)).status).toBe(200);
    expectProblem(await askModels({ authorization }, other), 'invalid_api_key');
    expectProblem(await askModels({ authorization }, 'wrong'), 'invalid_api_key');
  });

  test.each(['Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln', 'Bearer fm_x_y', 'bearer a b'])(
    'without the form of a key is ignored beside x-api-key: %s',
    async (authorization) => {
      expect((await askModels({ authorization }, server.key)).status).toBe(200);
    },
  );

  test('of another scheme is not looked at', async () => {
    expectProblem(await askModels({ authorization: 'Basic eDp5' }), 'missing_api_key');
    expect((await askModels({ authorization: 'Basic eDp5' }, server.key)).status).toBe(200);
  });

  test.each(['Bearer wrong', 'Bearer a b'])('is refused as x-api-key is: %s', async (authorization) => {
    const answer = await askModels({ authorization });
    expectProblem(answer, 'invalid_api_key');
    expect(answer.headers.get('www-authenticate')).toBe('ApiKey, Bearer');
  });
});

describe('a traceparent', () => {
  const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent_id = '00f067aa0ba902b7';

  test.each([
    [`00-${trace_id}-${parent_id}-01`, `00-${trace_id}-${parent_id}-01`],
    // Of a later version only what is known.
    [`cc-${trace_id}-${parent_id}-00-more`, `00-${trace_id}-${parent_id}-00`],
  ])('%s is logged and given back', async (traceparent, back) => {
    const { line, answered } = await logged({ traceparent });
    expect([line.trace_id, answered.get('traceparent')]).toEqual([trace_id, back]);
  });

  test.each([
    `ff-${trace_id}-${parent_id}-01`,
    `00-${'0'.repeat(32)}-${parent_id}-01`,
    `00-${trace_id}-${'0'.repeat(16)}-01`,
    `00-${trace_id}-${parent_id}-01-more`,
    `00-${trace_id.toUpperCase()}-${parent_id}-01`,
    `00-${trace_id}-${parent_id}`,
    'x',
  ])('%s is ignored', async (traceparent) => {
    const { line, answered } = await logged({ traceparent });
    expect([line.trace_id, answered.get('traceparent')]).toEqual([undefined, null]);
  });
});

describe("the client's address", () => {
  test('is in the log where the operator asks for it, and in no other', async () => {
    expect((await logged({})).line.client).toBe('127.0.0.1');
    const silent = await TestServer.start();
    await send(silent, { path: paths.models, method: 'GET', headers: { 'x-request-id': 'here' } });
    expect(await silent.logged('here')).not.toHaveProperty('client');
    await silent.stop();
  });
});
