import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { editKeyFile } from '../../src/auth/key-file.ts';
import { revokeKey } from '../fixtures/key-files.ts';
import { samples } from '../fixtures/pictures.ts';
import { expectProblem, match, paths, send, twoPhotos } from './support/client.ts';
import { Home, idOf, TestServer, WorkerGate } from './support/server.ts';

/** How much a key may run at once, how much it has used, and that it can be revoked. */

const home = new Home();
const gate = new WorkerGate(home);
const narrow = home.key({ name: 'narrow', concurrent: 2 });
const [shop, rotated] = [home.key({ name: 'shop' }), home.key({ name: 'shop' })];
const limited = home.key({ name: 'limited', rate: 0.001, burst: 1 });
const server = await TestServer.forFile({ env: gate.env }, home);
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
