import { describe, expect, test } from 'vitest';
import {
  chunk,
  formBytes,
  lastChunk,
  paths,
  photoForm,
  RawClient,
  twoPhotos,
} from '../server/support/client.ts';
import { TestServer, transport } from '../server/support/server.ts';

/**
 * Tests request headers and framings as networks, proxies and clients send them, CORS, and the admin listener.
 * vitest.config.ts runs the tests on each HTTP server. docs/research/uws.md lists what µWS does not accept.
 */

const server = await TestServer.forFile({
  env: { FACEMATCH_CORS_ORIGINS: 'https://app.example', FACEMATCH_ADMIN_HOSTS: 'server,Admin.example' },
});

/** Expected result by HTTP server: a status, or undefined for a connection without a response. */
type Statuses = Readonly<Record<typeof transport, number | undefined>>;
const everywhere = (status: number): Statuses => ({ node: status, uws: status });

const get = (lines = '', version = '1.1') =>
  server.requestHeaders({}, `GET ${paths.models} HTTP/${version}`).replace(/\r\n$/, `${lines}\r\n`);
const fields = (count: number) => Array.from({ length: count }, (_item, at) => `x-${at}: 1\r\n`).join('');
const cookie = (length: number) => `cookie: ${'c'.repeat(length)}\r\n`;

/** Writes pieces of the size of Ethernet frames, each in a separate packet. */
async function writePieces(client: RawClient, text: string): Promise<void> {
  client.socket.setNoDelay(true);
  for (let at = 0; at < text.length && !client.socket.destroyed; at += 1400) {
    await new Promise((written) => client.socket.write(text.slice(at, at + 1400), 'latin1', written));
    await new Promise(setImmediate);
  }
}

/** Resolves to the first final status, or to undefined if the connection ends without one. */
async function statusOf(client: RawClient): Promise<number | undefined> {
  const status = () => Number(/^HTTP\/1\.1 ([2-5]\d\d)/m.exec(client.text)?.[1] ?? 0);
  await Promise.race([client.closed, client.until(() => status() > 0)]);
  return status() || undefined;
}

describe('request headers', () => {
  test.each<[what: string, text: string, statuses: Statuses]>([
    ['of 15 kB', get(cookie(15_000)), everywhere(200)],
    ['with 98 fields', get(fields(95)), everywhere(200)],
    ['with 100 fields', get(fields(97)), { node: 200, uws: 431 }],
    ['of HTTP/1.0', get('', '1.0'), { node: 200, uws: 505 }],
    ['with _ in a name', get('x_y: 1\r\n'), everywhere(200)],
    ['with . in a name', get('x.y: 1\r\n'), everywhere(200)],
    ['with a blank before a colon', get('x : 1\r\n'), everywhere(400)],
    ['with a folded line', get('x: 1\r\n 2\r\n'), everywhere(400)],
    ['with an empty line before it', `\r\n${get()}`, { node: 200, uws: undefined }],
    ['without Host', get().replace(/host: .*\r\n/, ''), everywhere(400)],
    ['with two Host headers', get('Host: b\r\n'), everywhere(400)],
    ['with an upgrade to another protocol', get('connection: upgrade\r\nupgrade: h2c\r\n'), everywhere(200)],
    ['of CONNECT', 'CONNECT a:443 HTTP/1.1\r\nhost: a\r\n\r\n', { node: 405, uws: 505 }],
    ['that are a TLS handshake', '\x16\x03\x01\x02\0\x01\0\r\n\r\n', { node: 400, uws: 505 }],
    ['with two framings', server.chunkedHeaders({ 'content-length': '5' }) + lastChunk, everywhere(400)],
  ])(
    'get the expected response, or are counted if µWS drops them: %s',
    async (_what, text, { [transport]: status }) => {
      const silent = 'facematch_connections_without_request_total';
      const before = await server.metric(silent);
      const client = new RawClient(server.port);
      await writePieces(client, text);
      if (status === undefined) client.socket.end();
      expect(await statusOf(client)).toBe(status);
      client.leave();
      if (status === undefined) await server.metricBecomes(silent, before + 1);
    },
  );

  test('are rejected if they are larger than µWS reads at once; a reset may overtake the response', async () => {
    const client = new RawClient(server.port);
    await writePieces(client, get(cookie(600_000)));
    expect([431, undefined]).toContain(await statusOf(client));
    client.leave();
  });
});

