import type { Sharp } from 'sharp';
import { expect, test } from 'vitest';
import { blank, samples } from '../fixtures/images.ts';
import { cutOuts } from '../support/portraits.mjs';
import { type Fields, type Json, paths, type TestResponse } from './support/client.ts';
import { Home, TestServer, withCache } from './support/server.ts';

/** Tests one decision from several photos of each of two people. */

const scopes = ['match:person', 'match:advanced', 'match:embeddings', 'embed'] as const;
const home = new Home();
const keys = {
  all: home.key({ scopes }),
  four: home.key({ scopes, rate: 0.01, burst: 4 }),
  five: home.key({ scopes, rate: 1000, burst: 4 }),
};
const FACEMATCH_ENDPOINTS = 'match_person,match_advanced,match_embeddings,embed,models';
const server = await TestServer.forFile({ env: { ...withCache, FACEMATCH_ENDPOINTS } }, home);

const [first, again, otherPerson] = cutOuts() as [Sharp, Sharp, Sharp];
const png = (image: Sharp) => image.clone().png().toBuffer();
/** Four photos of one person, and one of another person. */
const [one, two, mirrored, dim, other] = await Promise.all([
  png(first),
  png(again),
  png(first.clone().flop()),
  png(again.clone().linear(0.7)),
  png(otherPerson),
]);
const faceless = await blank(400, 300, 'png');

const send = (fields: Fields, key = keys.all): Promise<TestResponse> =>
  server.match(fields, { path: paths.person, key });
const verdict = ['match', 'confidence_percent', 'similarity', 'false_match_rate', 'extrapolated'];
const members = (body: Json, field: string, member: string) =>
  body[field].map((photo: Json) => photo[member]);

test('compares one photo of each person like the advanced endpoint for the largest faces', async () => {
  const { status, body } = await send({ image1: one, image2: samples.three });
  const fields = { image1: one, image2: samples.three, auto_pair_best: 'false' };
  const alone = await server.match(fields, { path: paths.advanced, key: keys.all });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...Object.fromEntries([...verdict, 'model'].map((name) => [name, alone.body[name]])),
    photos_compared: { image1: 1, image2: 1 },
    image1: [{ index: 0, filename: 'image1.bin', agreement_percent: null, face_index: 0 }],
  });
  expect(body.image2[0].faces).toEqual(alone.body.image2.faces);
});

test('averages the photos of a side, in any order, as a form and as JSON', async () => {
  const sides = { image1: [one, mirrored], image2: [two, dim] };
  const { body } = await send(sides);
  const embeddings = await Promise.all([one, mirrored, two, dim].map(embeddingOf));
  const vectors = embeddings.map(({ vector }) => vector);
  const means = [meanOf(vectors.slice(0, 2)), meanOf(vectors.slice(2))] as const;
  const compared = await compareEmbeddings(embeddings[0]!.of, ...means);
  expect(body.similarity).toBeCloseTo(compared.similarity, 3);
  // The increase of non-mated similarity with several photos is subtracted.
  expect(body.confidence_percent).toBeLessThanOrEqual(compared.confidence_percent);
  expect(body.photos_compared).toEqual({ image1: 2, image2: 2 });
  expect(Math.min(...members(body, 'image1', 'agreement_percent'))).toBeGreaterThan(70);
  const reversed = await send({ image1: [mirrored, one], image2: [dim, two] });
  expect(reversed.body.confidence_percent).toBe(body.confidence_percent);
  const base64 = (images: Buffer[]) => images.map((image) => image.toString('base64'));
  const json = { image1: base64(sides.image1), image2: base64(sides.image2) };
  const sent = await server.postJson(paths.person, json, keys.all);
  expect(sent.body.confidence_percent).toBe(body.confidence_percent);
});

test('rejects a photo of another person with its agreement, or warns if the client allows it', async () => {
  const fields = { image1: one, image2: [two, dim, other] };
  const { status, body } = await send(fields);
  expect([status, body.code, body.errors]).toEqual([
    422,
    'photos_disagree',
    [{ field: 'image2', index: 2, agreement_percent: expect.any(Number) }],
  ]);
  const lenient = await send({ ...fields, min_agreement_percent: '0' });
  expect(lenient.status).toBe(200);
  expect(members(lenient.body, 'image2', 'agreement_percent')[2]).toBe(body.errors[0].agreement_percent);
  expect(lenient.body.warnings).toContainEqual(
    expect.objectContaining({ code: 'photos_disagree', field: 'image2', index: 2 }),
  );
});

