import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxCandidates } from '../../src/engine/cosine.ts';
import { samples } from '../fixtures/pictures.ts';
import {
  chunk,
  type Fields,
  type Json,
  lastChunk,
  lasting,
  match,
  paths,
  RawClient,
  send,
  twoPhotos,
} from './support/client.ts';
import { Home, TestServer } from './support/server.ts';

/** One embedding against many. */

const path = paths.embeddings;
const home = new Home();
const env = { FACEMATCH_ENDPOINTS: 'match,match_advanced,embed,match_embeddings' };
const server = await TestServer.forFile({ env }, home);
const embed = async (image: Uint8Array) =>
  (await match(server, { image }, { path: '/API/v1.0/face/embed/upload' })).body;
const body = await embed(samples.one);
const model = body.embedding;
/** Of the faces of the samples; one woman's is the first of the first, and somewhere in the third. */
const one: Json[] = body.image.faces;
const three: Json[] = (await embed(samples.three)).image.faces;

const post = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json', at: string = path) =>
  send(server, { path: at, body, headers: { 'content-type': type } });
const question = (members: Json = {}): Json => ({
  embedding: one[0].embedding,
  candidates: three.map(({ embedding }, index) => ({ id: `face ${index}`, embedding })),
  pack: model.pack,
  version: model.version,
  accuracy_mode: model.accuracy_mode,
  ...members,
});
const ask = (members: Json = {}, query = '') =>
  post(JSON.stringify(question(members)), undefined, path + query);
const zeros = Buffer.alloc(2048).toString('base64');

describe('embeddings that the server gave out', () => {
  test('are as alike as their faces are, best first', async () => {
    const { status, body, headers } = await ask({ searched: 1 });
    expect(status).toBe(200);
    const expected = await Promise.all(
      three.map(async (_, index) => {
        const fields = { image1: samples.one, image2: samples.three };
        const chosen = { image1_face_index: '0', image2_face_index: String(index) };
        const { body } = await match(server, { ...fields, ...chosen }, { path: paths.advanced });
        const { match: matches, confidence_percent, similarity, false_match_rate, extrapolated } = body;
        return {
          id: `face ${index}`,
          match: matches,
          confidence_percent,
          similarity,
          false_match_rate,
          extrapolated,
        };
      }),
    );
    expect(body).toEqual({
      request_id: expect.any(String),
      threshold_percent: 70,
      accuracy_mode: 'balance',
      searched: 1,
      results: expected.toSorted((a, b) => b.confidence_percent - a.confidence_percent),
      matches: 1,
      model: { pack: model.pack, version: model.version },
      warnings: [],
      timings_ms: { queue: expect.any(Number), total: expect.any(Number) },
    });
    expect(body.results[0].match).toBe(true);
    expect(headers.get('server-timing')).toMatch(/^queue;dur=.*, total;dur=/);
  });

  test('are judged by the number that was searched, which is that of the candidates unless told', async () => {
    const percent = async (members: Json) => (await ask(members)).body.results[0].confidence_percent;
    const thousand = await percent({ searched: 1000 });
    expect(await percent({ searched: 10_000 })).toBeCloseTo(thousand - 10, 1);
    expect(await percent({ searched: three.length })).toBe(await percent({ searched: null, limit: null }));
  });

  test('come back as many as are asked for, and as good', async () => {
    const candidates = Array.from({ length: maxCandidates }, (_, index) => ({
      id: String(index),
      embedding: three[index % three.length].embedding,
    }));
    const { body } = await ask({ candidates, limit: 1000, searched: 1 });
    expect(body.results).toHaveLength(maxCandidates);
    expect((await ask({ candidates, searched: 1 })).body).toMatchObject({
      results: body.results.slice(0, 100),
      matches: body.matches,
    });
    const best = await ask({ candidates, limit: 1000, searched: 1, min_percent: 70 });
    expect(best.body.results).toEqual(body.results.filter((result: Json) => result.match));
  });
});

test('a member that is not known is named, as is one in the query, and a threshold that may be a share', async () => {
  const members = { tresholdpercent: 5, toString: 1, threshold_percent: 0.7, min_percent: null, limit: '' };
  const { status, body } = await ask(members, '?min_percent=80&x=1');
  expect(status).toBe(200);
  expect(body.warnings.map(({ code, field }: Json) => [code, field])).toEqual([
    ['query_ignored', 'min_percent'],
    ['unknown_field', '/tresholdpercent'],
    ['unknown_field', '/toString'],
    ['threshold_below_one', 'threshold_percent'],
  ]);
});

test('of members that are not known some are named, however many there are', async () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`x${index}`, 0]));
  const { status, body } = await ask(many);
  expect([status, body.warnings.length]).toEqual([200, 16]);
});

test.each<[string, Json, number, Json]>([
  ['another version', { version: '0.1.0' }, 422, { code: 'embedding_mismatch' }],
  [
    'a vector of no length',
    { candidates: [{ id: 'a', embedding: zeros }] },
    422,
    { code: 'invalid_embedding', field: '/candidates/0/embedding' },
  ],
  [
    'numbers that are none',
    { embedding: Buffer.alloc(2048, 0xff).toString('base64') },
    422,
    { code: 'invalid_embedding', field: '/embedding' },
  ],
  ['no candidate', { candidates: [] }, 400, { code: 'invalid_field', field: '/candidates' }],
  [
    'too many candidates',
    { candidates: Array.from({ length: maxCandidates + 1 }, () => ({ id: '', embedding: '' })) },
    400,
    { code: 'invalid_field', field: '/candidates', expected: expect.stringContaining('1000') },
  ],
  [
    'an id that is too long',
    { candidates: [{ id: 'x'.repeat(129), embedding: zeros }] },
    400,
    { code: 'invalid_field', field: '/candidates/0/id' },
  ],
  ['no mode', { accuracy_mode: undefined }, 400, { code: 'invalid_field', field: '/accuracy_mode' }],
  [
    'a threshold out of range',
    { threshold_percent: 101 },
    400,
    { code: 'invalid_field', field: '/threshold_percent', detail: expect.stringMatching(/, not 101\.$/) },
  ],
  ['a limit with a fraction', { limit: 1.5 }, 400, { code: 'invalid_field', field: '/limit' }],
])('%s is refused', async (_what, members, status, body) => {
  expect(await ask(members)).toMatchObject({ status, body });
});

