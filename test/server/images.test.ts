import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { withQualityComponents } from '../../src/endpoints/face.ts';
import type { AccuracyMode } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';

import { cosine } from '../../src/scoring/similarity.ts';
import { analyseOptions, blank, manifest, pack, samples } from '../fixtures/images.ts';
import { without } from '../support/without.mjs';
import { expectProblem, type Fields, type Json, paths, type TestResponse } from './support/client.ts';
import { Home, TestServer, withCache } from './support/server.ts';

/** Tests the endpoints that analyse one image, or compare one image with several. */

const home = new Home();
const keys = {
  five: home.key({ rate: 0.01, burst: 5 }),
  two: home.key({ rate: 0.01, burst: 2 }),
};
const faceless = await blank(400, 300, 'png');
const env = { ...withCache, FACEMATCH_ENDPOINTS: 'match,match_advanced,match_many,detect,embed' };
const server = await TestServer.forFile({ env }, home);

const send = (endpoint: 'detect' | 'embed', fields: Fields): Promise<TestResponse> =>
  server.match(fields, { path: paths[endpoint] });
const vector = (base64: string) => {
  const bytes = Buffer.from(base64, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_item, index) => bytes.readFloatLE(4 * index));
};

describe('detect', () => {
  test('returns the same faces as a match, with their quality components, and its own times', async () => {
    const { status, body, headers } = await send('detect', { image: samples.one });
    const matched = await server.match({ image1: samples.one, image2: samples.one });
    const { faces } = matched.body.image1;
    expect(status).toBe(200);
    expect(body).toEqual({
      request_id: expect.any(String),
      accuracy_mode: 'balance',
      image: { ...without(matched.body.image1, 'face_index'), faces: withQualityComponents(faces) },
      model: matched.body.model,
      warnings: [],
      timings_ms: body.timings_ms,
    });
    expect(Object.keys(body.timings_ms)).toEqual(Object.keys(matched.body.timings_ms));
    expect(headers.get('server-timing')).toContain('detect;dur=');
    expect(JSON.stringify(body)).not.toContain('embedding');
  });

  test('returns no face for an image without a face', async () => {
    const { status, body } = await send('detect', { image: faceless });
    expect([status, body.image.faces]).toEqual([200, []]);
  });
});

describe('embed', () => {
  test.each<AccuracyMode>(['fast', 'balance'])(
    'returns a unit vector for each face in mode %s',
    async (mode) => {
      const { status, body } = await send('embed', { image: samples.one, accuracy_mode: mode });
      expect(status).toBe(200);
      const form = { dimensions: 512, encoding: 'float32-le-base64', normalised: true };
      expect(body.embedding).toEqual({ ...body.model, accuracy_mode: mode, ...form });
      const options = { ...analyseOptions, accuracy_mode: mode };
      const known = loadPack(pack, manifest).analyse(pack, samples.one, options);
      if (!known.ok) throw new Error(known.code);
      expect(body.image.faces).toHaveLength(3);
      for (const [index, face] of body.image.faces.entries()) {
        expect(vector(face.embedding)).toHaveLength(512);
        expect(cosine(vector(face.embedding), known.image.faces[index]!.embedding)).toBeCloseTo(1, 6);
      }
    },
  );

  test('returns the embedding of the requested face only, and the faces of detect', async () => {
    const { body } = await send('embed', { image: samples.one, face_index: '1' });
    expect(body.image.faces.map((face: Json) => 'embedding' in face)).toEqual([false, true, false]);
    const detected = await send('detect', { image: samples.one });
    const faces = body.image.faces.map((face: Json) => without(face, 'embedding'));
    expect(faces).toEqual(detected.body.image.faces);
    const beyond = await send('embed', { image: samples.one, face_index: '3' });
    expectProblem(beyond, 'face_index_out_of_range', { faces_found: 3 });
  });

  test('rejects an image without a face', async () => {
    const errors = [{ field: 'image', code: 'no_face_found' }];
    expectProblem(await send('embed', { image: faceless }), 'no_face_found', { errors });
  });

  test('warns about requested faces of low quality', async () => {
    const image = await sharp(samples.one).resize(200).png().toBuffer();
    const { body } = await send('embed', { image, face_index: '0', min_det_score: '0.3' });
    const of = (face_index: number) => body.image.faces[face_index].quality.face_pixels;
    const details = body.warnings.map(({ reason, detail }: Json) => (reason === 'small' ? detail : ''));
    expect(details.filter(Boolean)).toEqual([expect.stringContaining(`face_pixels is ${of(0)};`)]);
  });
});

