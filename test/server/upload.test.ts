import { beforeEach, describe, expect, test } from 'vitest';
import {
  chunk,
  formType,
  head,
  type Json,
  lastChunk,
  match,
  paths,
  photoForm,
  RawClient,
  twoPhotos,
} from './support/client.ts';
import { Home, TestServer, transport } from './support/server.ts';

/** How bodies arrive, and what becomes of those that do not. */

const body = photoForm();
const home = new Home();
const otherKey = home.key();
const server = await TestServer.forFile(
  {
    env: {
      FACEMATCH_UPLOAD_TIMEOUT_MS: '1500',
      FACEMATCH_IDLE_TIMEOUT_S: '1',
      FACEMATCH_MAX_UPLOAD_BYTES: '40000000',
    },
  },
  home,
);

let client: RawClient;
beforeEach(() => {
  client = new RawClient(server.port);
  return () => client.socket.destroy();
});

const length = (bytes = body.length) => head(server, { 'content-length': String(bytes) });
const chunked = () => head(server, { 'transfer-encoding': 'chunked' });

test.each<[string, Record<string, string>, string[]]>([
  ['?threshold_percent=100&utm=1&threshold_percent=2', {}, ['query_ignored threshold_percent']],
  ['?thresholdPercent=100', {}, ['query_ignored threshold_percent']],
  ['?accuracy%5Fmode=fast&face_index=1', {}, ['query_ignored accuracy_mode']],
  ['?', { threshold_percent: '0.999' }, ['threshold_below_one threshold_percent']],
  ['', { threshold_percent: '1' }, []],
  ['', { threshold_percent: '0' }, []],
])('what counts for nothing or may mean something else is told: %s %j', async (query, fields, warnings) => {
  const { body } = await match(server, { ...twoPhotos(), ...fields }, { path: paths.match + query });
  expect(body.warnings.map(({ code, field }: Json) => `${code} ${field}`)).toEqual(warnings);
});

describe('a body', () => {
  test('comes in one packet with its head', async () => {
    client.write(Buffer.concat([Buffer.from(length()), body]));
    expect((await client.answer()).body).toMatchObject({ match: true });
  });

  test('comes cut anywhere, inside its head as well', async () => {
    const bytes = Buffer.concat([Buffer.from(length()), body]);
    client.socket.setNoDelay(true);
    for (const [from, to] of [
      [0, 3],
      [3, 60],
      [60, 300],
      [300, 301],
      [301, 100_000],
      [100_000, bytes.length],
    ]) {
      await new Promise((written) => client.socket.write(bytes.subarray(from, to), written));
    }
    expect((await client.answer()).body).toMatchObject({ match: true });
  });

  test.each([1, 7, 1000, 100_000])('comes in chunks of %i bytes', async (size) => {
    // Small chunks for the form's headers, where the parser has to look closely, and the rest in one.
    const small = body.subarray(0, Math.min(body.length, size * 200));
    const chunks: Buffer[] = [];
    for (let at = 0; at < small.length; at += size)
      chunks.push(chunk(small.subarray(at, Math.min(at + size, small.length))));
    if (small.length < body.length) chunks.push(chunk(body.subarray(small.length)));
    client.write(chunked());
    client.write(Buffer.concat([...chunks, Buffer.from(lastChunk)]));
    expect((await client.answer()).body).toMatchObject({ match: true });
  });

  test('in too many small chunks is refused, and so is JSON', async () => {
    const small = Buffer.from('1\r\na\r\n'.repeat(30_000));
    for (const [type, code] of [
      [formType, 'invalid_multipart'],
      ['application/json', 'invalid_json'],
    ] as const) {
      const own = new RawClient(server.port);
      own.write(head(server, { 'transfer-encoding': 'chunked', 'content-type': type }));
      own.write(small);
      expect((await own.answer()).body).toMatchObject({
        code,
        detail: expect.stringContaining('larger chunks'),
      });
      await own.closed;
    }
  });

  test('of no length is an empty form', async () => {
    client.write(head(server));
    expect((await client.answer()).body).toMatchObject({ status: 400, code: 'invalid_multipart' });
  });

  test('of no chunks is an empty form', async () => {
    client.write(chunked() + lastChunk);
    expect((await client.answer()).body).toMatchObject({ status: 400, code: 'invalid_multipart' });
  });
});

describe('a connection', () => {
  test('serves many requests one after the other', async () => {
    for (let count = 1; count <= 3; count++) {
      client.write(Buffer.concat([Buffer.from(length()), body]));
      const answers = await client.answers(count);
      expect(answers[count - 1]!.body).toMatchObject({ match: true });
    }
  });

  test('serves a request after one that was refused before its body had come', async () => {
    client.write(head(server, { 'x-api-key': 'wrong', 'content-length': String(body.length) }));
    expect((await client.answer()).body).toMatchObject({ code: 'invalid_api_key' });
    client.write(body);
    client.write(Buffer.concat([Buffer.from(length()), body]));
    expect((await client.answers(2))[1]!.body).toMatchObject({ match: true });
  });

  test('answers pipelined requests in their order as long as each can be answered at once', async () => {
    const get = (path: string) => head(server, {}, `GET ${path} HTTP/1.1`);
    client.write(get(paths.models) + get('/nowhere') + get(paths.match) + get(paths.models));
    const answers = await client.answers(4);
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 405, 200]);
  });

  test('on which a request comes behind one that still waits ends on µWS; node:http lets it wait', async () => {
    client.write(Buffer.concat([Buffer.from(length()), body, Buffer.from(length()), body]));
    if (transport === 'node') {
      for (const answer of await client.answers(2)) expect(answer.body).toMatchObject({ match: true });
    } else {
      await client.closed;
      expect(client.text).toBe('');
    }
    await server.metricBecomes('facematch_requests_unanswered', 0);
  });

  test('is closed after the answer when the client asks for it', async () => {
    client.write(
      Buffer.concat([
        Buffer.from(head(server, { connection: 'close', 'content-length': String(body.length) })),
        body,
      ]),
    );
    expect((await client.answer()).body).toMatchObject({ match: true });
    await client.closed;
  });
});