const second = (code: string) => ({ code, errors: [{ field: 'image2', code, index: 1 }] });
test.each<[string, Fields, number, Json]>([
  ['a side without a photo', { image1: one }, 400, { code: 'missing_field', field: 'image2' }],
  [
    'five photos on one side',
    { image1: Array(5).fill(one), image2: two },
    400,
    { code: 'too_many_images', limit: 4 },
  ],
  [
    '17 photos on the other',
    { image1: one, image2: Array(17).fill(two) },
    400,
    { code: 'too_many_images', limit: 16 },
  ],
  ['an empty photo', { image1: one, image2: [two, Buffer.alloc(0)] }, 400, second('missing_field')],
  ['a photo without a face', { image1: one, image2: [two, faceless] }, 422, second('no_face_found')],
  [
    'a file that is not an image',
    { image1: [one, Buffer.from('no image')], image2: two },
    415,
    { errors: [{ field: 'image1', code: 'unsupported_image_format', index: 1, detected: 'text' }] },
  ],
])('rejects the request for %s', async (_what, fields, status, body) => {
  expect(await send(fields)).toMatchObject({ status, body });
});

test('accepts the maximum number of photos, and uses a token for each beyond the second', async () => {
  const { status } = await send({ image1: Array(4).fill(one), image2: Array(16).fill(two) });
  expect(status).toBe(200);
  const responses = [
    await send({ image1: one, image2: [two, dim, two] }, keys.four),
    await send({ image1: one, image2: two }, keys.four),
  ];
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect((await send({ image1: one, image2: two }, keys.four)).status).toBe(429);
});

test('states how many photos a key can send if its bucket is too small for more', async () => {
  const beyond = await send({ image1: [one, mirrored], image2: [two, dim, two, dim] }, keys.five);
  const detail = expect.stringMatching(/at most 5 photos/);
  expect(beyond).toMatchObject({ status: 400, body: { code: 'too_many_images', limit: 5, detail } });
  expect((await send({ image1: [one, mirrored], image2: [two, dim, two] }, keys.five)).status).toBe(200);
});

test.each([
  [{ 'content-type': 'multipart/form-data; boundary=x', 'content-length': '68003000' }, 20 * 1024 ** 2],
  [{ 'content-type': 'application/json', 'content-length': '90670000' }, (80 / 3) * 1024 ** 2 + 64 * 1024],
])(
  'rejects seventeen photos of 4 MB before they are sent, and states the fix: %j',
  async (headers, limit) => {
    const line = `POST ${paths.person} HTTP/1.1`;
    const { status, body } = await server.sendRaw(
      server.requestHeaders({ ...headers, 'x-api-key': keys.all }, line),
    );
    expect([status, body.code, body.limit_bytes]).toEqual([413, 'body_too_large', Math.ceil(limit)]);
    expect(body.detail).toContain('FACEMATCH_MAX_BODY_BYTES');
  },
);

test('warns if the face of the person is not the largest', async () => {
  // The other person is in the third sample photo, but not with the largest face.
  const image2 = [other, await png(otherPerson.clone().flop()), samples.three];
  const rejected = await send({ image1: other, image2 });
  const { body } = await send({ image1: other, image2, min_agreement_percent: '0' });
  const [warning] = body.warnings.filter(({ code }: Json) => code === 'not_the_largest_face');
  expect(warning).toMatchObject({ field: 'image2', index: 2, face_index: expect.any(Number) });
  const fields = { image1: other, image2: samples.three };
  const alone = await server.match(fields, { path: paths.advanced, key: keys.all });
  expect(warning.face_index).toBe(alone.body.image2.face_index);
  const { face_index } = warning;
  expect(rejected.body).toMatchObject({ code: 'photos_disagree', errors: [{ index: 2, face_index }] });
  expect(rejected.body.detail).toContain(`face ${face_index}, which is not the largest`);
});

