import type { Sharp } from 'sharp';
import { beforeEach, describe, expect, test } from 'vitest';
import { samples } from '../fixtures/images.ts';
import {
  chunk,
  expectProblem,
  formType,
  type Json,
  lastChunk,
  paths,
  photoForm,
  RawClient,
  twoPhotos,
} from '../server/support/client.ts';
import { Home, TestServer, transport, withCache } from '../server/support/server.ts';
import { cutOuts } from '../support/portraits.mjs';

/** Tests bodies that arrive in pieces, late or incompletely. */

const body = photoForm();
const home = new Home();
const otherKey = home.key();
const shortTimeouts = { FACEMATCH_UPLOAD_TIMEOUT_MS: '1500', FACEMATCH_UPLOAD_IDLE_TIMEOUT_S: '1' };
const env = { ...shortTimeouts, ...withCache, FACEMATCH_UPLOAD_MEMORY_BYTES: '40000000' };
const server = await TestServer.forFile({ env }, home);
const whole = server.photoRequest();

let client: RawClient;
beforeEach(() => {
  client = new RawClient(server.port);
  return () => client.socket.destroy();
});

test.each<[string, Record<string, string>, string[]]>([
  ['?threshold_percent=100&utm=1&threshold_percent=2', {}, ['query_parameter_ignored threshold_percent']],
  ['?thresholdPercent=100', {}, ['query_parameter_ignored threshold_percent']],
  ['?accuracy%5Fmode=fast&face_index=1', {}, ['query_parameter_ignored accuracy_mode']],
  ['?', { threshold_percent: '0.999' }, ['threshold_below_one threshold_percent']],
  ['', { threshold_percent: '1' }, []],
  ['', { threshold_percent: '0' }, []],
])('warns about ignored or ambiguous fields: %s %j', async (query, fields, warnings) => {
  const { body } = await server.match({ ...twoPhotos(), ...fields }, { path: paths.match + query });
  expect(body.warnings.map(({ code, field }: Json) => `${code} ${field}`)).toEqual(warnings);
});

test('accepts photos under list names, and rejects a file under an unknown name', async () => {
  const photos = [samples.three, samples.one];
  const lists = [{ 'image2[]': photos }, { 'image2[0]': photos[0]!, 'image2[1]': photos[1]! }];
  for (const list of lists) {
    const { body } = await server.match({ image1: samples.one, ...list }, { path: paths.many });
    expect(body).toMatchObject({ matches: 2, results: [{ index: 0 }, { index: 1 }] });
  }
  const ignored = await server.match({ ...twoPhotos(), 'image2[]': samples.one });
  expectProblem(ignored, 'unknown_file', { field: 'image2[]' });
  expect(await server.logged(ignored.body.request_id)).not.toHaveProperty('field');
});

describe('a body', () => {
  test.each([
    ['in one packet with its headers', []],
    ['split anywhere, even in its headers', [3, 60, 300, 301, 100_000]],
  ])('is read if it arrives %s', async (_how, places) => {
    client.socket.setNoDelay(true);
    for (const [at, from] of [0, ...places].entries())
      await new Promise((written) => client.socket.write(whole.subarray(from, places[at]), written));
    expect((await client.response()).body).toMatchObject({ match: true });
  });

  test.each([1, 7, 1000, 100_000])('is read if it arrives in chunks of %i bytes', async (size) => {
    // Sends at most 200 chunks of this size and the rest in one chunk, because too many small chunks are rejected.
    const small = body.subarray(0, Math.min(body.length, size * 200));
    const chunks: Buffer[] = [];
    for (let at = 0; at < small.length; at += size)
      chunks.push(chunk(small.subarray(at, Math.min(at + size, small.length))));
    if (small.length < body.length) chunks.push(chunk(body.subarray(small.length)));
    client.write(server.chunkedHeaders());
    client.write(Buffer.concat([...chunks, Buffer.from(lastChunk)]));
    expect((await client.response()).body).toMatchObject({ match: true });
  });

  test('is rejected if it has too many small chunks, as a form and as JSON', async () => {
    const small = Buffer.from('1\r\na\r\n'.repeat(30_000));
    for (const [type, code] of [
      [formType, 'invalid_multipart'],
      ['application/json', 'invalid_json'],
    ] as const) {
      const bytes = Buffer.concat([Buffer.from(server.chunkedHeaders({ 'content-type': type })), small]);
      const detail = expect.stringContaining('larger chunks');
      expectProblem(await server.sendRaw(bytes), code, { detail });
    }
  });

  test.each([
    ['no Content-Length', server.requestHeaders()],
    ['only the last chunk', server.chunkedHeaders() + lastChunk],
  ])('is treated as an empty form if it has %s', async (_what, text) => {
    client.write(text);
    expect((await client.response()).body).toMatchObject({ status: 400, code: 'invalid_multipart' });
  });
});

