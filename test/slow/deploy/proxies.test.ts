import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, type Dispatcher, request } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { type ErrorCode, errorTable } from '../../../src/errors.ts';
import { jsonLimit } from '../../../src/http/body/kinds.ts';
import { problemTypes } from '../../../src/http/responses.ts';
import { hasOpenssl, makePair, type Pair } from '../../fixtures/credentials.ts';
import { run } from '../../server/support/cli.ts';
import { connectTls, formType, type Json, paths, photoForm, RawClient } from '../../server/support/client.ts';
import { redisInstalled } from '../../server/support/redis.ts';
import { TestServer, withCache } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests the sample proxy configurations of deploy/ with the real programs. */

const { freePorts, startProgram } = await import(projectPath('test/support/programs.mjs'));
const nginx = await import(projectPath('test/support/nginx.mjs'));
const { hasNginx, PATH, sample } = nginx;
if (!hasNginx) process.stderr.write('deploy/nginx.conf is not tested: nginx is not installed\n');
const hasCaddy = spawnSync('caddy', ['version']).status === 0;
if (!hasCaddy) process.stderr.write('deploy/Caddyfile is not tested: caddy is not installed\n');
const hasHaproxy = spawnSync('haproxy', ['-v'], { env: { PATH } }).status === 0;
if (!hasHaproxy) process.stderr.write('deploy/haproxy.cfg is not tested: haproxy is not installed\n');

type Changes = readonly (readonly [string, string])[];
type Behind = readonly Pick<TestServer, 'port' | 'adminOrigin'>[];

/**
 * Runs deploy/nginx.conf with one allowed page origin. With `ca`, it uses TLS to the servers and trusts certificates
 * of that CA.
 */
function startNginx(servers: Behind, changes: Changes = [], ca?: string) {
  const ports = servers.map(({ port }) => port);
  return nginx.startNginx({ folder: newFolder(), pair, servers: ports, ca, changes: [cors, ...changes] });
}

/** Runs deploy/Caddyfile with the test's host, certificate and servers. */
async function startCaddy(servers: Behind, changes: Changes = []) {
  const [port] = await freePorts(1);
  const folder = newFolder();
  const file = join(folder, 'Caddyfile');
  const to = servers.map((one) => `127.0.0.1:${one.port}`).join(' ');
  const text = sample('Caddyfile', [
    ['facematch.example {', `https://localhost:${port} {`],
    ['# tls /etc/facematch/tls.crt /etc/facematch/tls.key', `tls ${pair.cert} ${pair.key}`],
    ['to 127.0.0.1:8080', `to ${to}`],
    // Otherwise Caddy would also listen on port 80, to redirect browsers.
    ['# admin off', 'admin off\n\tauto_https disable_redirects'],
    ...changes,
  ]);
  writeFileSync(file, text);
  // Caddy reports its startup on standard error.
  const args = ['-c', 'exec caddy "$@" 2>&1', 'sh', 'run', '--config', file, '--adapter', 'caddyfile'];
  const ready = /serving initial configuration/;
  return { port, ...(await startProgram('sh', args, { ready, env: { HOME: folder } })) };
}

/** Runs deploy/haproxy.cfg with the test's ports, certificate and servers. */
async function startHaproxy(servers: Behind, changes: Changes = [], ca?: string) {
  const [port] = await freePorts(1);
  const folder = newFolder();
  const tls = [
    ['# default-server ssl', 'default-server ssl'],
    ['/etc/facematch/ca.crt', ca],
  ];
  const [file, pem] = [join(folder, 'haproxy.cfg'), join(folder, 'tls.pem')];
  writeFileSync(pem, readFileSync(pair.cert, 'utf8') + readFileSync(pair.key, 'utf8'));
  const lines = servers.map(
    (one, at) => `server s${at} 127.0.0.1:${one.port} port ${new URL(one.adminOrigin).port}`,
  );
  const text = sample('haproxy.cfg', [
    ['bind :443 ssl crt /etc/facematch/tls.pem', `bind 127.0.0.1:${port} ssl crt ${pem}`],
    ['server one 127.0.0.1:8080', lines.join('\n    ')],
    ...(ca === undefined ? [] : tls),
    ...changes,
  ]);
  writeFileSync(file, text);
  const args = ['-c', 'exec haproxy "$@" 2>&1', 'sh', '-W', '-f', file];
  return { port, ...(await startProgram('sh', args, { ready: /Loading success/, env: { PATH } })) };
}