/** match/embeddings makes the same decision; its body has a list of embeddings for each person. */
test('compares embeddings of several photos like the photos, in lists of minimum and maximum length', async () => {
  const [a, b, c, d, e] = await Promise.all(
    [one, mirrored, two, dim, other].map(async (image) => (await embeddingOf(image)).text),
  );
  const { of } = await embeddingOf(one);
  const sixteen = Array(16).fill(c);
  const candidates = [
    { id: 'stranger', embedding: e },
    { id: 'both', embeddings: [c, d, e] },
    { id: 'again', embeddings: [c, d] },
    { id: 'one', embeddings: [c], embedding: null },
    { id: 'sixteen', embeddings: sixteen },
  ];
  const embeddingsBody = { ...of, embeddings: [a, b], candidates, searched: 1 };
  const { status, body } = await sendEmbeddings(embeddingsBody);
  expect(status).toBe(200);
  const person = await send({ image1: [one, mirrored], image2: [two, dim] });
  expect(body.agreement_percents).toEqual(members(person.body, 'image1', 'agreement_percent'));
  const byId = Object.fromEntries(body.results.map(({ id, ...result }: Json) => [id, result]));
  expect(byId.again).toEqual({
    ...Object.fromEntries(verdict.map((name) => [name, person.body[name]])),
    agreement_percents: members(person.body, 'image2', 'agreement_percent'),
  });
  expect(byId.one.agreement_percents).toBeUndefined();
  expect(byId.sixteen.agreement_percents).toHaveLength(16);
  // Non-mated similarity increases with more photos, so the same similarity gets a lower percentage.
  const last = { candidates: candidates.slice(3), searched: 1e6 };
  const { body: among } = await sendEmbeddings({ ...embeddingsBody, ...last });
  expect(among.results.map(({ id }: Json) => id)).toEqual(['one', 'sixteen']);
  expect(among.results[1].confidence_percent).toBeLessThan(among.results[0].confidence_percent);
  expect(body.matches).toBe(3);
  const percents = body.results.slice(0, -1).map(({ confidence_percent }: Json) => confidence_percent);
  expect(percents).toEqual(percents.toSorted((p: number, q: number) => q - p));
  const disagreement = { field: '/candidates/1/embeddings', index: 2, agreement_percent: expect.any(Number) };
  expect(body.results.at(-1)).toEqual({
    id: 'both',
    problem: {
      ...{ code: 'photos_disagree', status: 422, title: expect.any(String) },
      detail: expect.stringContaining('/candidates/1/embeddings/2'),
      errors: [disagreement],
    },
  });
  // Candidates with a problem are listed in addition to the best `limit` results.
  const best = await sendEmbeddings({ ...embeddingsBody, limit: 1 });
  expect(best.body.results.map(({ id }: Json) => id)).toEqual([body.results[0].id, 'both']);
  const { agreement_percent: _, ...place } = disagreement;
  const lenient = await sendEmbeddings({ ...embeddingsBody, min_agreement_percent: 0 });
  expect(lenient.body.results.every((result: Json) => 'match' in result)).toBe(true);
  expect(lenient.body.warnings).toEqual([expect.objectContaining({ code: 'photos_disagree', ...place })]);

  const rejected = await sendEmbeddings({ ...embeddingsBody, embeddings: [a, b, e] });
  expect(rejected).toMatchObject({ status: 422, body: { code: 'photos_disagree' } });
  expect(rejected.body.errors).toEqual([{ ...disagreement, field: '/embeddings' }]);
});

interface Embedding {
  text: string;
  vector: Float32Array;
  of: Json;
}

async function embeddingOf(image: Buffer): Promise<Embedding> {
  const { body } = await server.match({ image }, { path: paths.embed, key: keys.all });
  const text = body.image.faces[0].embedding;
  const bytes = Buffer.from(text, 'base64');
  const { pack, version, accuracy_mode } = body.embedding;
  const vector = new Float32Array(new Uint8Array(bytes).buffer);
  return { text, vector, of: { pack, version, accuracy_mode } };
}

function meanOf(vectors: Float32Array[]): Float32Array {
  const sum = vectors[0]!.map((_, i) => vectors.reduce((total, vector) => total + vector[i]!, 0));
  const length = Math.hypot(...sum);
  return sum.map((value) => value / length);
}

async function compareEmbeddings(of: Json, a: Float32Array, b: Float32Array): Promise<Json> {
  const text = (vector: Float32Array) => Buffer.from(vector.buffer).toString('base64');
  const candidates = [{ id: 'b', embedding: text(b) }];
  return (await sendEmbeddings({ ...of, embedding: text(a), candidates })).body.results[0];
}

function sendEmbeddings(embeddingsBody: Json): Promise<TestResponse> {
  return server.postJson(paths.embeddings, embeddingsBody, keys.all);
}
