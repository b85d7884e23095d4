import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { makePair } from '../../fixtures/credentials.ts';
import { samples } from '../../fixtures/images.ts';
import { chunk, formBytes, lastChunk, paths, RawClient, rawTls } from '../../server/support/client.ts';
import { TestServer, transport } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/**
 * Tests that image files are wiped from the server's memory after the response, however they were sent. SECURITY.md
 * lists the data that is not wiped.
 */

const repeats = 1500;

/**
 * µWS discards the body of a request that was rejected because of its headers. The end of the body remains in the
 * read buffer until the buffer is reused.
 */
const receiveBuffer_bytes = 512 * 1024;

/**
 * Returns the byte strings to search for, and a photo that starts with four comments of 30,000 bytes. The comments
 * repeat a random mark.
 */
function marked() {
  const mark = Buffer.from(randomBytes(10).toString('hex'));
  const text = Buffer.concat(Array(repeats).fill(mark));
  const length = Buffer.from([(text.length + 2) >> 8, (text.length + 2) & 255]);
  const comment = Buffer.concat([Buffer.from([0xff, 0xfe]), length, text]);
  const comments = Array(4).fill(comment);
  const photo = Buffer.concat([samples.one.subarray(0, 2), ...comments, samples.one.subarray(2)]);
  const fourMarks = Buffer.concat([mark, mark, mark, mark]);
  const encoded = [0, 1, 2].map((from) => {
    const base64 = fourMarks.subarray(from, from + 30).toString('base64');
    return Buffer.from(base64.slice(4, 36));
  });
  return { photo, needles: [mark, ...encoded] };
}

const piece_bytes = 8 * 1024 * 1024;

/** Counts these byte strings in the process's writable memory. */
function countInMemory(pid: number, needles: readonly Buffer[]): number {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const piece = Buffer.alloc(piece_bytes);
  let count = 0;
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += piece_bytes) {
        const length = read(memory, piece, at, Math.min(piece_bytes, end - at));
        count += countIn(piece.subarray(0, length), needles);
      }
    }
  } finally {
    closeSync(memory);
  }
  return count;
}

function read(memory: number, piece: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, piece, 0, length, at);
  } catch {
    // The memory was released in the meantime.
    return 0;
  }
}

function countIn(bytes: Buffer, needles: readonly Buffer[]): number {
  let count = 0;
  for (const needle of needles) {
    for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) count += 1;
  }
  return count;
}

type Sent = (server: TestServer, photo: Buffer) => Buffer | Buffer[];
const withHeaders = (server: TestServer, form: Buffer, headers = {}) =>
  Buffer.concat([Buffer.from(server.lengthHeaders(form.length, headers)), form]);
const two = (photo: Buffer) => formBytes({ image1: photo, image2: photo });
const json = (server: TestServer, body: string, path: string = paths.match) => {
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return Buffer.from(server.requestHeaders(headers, `POST ${path} HTTP/1.1`) + body);
};
const inJson = (photo: Buffer) => {
  const text = photo.toString('base64');
  return `{"image1":"${text}","image2":"${text}"}`;
};

/** Node occasionally leaves a packet in a read buffer that it has freed. */
const packet_bytes = 64 * 1024;
/** Maximum size of a decrypted TLS record. */
const record_bytes = 16 * 1024;
/**
 * Number of TLS records that remain until their memory is reused. Node decrypts on its stack. µWS's BoringSSL decrypts
 * in memory that it frees without wiping it (ssl/ssl_buffer.cc, SSLBuffer::Clear), usually at the same address. On a
 * busy machine, four records were found.
 */
const records: Readonly<Record<string, number>> = { node: 1, uws: 4 };
/** A part of a JSON body may remain as a V8 string until its memory is reused. */
const text_bytes = 512;

const requests: readonly [what: string, status: number | 'left', sent: Sent][] = [
  ['a form', 200, (server, photo) => withHeaders(server, two(photo))],
  [
    'a chunked form',
    200,
    (server, photo) => {
      const form = two(photo);
      const pieces = [form.subarray(0, 70_000), form.subarray(70_000, 70_300), form.subarray(70_300)];
      return [Buffer.from(server.chunkedHeaders()), ...pieces.map(chunk), Buffer.from(lastChunk)];
    },
  ],
  ['JSON', 200, (server, photo) => json(server, inJson(photo))],
  ['JSON with escapes', 200, (server, photo) => json(server, inJson(photo).replaceAll('/', '\\/'))],
  [
    'JSON with an unknown name',
    400,
    (server, photo) => json(server, inJson(photo).replace('image2', 'photo')),
  ],
  [
    'a form with an unknown name',
    400,
    (server, photo) => withHeaders(server, formBytes({ image1: photo, photo })),
  ],
  ['a truncated form', 400, (server, photo) => withHeaders(server, two(photo).subarray(0, -20))],
  [
    'a form with a wrong key',
    401,
    (server, photo) => withHeaders(server, two(photo), { 'x-api-key': 'wrong' }),
  ],
  ['a part of a form', 'left', (server, photo) => withHeaders(server, two(photo)).subarray(0, -1000)],
];

const pair = makePair(newFolder(), 'one');
const settings = [
  ['over plain HTTP', {}],
  ['with a cache of embeddings', { FACEMATCH_EMBEDDING_CACHE_SIZE: '16' }],
  ['over TLS', { FACEMATCH_TLS_CERT: pair.cert, FACEMATCH_TLS_KEY: pair.key }],
] as const;

describe.each([...new Set([transport, 'node'])])('on %s', (FACEMATCH_HTTP) => {
  describe.each(settings)('%s', async (_how, env) => {
    const server = await TestServer.forFile({ env: { ...env, FACEMATCH_HTTP } });

    // Rejected and abandoned requests are not cached.
    const sentRequests = requests.filter(
      ([, status]) => status === 200 || !('FACEMATCH_EMBEDDING_CACHE_SIZE' in env),
    );
    test.each(sentRequests)('wipes image bytes from memory after %s', async (_what, status, sent) => {
      const { photo, needles } = marked();
      const client = 'FACEMATCH_TLS_CERT' in env ? await rawTls(server.port) : new RawClient(server.port);
      const unwiped = () => countInMemory(server.child.pid!, needles);
      for (const bytes of [sent(server, photo)].flat()) client.write(bytes);
      if (status === 'left') {
        // The mark must be found before it is wiped, because otherwise a count of 0 would prove nothing.
        await expect.poll(unwiped).toBeGreaterThan(repeats);
        client.leave();
      } else expect((await client.response()).status).toBe(status);
      const decrypted = 'FACEMATCH_TLS_CERT' in env ? records[FACEMATCH_HTTP]! * record_bytes : 0;
      const read = FACEMATCH_HTTP === 'uws' ? (status === 401 ? receiveBuffer_bytes : 0) : packet_bytes;
      const max = (text_bytes + decrypted + read) / needles[0]!.length;
      await expect.poll(unwiped).toBeLessThanOrEqual(max);
      client.leave();
    });
  });
});
