import { describe, expect, test } from 'vitest';
import { maxCandidates } from '../../src/endpoints/compare-embeddings.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { samples } from '../fixtures/images.ts';
import { chunk, expectProblem, type Json, lastChunk, lasting, paths, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Tests comparing one embedding with many. */

const path = paths.embeddings;
const env = { FACEMATCH_ENDPOINTS: 'match,match_advanced,embed,match_embeddings' };
const server = await TestServer.forFile({ env });
const embed = (image: Uint8Array) => server.match({ image }, { path: paths.embed });
const { body: embedded } = await embed(samples.one);
const { pack, version, accuracy_mode } = embedded.embedding;
/** Embeddings of the samples' faces. The first face of sample one is also in sample three. */
const one: Json[] = embedded.image.faces;
const three: Json[] = (await embed(samples.three)).body.image.faces;

const post = (body: string | Uint8Array<ArrayBuffer>, type = 'application/json', at: string = path) =>
  server.send({ path: at, body, headers: { 'content-type': type } });
const requestOf = (members: Json = {}): Json => ({
  embedding: one[0].embedding,
  candidates: three.map(({ embedding }, index) => ({ id: `face ${index}`, embedding })),
  ...{ pack, version, accuracy_mode },
  ...members,
});
const ask = (members: Json = {}, query = '') =>
  post(JSON.stringify(requestOf(members)), undefined, path + query);
const zeros = Buffer.alloc(2048).toString('base64');

describe('match/embeddings', () => {
  test('returns the same scores as a comparison of the photos, best first', async () => {
    const { status, body, headers } = await ask({ searched: 1 });
    expect(status).toBe(200);
    const expected = await Promise.all(
      three.map(async (_item, index) => {
        const fields = { image1: samples.one, image2: samples.three };
        const chosen = { image1_face_index: '0', image2_face_index: String(index) };
        const { body } = await server.match({ ...fields, ...chosen }, { path: paths.advanced });
        const { confidence_percent, similarity, false_match_rate, extrapolated } = body;
        const same = { match: body.match, confidence_percent, similarity, false_match_rate, extrapolated };
        return { id: `face ${index}`, ...same };
      }),
    );
    expect(body).toEqual({
      request_id: expect.any(String),
      threshold_percent: 70,
      accuracy_mode: 'balance',
      searched: 1,
      results: expected.toSorted((a, b) => b.confidence_percent - a.confidence_percent),
      matches: 1,
      model: { pack, version },
      warnings: [],
      timings_ms: { queue: expect.any(Number), total: expect.any(Number) },
    });
    expect(body.results[0].match).toBe(true);
    expect(headers.get('server-timing')).toMatch(/^queue;dur=.*, total;dur=/);
  });

  test('corrects the percentage for the number searched, by default the number of candidates', async () => {
    const percent = async (members: Json) => (await ask(members)).body.results[0].confidence_percent;
    const thousand = await percent({ searched: 1000 });
    expect(await percent({ searched: 10_000 })).toBeCloseTo(thousand - 10, 1);
    expect(await percent({ searched: three.length })).toBe(await percent({ searched: null, limit: null }));
  });

  test('returns at most `limit` results, of at least `min_percent`', async () => {
    const candidates = Array.from({ length: maxCandidates }, (_item, index) => ({
      id: String(index),
      embedding: three[index % three.length].embedding,
    }));
    const { body } = await ask({ candidates, limit: 1000, searched: 1 });
    expect(body.results).toHaveLength(maxCandidates);
    const { body: first } = await ask({ candidates, searched: 1 });
    expect([first.results, first.matches]).toEqual([body.results.slice(0, 100), body.matches]);
    const best = await ask({ candidates, limit: 1000, searched: 1, min_percent: 70 });
    expect(best.body.results).toEqual(body.results.filter((result: Json) => result.match));
  });
});

test('warns about an unknown member, a query parameter, and a threshold that may be a fraction', async () => {
  const members = { tresholdpercent: 5, toString: 1, threshold_percent: 0.7, min_percent: null, limit: '' };
  const { status, body } = await ask(members, '?min_percent=80&x=1');
  expect(status).toBe(200);
  expect(body.warnings.map(({ code, field }: Json) => [code, field])).toEqual([
    ['query_parameter_ignored', 'min_percent'],
    ['unknown_field', '/tresholdpercent'],
    ['unknown_field', '/toString'],
    ['threshold_below_one', 'threshold_percent'],
  ]);
});

test('names only 16 of many unknown members', async () => {
  const many = Object.fromEntries(Array.from({ length: 90_000 }, (_item, index) => [`x${index}`, 0]));
  const { status, body } = await ask(many);
  expect([status, body.warnings.length]).toEqual([200, 16]);
});

test.each<[place: string, member: (photo: string) => Json, field: string]>([
  ['the request', (photo) => ({ photo }), '/photo'],
  ['a list', (photo) => ({ photos: [1, [{ photo }]] }), '/photos'],
  ['a candidate', (photo) => ({ candidates: [{ id: 'a', embedding: zeros, photo }] }), '/candidates/0/photo'],
])('rejects a photo under an unknown name in %s', async (_place, member, field) => {
  const photo = samples.one.toString('base64');
  for (const text of [photo, `data:image/jpeg;base64,${photo}`]) {
    expectProblem(await ask(member(text)), 'unknown_file', { field });
  }
});

const candidate = (id: string, embedding = zeros) => ({ candidates: [{ id, embedding }] });
const several = (embeddings: Json[], embedding?: string) => ({
  candidates: [{ id: 'a', embeddings, embedding }],
});
const list = '/candidates/0/embeddings';
const has = (words: string) => expect.stringContaining(words);
const noNumbers = Buffer.alloc(2048, 0xff).toString('base64');
const tooMany = Array.from({ length: maxCandidates + 1 }, () => ({ id: '', embedding: '' }));
test.each<[string, Json, ErrorCode, object]>([
  ['another version', { version: '0.1.0' }, 'embedding_mismatch', {}],
  ['a zero vector', candidate('a'), 'invalid_embedding', { field: '/candidates/0/embedding' }],
  ['NaN values', { embedding: noNumbers }, 'invalid_embedding', { field: '/embedding' }],
  [
    'an invalid embedding among several',
    several([one[0].embedding, zeros]),
    'invalid_embedding',
    { field: `${list}/1` },
  ],
  ['neither embedding nor embeddings', { embedding: null }, 'invalid_field', { field: '/embedding' }],
  ['both embedding and embeddings', several([zeros], zeros), 'invalid_field', { detail: has('not both') }],
  [
    'an empty list of embeddings',
    { embedding: undefined, embeddings: [] },
    'invalid_field',
    { field: '/embeddings' },
  ],
  [
    'seventeen embeddings of one candidate',
    several(Array(17).fill(zeros)),
    'invalid_field',
    { field: list, expected: has('16') },
  ],
  ['no candidate', { candidates: [] }, 'invalid_field', { field: '/candidates' }],
  ['too many candidates', { candidates: tooMany }, 'invalid_field', { expected: has('1000') }],
  ['an id that is too long', candidate('x'.repeat(129)), 'invalid_field', { field: '/candidates/0/id' }],
  ['no mode', { accuracy_mode: undefined }, 'invalid_field', { field: '/accuracy_mode' }],
  ['a threshold out of range', { threshold_percent: 101 }, 'invalid_field', { detail: has(', not 101.') }],
  ['a limit with a fraction', { limit: 1.5 }, 'invalid_field', { field: '/limit' }],
])('rejects a request with %s', async (_what, members, code, extras) => {
  expectProblem(await ask(members), code, extras);
});

test.each<[string, string, Json]>([
  [
    'with too many candidates, before the invalid end of the JSON',
    `{"candidates":[${'0,'.repeat(maxCandidates)}0,!`,
    { code: 'invalid_field', field: '/candidates', expected: has('1000') },
  ],
  ['that is a list', '[]', { code: 'invalid_field', field: '', expected: 'an object' }],
])('rejects a body %s', async (_what, text, body) => {
  expect(await post(text)).toMatchObject({ status: 400, body });
});

test('accepts 100,000 JSON values in a request, and not one more', async () => {
  const countOf = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Object.values(value).reduce((sum: number, each) => sum + 1 + countOf(each), 0);
  const rest = 100 * maxCandidates - countOf(requestOf()) - 1;
  expect((await ask({ rest: Array(rest).fill(0) })).status).toBe(200);
  const rejected = await ask({ rest: Array(rest + 1).fill(0) });
  expectProblem(rejected, 'invalid_json', { detail: expect.stringContaining('at most 100000 values') });
});

test('rejects a body that is too large, with and without Content-Length', async () => {
  const limit_bytes = 4 * 1024 * 1024;
  const body = {
    code: 'body_too_large',
    limit_bytes,
    detail: expect.stringContaining('Send fewer embeddings'),
  };
  expect(await post('x'.repeat(limit_bytes + 1))).toMatchObject({ status: 413, body });
  const large = Buffer.concat([chunk(Buffer.alloc(limit_bytes + 1, ' ')), Buffer.from(lastChunk)]);
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const start = server.requestHeaders(headers, `POST ${path} HTTP/1.1`);
  const chunked = await server.sendRaw(Buffer.concat([Buffer.from(start), large]));
  expect(chunked).toMatchObject({ status: 413, body });
});

test('rejects other media types, and accepts application/json in any case and with parameters', async () => {
  for (const type of ['text/plain', 'application/jsonp', 'multipart/form-data; boundary=x']) {
    expectProblem(await post('{}', type), 'unsupported_media_type');
  }
  expect((await post(JSON.stringify(requestOf()), 'Application/JSON; charset=utf-8')).status).toBe(200);
});

test('writes no part of an embedding to the log', async () => {
  const { body } = await ask();
  await server.logged(body.request_id);
  expect(server.stderr.join('\n')).not.toContain(one[0].embedding.slice(0, 12));
  expect(server.stderr.join('\n')).not.toContain('face 0');
});

/**
 * Tests FACEMATCH_EMBEDDING_CACHE_SIZE as clients and operators observe it. test/unit/analysis-cache.test.ts
 * tests the cache itself.
 */
describe('a cache for two images', async () => {
  const caching = await TestServer.forFile({ env: { ...env, FACEMATCH_EMBEDDING_CACHE_SIZE: '2' } });
  const counts = async (of = caching) => {
    const named = ['hits_total', 'misses_total', 'images'];
    return Promise.all(named.map((name) => of.metric(`facematch_embedding_cache_${name}`)));
  };
  const added = async (act: () => Promise<unknown>) => {
    const before = await counts();
    await act();
    return (await counts()).slice(0, 2).map((count, at) => count - before[at]!);
  };

  test('returns the same response to a second request, except id and times, and is off by default', async () => {
    const plain = (await server.match(twoPhotos())).body;
    const bodies: Json[] = [];
    const ask = async () => bodies.push((await caching.match(twoPhotos())).body);
    expect(await added(ask)).toEqual([0, 2]);
    expect(await added(ask)).toEqual([2, 0]);
    expect(bodies.map(lasting)).toEqual([lasting(plain), lasting(plain)]);
    const { queue, total, ...stages } = bodies[1].timings_ms;
    expect(stages).toEqual({ decode: 0, detect: 0, align: 0, embed: 0 });
    expect((await counts()).at(-1)).toBe(2);
    expect((await server.match(twoPhotos())).body.timings_ms.decode).toBeGreaterThan(0);
    expect(await counts(server)).toEqual([0, 0, 0]);
    expect(await server.metrics()).toContain('facematch_embedding_cache_hits_total 0');
  });

  test('does not cache the analyses of embed', async () => {
    const embed = () => caching.match({ image: samples.two }, { path: paths.embed });
    expect((await embed()).status).toBe(200);
    expect(await added(embed)).toEqual([0, 0]);
  });
});