test.each<[string, string | Uint8Array<ArrayBuffer>, Json]>([
  ['nothing', '', { code: 'invalid_json', position: 0 }],
  ['a comma too many', '{"limit": 1,}', { code: 'invalid_json', position: 12 }],
  ['what is not UTF-8', Buffer.from('{"pack": "\xff"}', 'latin1'), { code: 'invalid_json', position: 10 }],
  ['a depth that nobody needs', '['.repeat(1_000_000), { code: 'invalid_json' }],
  ['a list', '[]', { code: 'invalid_field', field: '', expected: 'an object' }],
])('%s is refused', async (_what, text, body) => {
  expect(await post(text)).toMatchObject({ status: 400, body });
});

test('a body that is too large is refused, whether it says so or not', async () => {
  const limit_bytes = 4 * 1024 * 1024;
  const body = { code: 'body_too_large', limit_bytes };
  expect(await post('x'.repeat(limit_bytes + 1))).toMatchObject({ status: 413, body });
  const client = new RawClient(server.port);
  client.write(
    `POST ${path} HTTP/1.1\r\nhost: test\r\nx-api-key: ${server.key}\r\ncontent-type: application/json\r\n` +
      'transfer-encoding: chunked\r\n\r\n',
  );
  client.write(chunk(Buffer.alloc(limit_bytes + 1, ' ')));
  client.write(lastChunk);
  expect(await client.answer()).toMatchObject({ status: 413, body });
  client.leave();
});

test('another type, or none, is refused', async () => {
  for (const type of ['text/plain', 'application/jsonp', 'multipart/form-data; boundary=x']) {
    expect(await post('{}', type)).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    });
  }
  expect(await post(JSON.stringify(question()), 'Application/JSON; charset=utf-8')).toMatchObject({
    status: 200,
  });
});

test('writes nothing of an embedding into the log', async () => {
  const { body } = await ask();
  await server.logged(body.request_id);
  expect(server.stderr.join('\n')).not.toContain(one[0].embedding.slice(0, 12));
  expect(server.stderr.join('\n')).not.toContain('face 0');
});

/** FACEMATCH_EMBEDDING_CACHE as callers and operators see it; test/unit/analysis-cache.test.ts has the rest. */

async function counts(server: TestServer) {
  const read = (name: string) => server.metric(`facematch_embedding_cache_${name}`);
  return {
    hits: await read('hits_total'),
    misses: await read('misses_total'),
    pictures: await read('pictures'),
  };
}

describe('by default', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  test('nothing is kept, looked for or spared', async () => {
    await match(server, twoPhotos());
    const { body } = await match(server, twoPhotos());
    expect(body.timings_ms.decode).toBeGreaterThan(0);
    expect(await counts(server)).toEqual({ hits: 0, misses: 0, pictures: 0 });
    expect(await server.metrics()).toContain('facematch_embedding_cache_hits_total 0');
  });
});

describe('with a cache for two pictures', () => {
  let server: TestServer;
  let plain: TestServer;
  beforeAll(async () => {
    server = await TestServer.start({
      env: { FACEMATCH_EMBEDDING_CACHE: '2', FACEMATCH_ENDPOINTS: 'match,match_advanced,embed' },
    });
    plain = await TestServer.start();
  });
  afterAll(() => Promise.all([server.stop(), plain.stop()]));

  const added = async (act: () => Promise<unknown>) => {
    const before = await counts(server);
    await act();
    const { hits, misses } = await counts(server);
    return [hits - before.hits, misses - before.misses];
  };

  test('a second request gets the same answer but for its id and times', async () => {
    const expected = (await match(plain, twoPhotos())).body;
    const bodies: Json[] = [];
    const ask = async () => bodies.push((await match(server, twoPhotos())).body);
    expect(await added(ask)).toEqual([0, 2]);
    expect(await added(ask)).toEqual([2, 0]);
    expect(bodies.map(lasting)).toEqual([lasting(expected), lasting(expected)]);
    const { queue, total, ...stages } = bodies[1].timings_ms;
    expect(stages).toEqual({ decode: 0, detect: 0, align: 0, embed: 0 });
    expect((await counts(server)).pictures).toBe(2);
  });

  test('what embed gives out is not kept', async () => {
    const embed = () => match(server, { image: samples.two }, { path: paths.embed });
    expect((await embed()).status).toBe(200);
    expect(await added(embed)).toEqual([0, 0]);
  });

  test('another choice of a face is a hit, another mode and a changed byte are not', async () => {
    const advanced = (fields: Fields) =>
      match(server, { ...twoPhotos(), ...fields }, { path: paths.advanced });
    await advanced({});
    expect(await added(() => advanced({ image1_face_index: '1' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ auto_pair_best: 'false' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ threshold_percent: '20' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ accuracy_mode: 'fast' }))).toEqual([0, 2]);
    const image1 = Buffer.concat([samples.one, Buffer.of(0)]);
    expect(await added(() => advanced({ image1, accuracy_mode: 'fast' }))).toEqual([1, 1]);
  });
});
