import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manifest } from '../fixtures/pictures.ts';
import { type Json, match, paths, send, twoPhotos } from './support/client.ts';
import { blank, samples } from './support/pictures.ts';
import { TestServer } from './support/server.ts';

/** The contract's answers: the controls of the advanced endpoint, and what the answers rest on. */

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.stop());

describe('the advanced endpoint', () => {
  const advanced = (fields: Record<string, string>, photos = twoPhotos()) =>
    match(server, { ...photos, ...fields }, { path: paths.advanced });

  test('with nothing set answers as the basic one', async () => {
    const [basic, same] = await Promise.all([match(server, twoPhotos()), advanced({})]);
    const { request_id: _a, timings_ms: _b, ...left } = basic.body;
    const { request_id: _c, timings_ms: _d, ...right } = same.body;
    expect(right).toEqual(left);
  });

  test('one index given compares that face with all of the other picture', async () => {
    const { body } = await advanced({ image1_face_index: '1' });
    expect(body.image1.face_index).toBe(1);
    expect(body.pairs_compared).toBe(body.image2.faces.length);
  });

  test('both indices given compare that one pair', async () => {
    const { body } = await advanced({ image1_face_index: '0', image2_face_index: '1' });
    expect(body).toMatchObject({ pairs_compared: 1, image1: { face_index: 0 }, image2: { face_index: 1 } });
  });

  test('auto_pair_best false takes the largest face of each', async () => {
    const { body } = await advanced({ auto_pair_best: 'false' });
    expect(body).toMatchObject({ pairs_compared: 1, image1: { face_index: 0 }, image2: { face_index: 0 } });
  });

  test('min_det_score drops faces before anything else', async () => {
    const { body: all } = await advanced({});
    const scores = all.image1.faces.map((face: Json) => face.detection_score);
    const least = Math.min(...scores);
    const { body: fewer } = await advanced({ min_det_score: String(least + 0.0015) });
    expect(fewer.image1.faces.length).toBeLessThan(scores.length);
  });

  test.each(['fast', 'balance'])('accuracy_mode %s is taken and told', async (accuracy_mode) => {
    const { body } = await advanced({ accuracy_mode });
    expect(body).toMatchObject({ accuracy_mode, match: true });
  });

  test.each(['true', 'false'])('use_heuristic_fallback %s is taken', async (use_heuristic_fallback) => {
    expect((await advanced({ use_heuristic_fallback })).status).toBe(200);
  });

  test('a picture without a face stays without one, fallback or not', async () => {
    const photos = { image1: await blank(400, 300, 'png'), image2: samples.one };
    for (const use_heuristic_fallback of ['true', 'false']) {
      const { body } = await advanced({ use_heuristic_fallback }, photos);
      expect(body).toMatchObject({
        code: 'no_face_found',
        errors: [{ field: 'image1', code: 'no_face_found' }],
      });
    }
  });
});

describe('GET models', () => {
  test('tells what the answers rest on', async () => {
    const { status, body, headers } = await send(server, { path: paths.models, method: 'GET' });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({
      pack: manifest.name,
      version: expect.any(String),
      min_det_score: expect.any(Number),
    });
    expect(body.files.map((file: Json) => file.role)).toEqual([
      'detector',
      'landmarks',
      'embedder',
      'cohort',
      'human',
    ]);
    for (const file of body.files) {
      expect(file.sha256).toMatch(/^[0-9a-f]{64}$/);
      expect(file.licence).not.toBe('');
    }
    for (const mode of ['fast', 'balance']) {
      expect(body.calibration[mode].fitted_on).not.toBe('');
      expect(body.calibration[mode].points.length).toBeGreaterThan(1);
    }
  });

  test('takes a key of any scope, and its min_det_score is the default of the form', async () => {
    const key = server.home.key({ scopes: ['match:basic'] });
    await server.line(server.stderr, /key file was reloaded/);
    const { status, body } = await send(server, { path: paths.models, method: 'GET', key });
    expect(status).toBe(200);
    const [plain, set] = await Promise.all([
      match(server, twoPhotos(), { path: paths.advanced }),
      match(server, { ...twoPhotos(), min_det_score: String(body.min_det_score) }, { path: paths.advanced }),
    ]);
    expect(set.body.image1.faces).toEqual(plain.body.image1.faces);
  });

  test('HEAD answers with the head alone, and the connection goes on', async () => {
    const { status, headers, body } = await send(server, { path: paths.models, method: 'HEAD' });
    expect(status).toBe(200);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(100);
    expect(body).toBeUndefined();
    expect((await send(server, { path: paths.models, method: 'GET' })).status).toBe(200);
  });
});