const MiB = 1024 * 1024;
const body = photoForm();
const cors = ['# https://app.example $http_origin;', 'https://app.example $http_origin;'] as const;
/** Headers of a rejection that are the same from the proxy and the server. */
const lastingHeaders = [
  'content-type',
  'cache-control',
  'x-content-type-options',
  'x-request-id',
  'vary',
  'access-control-allow-origin',
  'access-control-expose-headers',
];
let pair: Pair;
let dispatcher: Agent;
beforeAll(() => {
  if (!hasOpenssl) return;
  pair = makePair(newFolder(), 'one');
  dispatcher = new Agent({ connect: { ca: readFileSync(pair.cert) } });
  return () => dispatcher.close();
});

interface Sent {
  body?: Uint8Array;
  headers?: Record<string, string | string[]>;
  method?: Dispatcher.HttpMethod;
  path?: string;
}

/** Sends requests through a proxy, or to a server itself. */
async function post(to: number | TestServer, key: string, sent: Sent = {}) {
  const [url, options]: [string, { dispatcher?: Dispatcher }] =
    typeof to === 'number' ? [`https://localhost:${to}`, { dispatcher }] : [to.origin, {}];
  const { method = 'POST', path = paths.match } = sent;
  const headers = { 'x-api-key': key, 'content-type': formType, ...sent.headers };
  const response = await request(url + path, { method, ...options, headers, body: sent.body ?? body });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: (await response.body.json()) as Json,
  };
}

const zeros = (bytes: number): Sent => ({ body: Buffer.alloc(bytes) });
const asJson = { 'content-type': 'application/json' };
const asPage = { origin: 'https://app.example' };
const config = readConfig({});
/** Maximum body size that the server accepts with default settings. */
const maxJsonBytes = jsonLimit(config);

const env = {
  FACEMATCH_TRUSTED_HOPS: '1',
  FACEMATCH_AUTH_FAILURE_BURST: '3',
  FACEMATCH_AUTH_FAILURES_PER_MINUTE: '1',
  FACEMATCH_CORS_ORIGINS: asPage.origin,
};
/** The second server behind each proxy. No test stops it. */
const second = await TestServer.forFile({ env: { ...env, ...withCache } });
const { key } = second;

/** Starts the first server behind a proxy, with the keys of the second, and a gate for its workers. */
const startFirst = (more: Record<string, string> = {}) =>
  TestServer.start({ env: { ...env, FACEMATCH_KEYS_FILE: second.home.keysFile, ...more }, gate: 'open' });