describe('a chunked body', () => {
  // A text field looks like a request. A server that miscounts the bytes would serve it.
  const body = formBytes({ ...twoPhotos(), note: server.getRequest() });
  const chunked = server.chunkedHeaders();
  const size = body.length.toString(16);
  const upload = (first: string, last: string) =>
    Buffer.concat([Buffer.from(chunked + first), body, Buffer.from(`\r\n${last}`)]);

  test('closes the connection on µWS, which reads chunks leniently; node:http keeps it', async () => {
    const client = new RawClient(server.port);
    client.write(Buffer.concat([Buffer.from(chunked), chunk(body), Buffer.from(lastChunk)]));
    const { status, headers } = await client.response();
    expect([status, headers.get('connection')]).toEqual([200, transport === 'node' ? 'keep-alive' : 'close']);
    if (transport === 'node') client.leave();
    else await client.closed;
  });

  test.each<[what: string, bytes: Buffer, statuses: Statuses]>([
    ['an extension', upload(`${size};a="b"\r\n`, lastChunk), { node: 200, uws: 400 }],
    ['a trailer', upload(`${size}\r\n`, '0\r\nx: 1\r\n\r\n'), { node: 200, uws: 505 }],
    ['a bare LF after a size', upload(`${size}\n`, lastChunk), { node: 400, uws: 200 }],
    ['an invalid size', upload('zz\r\n', lastChunk), everywhere(400)],
  ])(
    'gets the expected status if it has %s, and no part of it is read as another request',
    async (_what, bytes, { [transport]: status }) => {
      const client = new RawClient(server.port);
      client.write(bytes);
      expect(await statusOf(client)).toBe(status);
      const isKept = transport === 'node' && status === 200;
      if (isKept) client.write(server.requestHeaders({}, 'GET /nowhere HTTP/1.1'));
      await (isKept ? client.until(() => client.text.includes('"not_found"')) : client.closed);
      const statuses = [...client.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
      expect(statuses).toEqual(isKept ? [200, 404] : [status]);
      client.leave();
    },
  );
});

test.each(['100-continue', '100-Continue', '100-CONTINUE'])(
  'sends 100 Continue for the expectation %s',
  async (expectation) => {
    const body = photoForm();
    const client = new RawClient(server.port);
    client.write(server.lengthHeaders(body.length, { expect: expectation }));
    await client.until(() => client.text.includes('\r\n\r\n'));
    expect(client.text).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    client.write(body);
    const { status, headers, body: response } = await client.response();
    expect([status, response.match, headers.get('x-request-id')]).toEqual([200, true, response.request_id]);
    client.leave();
  },
);

test('serves a request that invalid bytes follow on node:http, and responds with 505 on µWS', async () => {
  const client = new RawClient(server.port);
  client.write(Buffer.concat([server.photoRequest(), Buffer.from('\0 behind\r\n\r\n')]));
  expect(await statusOf(client)).toBe(transport === 'node' ? 200 : 505);
  await client.closed;
});

describe('a page of another origin', () => {
  const preflight = (origin: string, asked?: string) => {
    const requestHeaders = asked === undefined ? {} : { 'access-control-request-headers': asked };
    const headers = { origin, 'access-control-request-method': 'POST', ...requestHeaders };
    return server.send({ method: 'OPTIONS', path: paths.match, key: null, headers });
  };
  const own = 'x-api-key, authorization, x-request-id, traceparent, content-type';

  test('may send a preflight', async () => {
    const { status, headers } = await preflight('https://app.example');
    expect(status).toBe(204);
    expect(Object.fromEntries(headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': own,
      vary: 'Access-Control-Request-Headers, Origin',
    });
  });

  const longList = `${Array.from({ length: 256 }, (_item, at) => `x-header-${1000 + at}-x`).join()}y`;
  test.each([
    ['the headers that its libraries add', 'baggage,cache-control,tracestate,x-api-key,x-requested-with'],
    ['names with spaces around them, and empty list items', " x-a ,, X_b!#$%&'*+.^`|~9\t,"],
    ['a list of the maximum length', longList],
    ['a list that is too long (gets the defaults)', `${longList}x`, own],
    ['an invalid name (gets the defaults)', 'x-api-key,x a', own],
    ['a quoted name (gets the defaults)', 'x-api-key,"x"', own],
    ['nothing', ' ,', own],
  ])('is allowed to send the headers that it requests: %s', async (_what, asked, expected = asked) => {
    const { status, headers } = await preflight('https://app.example', asked);
    const names = expected.split(',').map((name) => name.trim());
    const allowed = headers.get('access-control-allow-headers');
    expect([status, allowed]).toEqual([204, names.filter(Boolean).join(', ')]);
  });

  test('may read responses and rejections', async () => {
    const headers = { origin: 'https://app.example' };
    const responses = [
      await server.match(twoPhotos(), { headers }),
      await server.match(twoPhotos(), { headers, key: null }),
      await server.send({ path: '/nowhere', headers }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 404]);
    for (const response of responses) {
      expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
      expect(response.headers.get('access-control-expose-headers')).toContain('RateLimit');
    }
  });

  test('gets no CORS headers, and 405 for its preflight, if it is not allowed', async () => {
    const response = await preflight('https://evil.example', 'x-requested-with');
    expect(response.status).toBe(405);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(response.headers.get('access-control-allow-headers')).toBeNull();
  });

  test('gets CORS headers only if it sends an Origin; otherwise responses have only Vary', async () => {
    const { headers } = await server.match(twoPhotos());
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('vary')).toBe('Origin');
  });
});

describe('the admin listener', () => {
  const get = (path: string, method = 'GET') => fetch(server.adminOrigin + path, { method });

  test('responds to HEAD, and returns problem details for other methods and paths', async () => {
    expect((await get('/healthz', 'HEAD')).status).toBe(200);
    const post = await get('/healthz', 'POST');
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const nowhere = await get('/API/v1.0/models');
    expect(nowhere.headers.get('content-type')).toBe('application/problem+json');
    expect(await nowhere.json()).toMatchObject({ status: 404, code: 'not_found' });
  });

  const own = ['127.0.0.1:9090', '10.1.2.3', '[::1]:9090', 'LOCALHOST.:80', 'server:9090', 'admin.example'];
  const evil = ['evil.example:9090', 'evil.example', 'server.evil.example', '127.0.0.1.evil.example'];
  test.each([...own, ...evil, '::1', '127.1', '['])('checks the host %s', async (host) => {
    const client = new RawClient(Number(new URL(server.adminOrigin).port));
    client.write(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const { status, body } = await client.response();
    expect(status).toBe(own.includes(host) ? 200 : 403);
    if (status === 403) expect(body.detail).toContain('FACEMATCH_ADMIN_HOSTS');
    client.leave();
  });
});