describe('a head whose body could be read in two ways', () => {
  test.each<[string, string]>([
    ['two lengths', 'content-length: 5\r\ncontent-length: 6\r\n'],
    ['the same length twice', 'content-length: 5\r\ncontent-length: 5\r\n'],
    ['a length that is no number', 'content-length: 5x\r\n'],
    ['an unknown transfer coding', 'transfer-encoding: gzip, chunked\r\n'],
  ])('%s is refused, and the connection ends', async (_what, lines) => {
    const plain = head(server);
    client.write(`${plain.slice(0, -2)}${lines}\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n`);
    const answer = await client.answer();
    expect(answer.body).toMatchObject({ status: 400, code: 'invalid_multipart' });
    await client.closed;
    expect(client.text).not.toContain('not_found');
  });

  test('a length beside chunks ends the connection', async () => {
    client.write(head(server, { 'content-length': '5', 'transfer-encoding': 'chunked' }));
    await client.closed;
  });
});

describe('a slow sender', () => {
  test('who stops is told upload_timeout, and the connection ends', async () => {
    client.write(length());
    client.write(body.subarray(0, 1000));
    const answer = await client.answer();
    expect(answer.body).toMatchObject({ status: 408, code: 'upload_timeout' });
    expect(answer.headers.connection).toBe('close');
    await client.closed;
  });

  test('who never begins is told as well', async () => {
    client.write(chunked());
    expect((await client.answer()).body).toMatchObject({ status: 408, code: 'upload_timeout' });
  });

  test('who drips for ever is told when the whole upload has taken too long', async () => {
    client.write(length());
    let sent = 0;
    const drip = setInterval(() => client.write(body.subarray(sent, ++sent)), 100);
    const answer = await client.answer().finally(() => clearInterval(drip));
    expect(answer.body).toMatchObject({ status: 408, code: 'upload_timeout' });
    expect(sent).toBeGreaterThan(5);
  });
});

describe('memory for uploads', () => {
  const holder = async (bytes: number, arriving: number) => {
    const one = new RawClient(server.port);
    const sent = Buffer.alloc(arriving);
    one.write(Buffer.concat([Buffer.from(length(bytes)), sent]));
    return one;
  };

  test('that one key has used up is there for others, and comes back', async () => {
    const one = await holder(19_000_000, 18_999_999);
    // The last byte is charged already: it lies in a huge page.
    await server.metricBecomes('facematch_upload_bytes', 19_000_000);
    client.write(length(19_000_000));
    const answer = await client.answer();
    expect(answer.body).toMatchObject({ status: 503, code: 'overloaded' });
    expect(answer.headers['retry-after']).toBe('1');
    expect((await match(server, twoPhotos(), { key: otherKey })).status).toBe(200);
    one.leave();
    await server.metricBecomes('facematch_upload_bytes', 0);
    expect((await match(server, twoPhotos())).status).toBe(200);
  });
});

describe('a client that leaves', () => {
  const left = (route = 'match') =>
    server.metric(`facematch_requests_total{route="${route}",status="499",code="client_left"}`);

  test.each<[when: string, bytes: () => Buffer | string]>([
    ['before its body', () => length()],
    ['in the middle of its body', () => Buffer.concat([Buffer.from(length()), body.subarray(0, 50_000)])],
    [
      'in the middle of a chunk',
      () => Buffer.concat([Buffer.from(chunked()), chunk(body).subarray(0, 5000)]),
    ],
  ])('%s is noticed, and what it held is given back', async (_when, bytes) => {
    const before = await left();
    client.write(bytes());
    await server.metricBecomes('facematch_requests_unanswered', 1);
    client.leave();
    await server.metricBecomes('facematch_requests_unanswered', 0);
    expect(await left()).toBe(before + 1);
    expect(await server.metric('facematch_upload_bytes')).toBe(0);
    expect(await server.metric('facematch_queue_depth')).toBe(0);
  });

  test('in the middle of its head was never there', async () => {
    const before = await server.metric('facematch_requests_unanswered');
    client.write(length().slice(0, 40));
    client.leave();
    await client.closed;
    expect(await server.metric('facematch_requests_unanswered')).toBe(before);
  });

  test('while its refused body is thrown away does no harm', async () => {
    client.write(head(server, { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }));
    expect((await client.answer()).body).toMatchObject({ code: 'unsupported_media_type' });
    client.write(chunk(body));
    client.leave();
    await client.closed;
    expect((await match(server, twoPhotos())).status).toBe(200);
  });
});

describe('behind an answer that came early', () => {
  test('a body of any size is thrown away up to twice the limit, and then the connection ends', async () => {
    client.write(head(server, { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }));
    expect((await client.answer()).headers.connection).toBe('close');
    const sent = await client.flood(100);
    await client.closed;
    // 40 MiB, and what lay in the kernel's buffers.
    expect(sent).toBeGreaterThanOrEqual(40);
    expect(sent).toBeLessThan(100);
  });

  test('a client that sends nothing more is let go', async () => {
    client.write(head(server, { 'content-type': 'text/plain', 'content-length': '5000000' }));
    await client.answer();
    await client.closed;
  });
});