describe.skipIf(!hasNginx || !hasOpenssl)('nginx with the sample', () => {
  let first: TestServer;
  let proxy: { port: number; stop(): Promise<void> };
  beforeAll(async () => {
    first = await startFirst({ FACEMATCH_QUEUE_CAPACITY: '0' });
    proxy = await startNginx([first, second]);
    return () => Promise.all([proxy.stop(), first.stop()]);
  });

  test('retries on the other server after a 503, so that the client gets a 200', async () => {
    const rejected = () => first.metric('facematch_rejections_total{reason="load",code="overloaded"}');
    first.gate.close();
    // The only worker of the first server waits at the gate, and the queue is full.
    const waiting = post(first, key);
    await first.metricBecomes('facematch_workers_busy', 1);
    const before = await rejected();
    for (let count = 0; count < 6; count++) expect((await post(proxy.port, key)).status).toBe(200);
    expect(await rejected()).toBeGreaterThan(before);
    first.gate.open();
    await waiting;
  });

  test('rejects a body above its limit like the server', async () => {
    const large = { body: Buffer.alloc(28 * MiB), headers: { ...asPage, 'x-request-id': 'mine' } };
    const ours = await post(second, key, large);
    const rejected = await post(proxy.port, key, large);
    // The proxy does not know how many bytes arrived.
    const { detail, ...others } = ours.body;
    expect(detail).toContain(String(large.body.length));
    expect(rejected).toMatchObject({ status: 413, body: others });
    expect(Object.keys(rejected.body).sort()).toEqual(Object.keys(ours.body).sort());
    for (const name of lastingHeaders)
      expect([name, rejected.headers[name]]).toEqual([name, ours.headers[name]]);
  });

  test("forwards bodies of the server's maximum size, and one byte more, which the server rejects", async () => {
    for (const [size, headers, code] of [
      [config.max_body_bytes, {}, 'invalid_multipart'],
      [config.max_body_bytes + 1, {}, 'body_too_large'],
      [maxJsonBytes, asJson, 'invalid_json'],
      [maxJsonBytes + 1, asJson, 'body_too_large'],
    ] as const) {
      const response = await post(proxy.port, key, { ...zeros(size), headers });
      expect([size, response.body.code]).toEqual([size, code]);
      // The key's rate limit shows that the server responded.
      expect(response.headers).toHaveProperty('ratelimit');
    }
  });

  test('forwards headers of 15 KiB, and replaces an invalid request id', async () => {
    const headers = { 'x-long': 'x'.repeat(15 * 1024), 'x-request-id': 'not ours' };
    const response = await post(proxy.port, key, { headers });
    expect(response.status).toBe(200);
    expect(response.body.request_id).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ['malformed headers', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    ['no path', 'GET\r\n\r\n', 400],
    ['a header of 20 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20 * 1024)}\r\n\r\n`, 400],
    ['a URL that is too long', `GET /${'x'.repeat(20 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['an unsupported transfer coding', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n', 501],
    ['an unknown HTTP version', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n', 505],
    ["a request for its problem page's path", 'GET /facematch-problem HTTP/1.1\r\nHost: x\r\n\r\n', 404],
  ])('responds with a JSON problem for %s', async (_what, sent, status) => {
    const client = new RawClient(await connectTls(proxy.port, { servername: 'localhost' }));
    client.write(sent);
    const response = await client.response();
    client.leave();
    expect([response.status, response.body.status, response.body.type]).toEqual([
      status,
      status,
      'about:blank',
    ]);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('strict-transport-security')).toContain('max-age=');
  });

  test('buffers the body of a slow sender, so that the server receives nothing until it is complete', async () => {
    const client = new RawClient(await connectTls(proxy.port, { servername: 'localhost' }));
    const received = () =>
      Promise.all([first, second].map((one) => one.metric('facematch_upload_memory_bytes')));
    client.write(first.lengthHeaders(body.length, { 'x-api-key': key }));
    client.write(body.subarray(0, 50_000));
    // The proxy serves a later connection in the meantime.
    expect((await post(proxy.port, key)).status).toBe(200);
    expect(await received()).toEqual([0, 0]);
    client.write(body.subarray(50_000));
    expect((await client.response()).body).toMatchObject({ match: true });
    client.leave();
  });
});

describe.skipIf(!hasOpenssl)('TLS to the upstream server', () => {
  let server: TestServer;
  let other: Pair;
  beforeAll(async () => {
    other = makePair(newFolder(), 'two');
    const tls = { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key };
    server = await TestServer.start({ env: tls });
    return () => server.stop();
  });

  test.for([
    { name: 'nginx', has: hasNginx, start: startNginx },
    { name: 'HAProxy', has: hasHaproxy, start: startHaproxy },
  ])('needs the configured certificate: $name', async ({ has, start }, { skip }) => {
    skip(!has);
    for (const [ca, status] of [
      [pair.cert, 200],
      [other.cert, 503],
    ] as const) {
      const proxy = await start([server], [], ca);
      expect((await post(proxy.port, server.key)).status).toBe(status);
      await proxy.stop();
    }
  });
});

/** Checks a problem that a page of an allowed origin gets, from the proxy or the server. */
function expectProblemOf(response: Awaited<ReturnType<typeof post>>, code: ErrorCode): void {
  expect(response.body).toMatchObject({
    code,
    status: errorTable[code].status,
    title: errorTable[code].title,
  });
  expect(response.body.type).toBe(problemTypes + code);
  expect(response.status).toBe(errorTable[code].status);
  expect(response.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'x-request-id': response.body.request_id,
    'access-control-allow-origin': asPage.origin,
    'strict-transport-security': expect.stringContaining('max-age='),
  });
}

interface Sample {
  name: string;
  has: boolean;
  start: (servers: Behind, changes: Changes) => Promise<{ port: number; stop(): Promise<void> }>;
  /** Change that makes the proxy wait only 2 s. */
  late: Changes[number];
  /** Change that makes the proxy allow one connection per IP address. */
  crowded?: Changes[number];
  /** Responses that clients may get after one of two servers has stopped. */
  afterStop: readonly number[];
}

const samples: readonly Sample[] = [
  {
    name: 'nginx',
    has: hasNginx,
    start: startNginx,
    late: ['proxy_read_timeout 15s;', 'proxy_read_timeout 2s;'],
    crowded: ['limit_conn facematch_clients 64;', 'limit_conn facematch_clients 1;'],
    afterStop: [200],
  },
  {
    name: 'Caddy',
    has: hasCaddy,
    start: startCaddy,
    late: ['response_header_timeout 15s', 'response_header_timeout 2s'],
    // Caddy checks the servers every two seconds, and cannot resend a body.
    afterStop: [200, 503],
  },
  {
    name: 'HAProxy',
    has: hasHaproxy,
    start: startHaproxy,
    late: ['timeout server 15s', 'timeout server 2s'],
    crowded: ['sc_conn_cur(0) gt 64', 'sc_conn_cur(0) gt 1'],
    afterStop: [200],
  },
];
const ask = { headers: { ...asPage, 'x-request-id': 'mine' } };

describe.for(samples)('the sample for $name', ({ has, start, late, crowded, afterStop }) => {
  const canRun = has && hasOpenssl;
  const testHere = test.skipIf(!canRun);
  let first: TestServer;
  let port: number;
  /** The port of a proxy with only the first server. */
  let lonePort: number;
  beforeAll(async () => {
    if (!canRun) return;
    first = await startFirst();
    const proxies = [await start([first, second], []), await start([first], [late])];
    [port, lonePort] = proxies.map((proxy) => proxy.port) as [number, number];
    return () => Promise.all([...proxies.map((proxy) => proxy.stop()), first.stop()]);
  });

  testHere('serves matches over TLS, and forwards rejections', async () => {
    const response = await post(port, key, ask);
    expect(response).toMatchObject({ status: 200, body: { match: true } });
    expect(response.headers['x-request-id']).toBe(response.body.request_id);
    expect(response.headers['strict-transport-security']).toContain('max-age=');
    expect(response.headers['access-control-allow-origin']).toBe(asPage.origin);

    for (const [size, headers, code] of [
      [28 * MiB, {}, 'body_too_large'],
      [maxJsonBytes, asJson, 'invalid_json'],
    ] as const) {
      const rejected = await post(port, key, { ...zeros(size), headers: { ...headers, ...asPage } });
      expectProblemOf(rejected, code);
    }
  });

  testHere('counts clients by their IP address', async () => {
    // The proxy appends 127.0.0.1, and only this IP address is counted, whatever the client sent.
    const heard = new Set<number>();
    const tryKey = (from: string) => ({ headers: { 'x-forwarded-for': from } });
    for (let count = 0; count < 12; count++)
      heard.add((await post(port, 'wrong', tryKey(`192.0.2.${count}`))).status);
    expect(heard).toEqual(new Set([401, 429]));
    expect((await post(first, 'wrong', tryKey('192.0.2.99'))).status).toBe(401);
  });

  testHere('responds to pages itself if the server does not respond', async () => {
    first.gate.close();
    expectProblemOf(await post(lonePort, key, ask), 'deadline_exceeded');
    first.gate.open();
  });

  testHere('skips a stopped server', async () => {
    await first.stop();
    const after: number[] = [];
    while (after.slice(-8).filter((status) => status === 200).length < 8)
      after.push((await post(port, key)).status);
    expect(after.filter((status) => !afterStop.includes(status))).toEqual([]);
  });

  testHere('responds to pages itself if the server is down', async () => {
    await first.stop();
    const own = await post(second, 'wrong', ask);
    const response = await post(lonePort, key, ask);
    expectProblemOf(response, 'not_ready');
    expect(response.headers).toMatchObject({
      'retry-after': '1',
      'access-control-expose-headers': own.headers['access-control-expose-headers'],
    });
    // A request id that could break out of the JSON is replaced, whichever of several headers is used.
    const headers = { origin: 'https://other.example', 'x-request-id': ['"', 'mine', '"'] };
    const otherSite = await post(lonePort, key, { headers });
    expect(otherSite.body.request_id).toMatch(/^[0-9a-f-]{32,36}$/);
    expect(otherSite.headers).not.toHaveProperty('access-control-allow-origin');
  });

  if (crowded === undefined) return;
  testHere('reports too many connections to pages', async () => {
    const proxy = await start([second], [crowded]);
    onTestFinished(() => proxy.stop());
    const client = new RawClient(await connectTls(proxy.port, { servername: 'localhost' }));
    client.write(second.lengthHeaders(body.length, { expect: '100-continue' }));
    await client.until(() => client.text.includes('100 Continue'));
    const rejected = await post(proxy.port, key, { headers: asPage });
    client.leave();
    expectProblemOf(rejected, 'rate_limit_exceeded');
    expect(rejected.headers['retry-after']).toBe('1');
  });
});

/** Runs the example of docs/replicas.md on a small scale. */
test.skipIf(!redisInstalled || !hasNginx)(
  'keeps one limit for three replicas behind nginx, and loses no request when one or Redis is killed, or all are replaced',
  async () => {
    const proof = projectPath('deploy/replicas/prove.mjs');
    const { code, stdout, stderr } = await run(proof, ['--seconds', '1', '--json'], projectPath('.'));
    expect(stderr).toBe('');
    const { claims } = JSON.parse(stdout) as { claims: { ok: boolean }[] };
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(claims).toHaveLength(7);
    expect(code).toBe(0);
  },
);