describe('many', () => {
  const send = (fields: Fields, key = server.key): Promise<TestResponse> =>
    server.match({ image1: samples.one, ...fields }, { path: paths.many, key });

  test.each<Fields>([
    {},
    { accuracy_mode: 'fast', threshold_percent: '95', image1_face_index: '1', auto_pair_best: 'false' },
  ])('compares each target as in a separate request, with %j', async (choice) => {
    const targets = [samples.three, samples.two];
    const { status, body, headers } = await send({ image2: targets, ...choice });
    expect(status).toBe(200);
    for (const [index, image2] of targets.entries()) {
      const alone = await server.match({ image1: samples.one, image2, ...choice }, { path: paths.advanced });
      const { index: at, filename, image1_face_index, ...verdict } = without(body.results[index], 'warnings');
      expect(alone.body).toMatchObject(verdict);
      expect([at, filename, image1_face_index]).toEqual([index, 'image2.bin', alone.body.image1.face_index]);
    }
    const [best] = body.results.toSorted((a: Json, b: Json) => b.confidence_percent - a.confidence_percent);
    expect(body.image1.face_index).toBe(best.image1_face_index);
    expect(body.matches).toBe(body.results.filter((result: Json) => result.match).length);
    expect(body).toMatchObject({ threshold_percent: Number(choice.threshold_percent ?? 70) });
    expect(headers.get('server-timing')).toContain('embed;dur=');
  });

  test.each<[string, Fields, number, Json]>([
    ['no target', {}, 400, { code: 'missing_field', field: 'image2' }],
    [
      'a first image without a face',
      { image1: faceless, image2: samples.three },
      422,
      { code: 'no_face_found', errors: [{ field: 'image1', code: 'no_face_found' }] },
    ],
    [
      'a face that the first image lacks',
      { image2: samples.three, image1_face_index: '3' },
      422,
      { code: 'face_index_out_of_range', field: 'image1', faces_found: 3 },
    ],
  ])('rejects a request with %s', async (_what, fields, status, body) => {
    expect(await send(fields)).toMatchObject({ status, body });
  });

  test('warns about multiple comparisons if several targets match', async () => {
    const { body } = await send({ image2: [samples.three, samples.one], image2_face_index: '0' });
    expect(body.matches).toBe(2);
    expect(body.warnings).toEqual([
      expect.objectContaining({ code: 'unknown_field', field: 'image2_face_index' }),
      expect.objectContaining({ code: 'not_the_largest_face', field: 'image1', face_index: 2 }),
      expect.objectContaining({ code: 'multiple_comparisons', field: 'image2' }),
    ]);
  });

  test('uses a token for each target, and rejects more targets than the bucket can hold', async () => {
    const left = ({ headers }: TestResponse) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    const image2 = [faceless, faceless, faceless];
    const first = await send({ image2 }, keys.five);
    expect([first.status, left(first)]).toEqual([200, 2]);
    const second = await send({ image2 }, keys.five);
    expect([second.status, left(second)]).toEqual([429, 1]);
    // The message states the wait for all three tokens, 200 s less the time of this test; for two tokens it is 100 s.
    const wait = second.headers.get('retry-after');
    expect(Number(wait)).toBeGreaterThan(110);
    expect(second.body.detail).toMatch(new RegExp(`^This request costs 3 tokens.*; wait ${wait} s, then`));
    const dear = await send({ image2 }, keys.two);
    expect([dear.status, dear.body.code, dear.body.limit]).toEqual([400, 'too_many_images', 2]);
    // Only the first token is used, before the images are counted.
    expect(left(dear)).toBe(1);
  });
});
