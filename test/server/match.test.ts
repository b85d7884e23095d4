import { FacematchClient } from 'facematch/client';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { manifest, samples } from '../fixtures/images.ts';
import { uncalibratedPack } from '../fixtures/packs.ts';
import { newFolder } from '../support/folder.ts';
import { diagnose, facematchInHost } from './support/cli.ts';
import { type Json, lasting, paths, twoPhotos } from './support/client.ts';
import { idOf, TestServer, withCache } from './support/server.ts';

/** Tests 200 responses, and a pack without a calibration, whose responses must not claim a known rate. */

const server = await TestServer.forFile({ env: withCache });

describe('a match', () => {
  test('uses the loaded pack, and lists faces by their index', async () => {
    const { status, body } = await server.match(twoPhotos());
    expect(status).toBe(200);
    expect(body).toMatchObject({ match: true, threshold_percent: 70, accuracy_mode: 'balance' });
    expect(body.warnings.filter(({ code }: Json) => code !== 'not_the_largest_face')).toEqual([]);
    expect(body.model).toEqual({ pack: manifest.name, version: manifest.version });
    for (const image of [body.image1, body.image2]) {
      expect(image).toMatchObject({ width: 1920, format: 'jpeg', orientation: 1 });
      expect(image.faces.map((face: Json) => face.index)).toEqual([...image.faces.keys()]);
    }
  });

  test('matches the one person who is in both photos, with percentage and rate', async () => {
    const { body } = await server.match(twoPhotos());
    expect(body.pairs_compared).toBe(body.image1.faces.length * body.image2.faces.length);
    expect(body.pairs).toHaveLength(body.pairs_compared);
    const { image1, image2, similarity, confidence_percent } = body;
    const indexes = { image1_face_index: image1.face_index, image2_face_index: image2.face_index };
    expect(body.pairs[0]).toEqual({ ...indexes, similarity, confidence_percent });
    expect(confidence_percent).toBeGreaterThanOrEqual(70);
    // The rate is rounded to two significant digits. Once it reaches its floor, the percentage still increases.
    const percent = 30 - 10 * Math.log10(body.false_match_rate);
    if (body.extrapolated) expect(confidence_percent).toBeGreaterThanOrEqual(percent);
    else expect(percent).toBeCloseTo(confidence_percent, 0);
    // The person is on the right of the first photo and in the middle of the third.
    const chosen = image1.faces[image1.face_index];
    expect(chosen.box.x).toBe(Math.max(...image1.faces.map((face: Json) => face.box.x)));
  });

  test('returns no match for different people, as a result and not an error', async () => {
    const { status, body } = await server.match({ image1: samples.one, image2: samples.two });
    expect(status).toBe(200);
    expect(body.match).toBe(false);
    expect(body.confidence_percent).toBeLessThan(70);
  });
});

describe('response headers', () => {
  test('include a request id, the stages, the rate limit, and no-store', async () => {
    const { headers, body } = await server.match(twoPhotos());
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-request-id')).toBe(body.request_id);
    expect(body.request_id).toMatch(/^[0-9A-Z]{26}$/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('ratelimit-policy')).toMatch(/^"default";q=1000;w=\d+$/);
    expect(headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/);
    const stages = Object.entries(body.timings_ms).map(([stage, ms]) => `${stage};dur=${ms}`);
    expect(headers.get('server-timing')).toBe(stages.join(', '));
    expect(headers.get('uwebsockets')).toBeNull();
  });

  test("keep the client's own X-Request-Id if it is well-formed", async () => {
    const id = `A-z_0.9${'x'.repeat(121)}`;
    const { headers, body } = await server.match(twoPhotos(), { headers: { 'x-request-id': id } });
    expect(headers.get('x-request-id')).toBe(id);
    expect(body.request_id).toBe(id);
  });
});

test.each(['jpeg', 'png', 'webp'] as const)('recognises %s despite a wrong file name', async (format) => {
  const image1 = await sharp(samples.one).resize(960).toFormat(format).toBuffer();
  const data = new FormData();
  data.append('image2', new Blob([new Uint8Array(samples.three)]));
  data.append('image1', new Blob([Uint8Array.from(image1)], { type: 'text/plain' }), 'holiday.txt');
  const { status, body } = await server.send({ body: data });
  expect(status).toBe(200);
  expect(body.image1).toMatchObject({ format, width: 960 });
});

test('returns the basic response from the advanced endpoint without options', async () => {
  const [basic, same] = await Promise.all(
    [paths.match, paths.advanced].map((path) => server.match(twoPhotos(), { path })),
  );
  expect(lasting(same!.body)).toEqual(lasting(basic!.body));
});

test("returns the response through the package's client", async () => {
  const client = new FacematchClient({ url: server.origin, key: server.key });
  const response = await client.match(samples.one, samples.three);
  expect(lasting(response)).toEqual(lasting((await server.match(twoPhotos())).body));
});