describe('a connection', () => {
  test('serves many requests one after the other', async () => {
    for (let count = 1; count <= 3; count++) {
      client.write(whole);
      const responses = await client.responses(count);
      expect(responses[count - 1]!.body).toMatchObject({ match: true });
    }
  });

  test('serves a request after one that was rejected before its body arrived', async () => {
    client.write(server.lengthHeaders(body.length, { 'x-api-key': 'wrong' }));
    expect((await client.response()).body).toMatchObject({ code: 'invalid_api_key' });
    client.write(Buffer.concat([body, whole]));
    expect((await client.responses(2))[1]!.body).toMatchObject({ match: true });
  });

  test('serves pipelined requests in their order as long as each response is immediate', async () => {
    const asked = [paths.models, '/nowhere', paths.match, paths.models];
    client.write(asked.map((path) => server.getRequest(path)).join(''));
    const responses = await client.responses(4);
    expect(responses.map(({ status }) => status)).toEqual([200, 404, 405, 200]);
  });

  test('closes on µWS if a request follows a pending one, while node:http queues it', async () => {
    // Photos that this key has not sent before are analysed, so that the first request is pending for long enough.
    const pending = server.photoRequest({ 'x-api-key': otherKey });
    client.write(Buffer.concat([pending, pending]));
    if (transport === 'node') {
      for (const response of await client.responses(2)) expect(response.body).toMatchObject({ match: true });
    } else {
      await client.closed;
      expect(client.text).toBe('');
    }
    await server.metricBecomes('facematch_requests_in_flight', 0);
  });

  test.each(['close', 'TE, Close'])(
    'closes after the response, with Connection: close, if the client requests it: %s',
    async (connection) => {
      client.write(server.photoRequest({ connection }));
      const response = await client.response();
      expect(response.body).toMatchObject({ match: true });
      expect(response.headers.get('connection')).toBe('close');
      await client.closed;
    },
  );

  test.each<[what: string, path: string, status: number]>([
    ['a rejection', '/nowhere', 404],
    ['a response', paths.models, 200],
  ])('serves no request after one that closes it: %s', async (_what, path, status) => {
    const closing = server.requestHeaders({ connection: 'close' }, `GET ${path} HTTP/1.1`);
    client.write(closing + server.getRequest().repeat(2));
    await client.closed;
    const [response, ...others] = await client.responses(1);
    expect([response!.status, response!.headers.get('connection'), others]).toEqual([status, 'close', []]);
    expect(client.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});

test.each<[string, string]>([
  ['two lengths', 'content-length: 5\r\ncontent-length: 6\r\n'],
  ['the same length twice', 'content-length: 5\r\ncontent-length: 5\r\n'],
  ['a length that is not a number', 'content-length: 5x\r\n'],
  // node:http itself ignores an empty length in the last header.
  ['an empty length', 'content-length: \r\n'],
  ['an unknown transfer coding', 'transfer-encoding: gzip, chunked\r\n'],
])('rejects headers with %s and closes the connection, in one packet and in two', async (_what, lines) => {
  const plain = server.requestHeaders({ 'x-note': 'GET /smuggled HTTP/1.1' });
  const requestHeaders = `${plain.slice(0, -2)}${lines}\r\n`;
  // The second packet looks like a separate request.
  const middle = requestHeaders.indexOf('GET /smuggled');
  for (const places of [[], [middle]]) {
    const one = new RawClient(server.port);
    one.socket.setNoDelay(true);
    const text = `${requestHeaders}GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n`;
    for (const [at, from] of [0, ...places].entries()) {
      await new Promise((written) => one.socket.write(text.slice(from, places[at]), written));
      await server.metric('facematch_ready');
    }
    const response = await one.response();
    expect(response.body).toMatchObject({ status: 400, code: 'invalid_multipart' });
    await one.closed;
    expect(one.text).not.toContain('not_found');
  }
});

test('reads no request from a body, even if headers with an ambiguous length follow', async () => {
  const fake = Buffer.from('\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\nx: ');
  const first = server.lengthHeaders(fake.length, { 'x-api-key': 'wrong' });
  client.write(
    Buffer.concat([Buffer.from(first), fake, Buffer.from(server.requestHeaders({ 'content-length': '5x' }))]),
  );
  const [response] = await client.responses(1);
  expect(response!.body).toMatchObject({ code: 'invalid_api_key' });
  await client.closed;
  expect(client.text).not.toContain('not_found');
});

describe('a slow sender', () => {
  test.each<[what: string, bytes: Buffer | string]>([
    ['stops', whole.subarray(0, 2000)],
    ['never begins', server.chunkedHeaders()],
  ])('gets upload_timeout if it %s, and the connection is closed', async (_what, bytes) => {
    client.write(bytes);
    const response = await client.response();
    expect(response.body).toMatchObject({ status: 408, code: 'upload_timeout' });
    expect(response.headers.get('connection')).toBe('close');
    await client.closed;
  });

  test('gets upload_timeout if its whole upload takes too long, although it never pauses', async () => {
    client.write(server.lengthHeaders(body.length));
    let sent = 0;
    const drip = setInterval(() => client.write(body.subarray(sent, ++sent)), 100);
    const response = await client.response().finally(() => clearInterval(drip));
    expect(response.body).toMatchObject({ status: 408, code: 'upload_timeout' });
    expect(sent).toBeGreaterThan(5);
  });
});

test('leaves memory for uploads of other keys, and releases it after a disconnect', async () => {
  client.write(Buffer.concat([Buffer.from(server.lengthHeaders(19_000_000)), Buffer.alloc(18_999_999)]));
  // The missing last byte is counted too, because it is in the last huge page.
  await server.metricBecomes('facematch_upload_memory_bytes', 19_000_000);
  const response = await server.sendRaw(server.lengthHeaders(19_000_000));
  expect(response.body).toMatchObject({ status: 503, code: 'overloaded' });
  expect(response.headers.get('retry-after')).toBe('1');
  expect((await server.match(twoPhotos(), { key: otherKey })).status).toBe(200);
  client.leave();
  await server.metricBecomes('facematch_upload_memory_bytes', 0);
  expect((await server.match(twoPhotos())).status).toBe(200);
});

describe('a client that disconnects', () => {
  const left = () => server.metric('facematch_requests_total{route="match",status="499",code="client_left"}');

  test.each<[when: string, bytes: Buffer | string]>([
    ['before its body', server.lengthHeaders(body.length)],
    ['in the middle of its body', whole.subarray(0, 50_000)],
    [
      'in the middle of a chunk',
      Buffer.concat([Buffer.from(server.chunkedHeaders()), chunk(body).subarray(0, 5000)]),
    ],
  ])('leaves no request in flight and no memory in use: %s', async (_when, bytes) => {
    const before = await left();
    client.write(bytes);
    await server.metricBecomes('facematch_requests_in_flight', 1);
    client.leave();
    await server.metricBecomes('facematch_requests_in_flight', 0);
    expect(await left()).toBe(before + 1);
    expect(await server.metric('facematch_upload_memory_bytes')).toBe(0);
    expect(await server.metric('facematch_queue_depth')).toBe(0);
  });

  test('does not disturb the server while its rejected body is discarded', async () => {
    client.write(server.chunkedHeaders({ 'content-type': 'text/plain' }));
    expect((await client.response()).body).toMatchObject({ code: 'unsupported_media_type' });
    client.write(chunk(body));
    client.leave();
    await client.closed;
    expect((await server.match(twoPhotos())).status).toBe(200);
  });
});

describe('the server after an early response', () => {
  test('discards a body of up to twice the limit, and then closes the connection', async () => {
    client.write(server.chunkedHeaders({ 'content-type': 'text/plain' }));
    expect((await client.response()).headers.get('connection')).toBe('close');
    const megabyte = chunk(Buffer.alloc(1024 * 1024));
    let sent = 0;
    for (; sent < 100 && client.socket.writable; sent++)
      await new Promise((written) => client.socket.write(megabyte, written));
    await client.closed;
    // The server reads 40 MiB, and the kernel's buffers hold some more.
    expect(sent).toBeGreaterThanOrEqual(40);
    expect(sent).toBeLessThan(100);
  });

  test('closes the connection of a client that stops sending', async () => {
    client.write(server.lengthHeaders(5_000_000, { 'content-type': 'text/plain' }));
    await client.response();
    await client.closed;
  });
});

test('accepts seventeen photos of 4 MB if the operator allows it, as a form and as JSON', async () => {
  const roomy = await TestServer.forTest({
    env: { ...withCache, FACEMATCH_MAX_BODY_BYTES: '80000000', FACEMATCH_DEADLINE_MS: '60000' },
  });
  // The photos have few pixels, so that their analysis is fast.
  const portraits = (cutOuts() as Sharp[]).slice(0, 2).map((face) => face.resize(240).jpeg().toBuffer());
  const [one, two] = (await Promise.all(portraits)) as [Buffer, Buffer];
  const large = (photo: Buffer, index = 0) =>
    Buffer.concat([photo, Buffer.alloc(4_000_000 - photo.length, index)]);
  const image1 = [large(one)];
  const image2 = Array.from({ length: 16 }, (_, index) => large(two, index));
  const base64 = (images: Buffer[]) => images.map((image) => image.toString('base64'));
  const asForm = await roomy.match({ image1, image2 }, { path: paths.person });
  const asJson = await roomy.postJson(paths.person, { image1: base64(image1), image2: base64(image2) });
  for (const { status, body } of [asForm, asJson]) {
    expect([status, body.match]).toEqual([200, true]);
    expect(body.photos_compared).toEqual({ image1: 1, image2: 16 });
  }
});
