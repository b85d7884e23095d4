import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { editKeyFile } from '../../src/cli/key-edits.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { revokeKey } from '../fixtures/credentials.ts';
import { samples } from '../fixtures/images.ts';
import { expectProblem, paths, type Send, twoPhotos } from './support/client.ts';
import { Home, idOf, TestServer } from './support/server.ts';

/** Tests the limit, use and revocation of a key, Authorization headers, traces, and logged client IP addresses. */

const home = new Home();
const narrow = home.key({ name: 'narrow', concurrent: 2 });
const [shop, rotated] = [home.key({ name: 'shop' }), home.key({ name: 'shop' })];
const limited = home.key({ name: 'limited', rate: 0.001, burst: 1 });
const other = home.key();
const server = await TestServer.forFile({ env: { FACEMATCH_LOG_CLIENT: 'on' }, gate: 'open' }, home);
const { gate } = server;
afterEach(() => gate.open());

/** Sets a key's limit, and resolves when the server has read it. */
async function limit(key: string): Promise<void> {
  editKeyFile(home.keysFile, (records) => ({
    records: records.map((record) => (record.id === idOf(key) ? { ...record, concurrent: 2 } : record)),
  }));
  await server.line(server.stderr, /the key file was reloaded/);
}

test.each([
  ['before the server starts', narrow, async () => {}],
  ['while requests are in flight', shop, limit],
])('rejects a request above a limit of in-flight requests that was set %s', async (_when, key, change) => {
  gate.close();
  const ask = () => server.match(twoPhotos(), { key });
  const running = [ask(), ask()];
  await server.metricBecomes('facematch_requests_in_flight', 2);
  await change(key);
  const rejected = await ask();
  expectProblem(rejected, 'rate_limit_exceeded', { detail: expect.stringMatching(/2 concurrent requests/) });
  expect(rejected.headers.get('retry-after')).toBe('1');
  // The rejected request used no token.
  expect(rejected.headers.get('ratelimit')).toMatch(/r=(998|999|1000);/);
  const another = server.match(twoPhotos(), { key: other });
  gate.open();
  expect((await Promise.all([...running, another])).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await ask()).status).toBe(200);
});

test('stops counting a request as in flight when it is rejected or its client disconnects', async () => {
  for (let sent = 0; sent < 3; sent++) {
    expect((await server.match({}, { key: narrow })).status).toBe(400);
    const leaving = new AbortController();
    gate.close();
    const left = server.match(twoPhotos(), { key: narrow, signal: leaving.signal }).catch(() => 'left');
    await server.metricBecomes('facematch_requests_in_flight', 1);
    leaving.abort();
    expect(await left).toBe('left');
    await server.metricBecomes('facematch_requests_in_flight', 0);
    gate.open();
  }
  expect((await server.match(twoPhotos(), { key: narrow })).status).toBe(200);
});

test('counts use by the name of the key', async () => {
  const counted = ['requests', 'images', 'comparisons'];
  const used = async (key: string) =>
    Promise.all(counted.map((what) => server.metric(`facematch_key_${what}_total{key="${key}"}`)));
  const before = await used('shop');
  const image2 = [samples.three, samples.one, Buffer.from('no image')];
  await server.match({ image1: samples.one, image2 }, { path: paths.many, key: shop });
  await server.match(twoPhotos(), { key: rotated });
  await server.match({}, { key: rotated });
  await server.getModels({ key: rotated });
  expect(await used('shop')).toEqual([4, 6, 3].map((more, index) => before[index]! + more));

  const status = async () => (await server.getModels({ key: limited })).status;
  expect([await status(), await status()]).toEqual([200, 429]);
  expect((await used('limited'))[0]).toBe(1);
});