describe('GET models', () => {
  test('returns the pack that responses depend on', async () => {
    const { status, body, headers } = await server.getModels();
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const { name: pack, version, min_det_score } = manifest;
    expect(body).toMatchObject({ pack, version, min_det_score });
    expect(body.files.map((file: Json) => file.role)).toEqual([
      ...['detector', 'close_detector', 'landmarks', 'embedder', 'cohort', 'human', 'occlusion'],
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

  test('accepts a key of any scope, and returns the default min_det_score', async () => {
    const key = server.home.key({ scopes: ['match:basic'] });
    await server.line(server.stderr, /key file was reloaded/);
    const { status, body } = await server.getModels({ key });
    expect(status).toBe(200);
    const fields = { ...twoPhotos(), min_det_score: String(body.min_det_score) };
    const set = await server.match(fields, { path: paths.advanced });
    expect(set.body.image1.faces).toEqual((await server.match(twoPhotos())).body.image1.faces);
  });

  test('responds to HEAD with headers only, and keeps the connection', async () => {
    const { status, headers, body } = await server.send({ path: paths.models, method: 'HEAD' });
    expect(status).toBe(200);
    expect(Number(headers.get('content-length'))).toBeGreaterThan(100);
    expect(body).toBeUndefined();
    expect((await server.getModels()).status).toBe(200);
  });
});

describe('telemetry', () => {
  test('logs one line per request, with its id, key id, route, status, bytes and timings', async () => {
    const { body } = await server.match(twoPhotos());
    const line = await server.logged(body.request_id);
    const { timings_ms } = body;
    expect(line).toMatchObject({ key_id: idOf(server.key), route: 'match', status: 200, timings_ms });
    expect(line.duration_ms).toEqual(expect.any(Number));
    expect(line.request_bytes).toBeGreaterThan(samples.one.length + samples.three.length);
  });

  test('writes one line to standard output', () => {
    expect(server.stdout).toEqual([`facematch listens on ${server.origin} (admin ${server.adminOrigin})`]);
  });
});

describe('an uncalibrated pack', async () => {
  const folder = newFolder();
  const pack = uncalibratedPack(folder);
  const detail = expect.stringContaining('The pack uncalibrated is not calibrated');
  const warning = { code: 'uncalibrated', field: 'model', detail };
  const demo = projectPath('node_modules/@vladmandic/face-api/demo');
  const photos = `${demo}/sample1.jpg ${demo}/sample3.jpg`;
  const unknown = { match: false, false_match_rate: 1, extrapolated: true };

  const FACEMATCH_ENDPOINTS = 'match,match_advanced,match_many,embed,match_embeddings,models';
  const server = await TestServer.forFile({
    env: { ...withCache, FACEMATCH_PACK: pack, FACEMATCH_ENDPOINTS },
  });

  test('returns the same percentage for a pair of faces at every endpoint, however many pairs are compared', async () => {
    const { body } = await server.match(twoPhotos());
    expect(body).toMatchObject({ ...unknown, warnings: expect.arrayContaining([warning]) });
    expect(body.pairs).toHaveLength(9);
    for (const pair of body.pairs)
      expect(pair.confidence_percent).toBeCloseTo(40 * Math.max(0, pair.similarity), 1);
    const { image1_face_index, image2_face_index, confidence_percent } = body.pairs[0];
    const same = { confidence_percent: body.confidence_percent };
    expect({ confidence_percent }).toEqual(same);
    const chosen = { image1_face_index: `${image1_face_index}`, image2_face_index: `${image2_face_index}` };
    const alone = await server.match({ ...twoPhotos(), ...chosen }, { path: paths.advanced });
    expect(alone.body).toMatchObject({ ...same, pairs_compared: 1 });
    const many = await server.match({ image1: samples.one, image2: [samples.three] }, { path: paths.many });
    expect(many.body).toMatchObject({ matches: 0, warnings: expect.arrayContaining([warning]) });
    expect(many.body.results[0]).toMatchObject({ ...unknown, ...same });
    const { body: embedded } = await server.match({ image: samples.three }, { path: paths.embed });
    const { embedding } = embedded.image.faces[image2_face_index];
    const embeddingsBody = await server.embeddingsRequest(samples.one);
    const candidates = [{ id: 'her', embedding }];
    const ranked = await server.postJson(paths.embeddings, { ...embeddingsBody, candidates, searched: 1e6 });
    expect(ranked.body).toMatchObject({ results: [{ ...unknown, ...same }], warnings: [warning] });
    const { stdout } = await facematchInHost(`match --json ${photos}`, folder, { FACEMATCH_PACK: pack });
    expect(JSON.parse(stdout)).toMatchObject({ ...same, pairs: body.pairs });
  });

  test('returns no match even for the same image, unless the threshold is at most 40', async () => {
    const ask = async (threshold_percent: string) => {
      const first = { image1_face_index: '0', image2_face_index: '0' };
      const fields = { image1: samples.one, image2: samples.one, ...first, threshold_percent };
      return (await server.match(fields, { path: paths.advanced })).body;
    };
    expect(await ask('70')).toMatchObject({ ...unknown, confidence_percent: 40, similarity: 1 });
    expect(await ask('39')).toMatchObject({ ...unknown, match: true });
  });

  test('has no calibration in GET models, and causes warnings in log, doctor and command line', async () => {
    expect((await server.getModels()).body).not.toHaveProperty('calibration');
    expect(server.stderr.join('\n')).toContain('the model pack is not calibrated');
    const env = { FACEMATCH_PACK: pack };
    const { of } = await diagnose(folder, env);
    const value = 'none: confidence_percent never exceeds 40';
    expect(of('calibration')).toMatchObject({ status: 'warning', value });
    const { code, stdout } = await facematchInHost(`match ${photos}`, folder, env);
    expect(code).toBe(0);
    expect(stdout).toContain('its false match rate is unknown');
    expect(stdout).toContain('warning     The pack uncalibrated is not calibrated');
  });
});
