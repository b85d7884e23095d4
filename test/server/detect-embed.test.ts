import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { withQualityComponents } from '../../src/endpoints/face.ts';
import type { AccuracyMode } from '../../src/engine/addon.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import { cosine } from '../../src/scoring/similarity.ts';
import { analyseOptions, blank, manifest, pack, samples } from '../fixtures/images.ts';
import { without } from '../support/without.mjs';
import { type Answer, expectProblem, type Fields, type Json, match, paths } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Endpoints that look at one image. */

const faceless = await blank(400, 300, 'png');
const env = { FACEMATCH_ENDPOINTS: 'match,match_advanced,detect,embed' };
const server = await TestServer.forFile({ env });

const ask = (endpoint: 'detect' | 'embed', fields: Fields): Promise<Answer> =>
  match(server, fields, { path: paths[endpoint] });
const vector = (base64: string) => {
  const bytes = Buffer.from(base64, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_item, index) => bytes.readFloatLE(4 * index));
};

describe('detect', () => {
  test('tells the faces as a match of the same image does, their quality components, and its own times', async () => {
    const { status, body, headers } = await ask('detect', { image: samples.one });
    const matched = await match(server, { image1: samples.one, image2: samples.one });
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

  test('finds no face in an image that has none', async () => {
    const { status, body } = await ask('detect', { image: faceless });
    expect([status, body.image.faces]).toEqual([200, []]);
  });
});

describe('embed', () => {
  test.each<AccuracyMode>(['fast', 'balance'])(
    'gives each face its unit vector, in mode %s',
    async (mode) => {
      const { status, body } = await ask('embed', { image: samples.one, accuracy_mode: mode });
      expect(status).toBe(200);
      expect(body.embedding).toEqual({
        ...body.model,
        accuracy_mode: mode,
        dimensions: 512,
        encoding: 'float32-le-base64',
        normalised: true,
      });
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

  test('of the face that was asked for alone; the faces are those of detect', async () => {
    const { body } = await ask('embed', { image: samples.one, face_index: '1' });
    expect(body.image.faces.map((face: Json) => 'embedding' in face)).toEqual([false, true, false]);
    const detected = await ask('detect', { image: samples.one });
    const faces = body.image.faces.map((face: Json) => without(face, 'embedding'));
    expect(faces).toEqual(detected.body.image.faces);
    const beyond = await ask('embed', { image: samples.one, face_index: '3' });
    expectProblem(beyond, 'face_index_out_of_range', { faces_found: 3 });
  });

  test('refuses an image without a face', async () => {
    const errors = [{ field: 'image', code: 'no_face_found' }];
    expectProblem(await ask('embed', { image: faceless }), 'no_face_found', { errors });
  });

  test('warns of the faces that were asked for, when they are poor', async () => {
    const image = await sharp(samples.one).resize(200).png().toBuffer();
    const { body } = await ask('embed', { image, face_index: '0', min_det_score: '0.3' });
    const of = (face_index: number) => body.image.faces[face_index].quality.face_pixels;
    const details = body.warnings.map(({ reason, detail }: Json) => (reason === 'small' ? detail : ''));
    expect(details.filter(Boolean)).toEqual([expect.stringContaining(`face_pixels is ${of(0)},`)]);
  });

  test('writes nothing of what it gives into the log', async () => {
    const { body } = await ask('embed', { image: samples.one });
    await server.logged(body.request_id);
    for (const face of body.image.faces) {
      expect(server.stderr.join('\n')).not.toContain(face.embedding.slice(0, 12));
    }
  });
});