test('applies a revocation once a file descriptor is available to read it', async () => {
  const descriptors = (max: number) =>
    execFileSync('prlimit', ['--pid', String(server.child.pid), `--nofile=${max}:`]);
  // Opens the connection to the admin listener that later requests for metrics use.
  await server.metricBecomes('facematch_key_file_stale', 0);
  descriptors(1);
  try {
    revokeKey(home.keysFile, idOf(rotated));
    await server.metricBecomes('facematch_key_file_stale', 1);
  } finally {
    descriptors(1024);
  }
  await server.metricBecomes('facematch_key_file_stale', 0);
  expectProblem(await server.getModels({ key: rotated }), 'invalid_api_key');
  expect(server.stderr.filter((line) => line.includes('(EMFILE)'))).toHaveLength(1);
});

const askModels = (headers: Record<string, string>, key: Send['key'] = null) =>
  server.getModels({ key, headers });
const logged = async (headers: Record<string, string>) => {
  const { status, headers: responseHeaders } = await askModels(headers, server.key);
  expect(status).toBe(200);
  return { line: await server.logged(responseHeaders.get('x-request-id')!), responseHeaders };
};

const bearer = `Bearer ${server.key}`;
const jwt = 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2ln';
test.each<[what: string, authorization: string, key: Send['key'], code?: ErrorCode]>([
  ...['Bearer', 'bearer', 'BEARER', 'Bearer  '].map((scheme): [string, string, null] => [
    `may have a key after ${scheme}`,
    `${scheme} ${server.key}`,
    null,
  ]),
  ['may have the same key as x-api-key', bearer, server.key],
  ['is rejected with another key than x-api-key', bearer, other, 'invalid_api_key'],
  ['is rejected next to an invalid x-api-key', bearer, 'wrong', 'invalid_api_key'],
  ...[jwt, 'Bearer fm_x_y', 'bearer a b', 'Basic eDp5'].map((header): [string, string, string] => [
    `is ignored next to x-api-key: ${header}`,
    header,
    server.key,
  ]),
  ['is ignored with another scheme', 'Basic eDp5', null, 'missing_api_key'],
  ['is rejected like x-api-key', 'Bearer wrong', null, 'invalid_api_key'],
  ['is rejected like x-api-key if it has a blank', 'Bearer a b', null, 'invalid_api_key'],
])('Authorization %s', async (_what, authorization, key, code) => {
  const response = await askModels({ authorization }, key);
  if (code === undefined) expect(response.status).toBe(200);
  else expectProblem(response, code);
});

describe('a traceparent', () => {
  const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent_id = '00f067aa0ba902b7';

  test.each([
    [`00-${trace_id}-${parent_id}-01`, `00-${trace_id}-${parent_id}-01`],
    // Only the fields of version 00 are returned for a later version.
    [`cc-${trace_id}-${parent_id}-00-more`, `00-${trace_id}-${parent_id}-00`],
  ])('is logged and returned: %s', async (traceparent, back) => {
    const { line, responseHeaders } = await logged({ traceparent });
    expect([line.trace_id, responseHeaders.get('traceparent')]).toEqual([trace_id, back]);
  });

  test.each([
    `ff-${trace_id}-${parent_id}-01`,
    `00-${'0'.repeat(32)}-${parent_id}-01`,
    `00-${trace_id}-${'0'.repeat(16)}-01`,
    `00-${trace_id}-${parent_id}-01-more`,
    `00-${trace_id.toUpperCase()}-${parent_id}-01`,
    `00-${trace_id}-${parent_id}`,
    'x',
  ])('is ignored: %s', async (traceparent) => {
    const { line, responseHeaders } = await logged({ traceparent });
    expect([line.trace_id, responseHeaders.get('traceparent')]).toEqual([undefined, null]);
  });
});

test("logs the client's IP address only if the operator enabled it", async () => {
  expect((await logged({})).line.client).toBe('127.0.0.1');
  const silent = await TestServer.forTest();
  const { headers } = await silent.getModels();
  expect(await silent.logged(headers.get('x-request-id')!)).not.toHaveProperty('client');
});
