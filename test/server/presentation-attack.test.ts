import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { livePack, redAndBlue, redIsLive } from '../fixtures/liveness.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { type Fields, type Json, match, paths, send } from './support/client.ts';
import { samples } from './support/pictures.ts';
import { expectProblem } from './support/problem.ts';
import { TestServer } from './support/server.ts';

/** Live scores by a pack whose nets take pictures that are rather red than blue for live, over sockets. */

const folder = newFolder();
const pack = livePack(
  folder,
  [2.7, 4].map((scale) => ({ net: redIsLive, scale })),
  0.4,
);

const detectPath = '/API/v1.0/face/detect/upload';

const [live, attack] = await redAndBlue();

let server: TestServer;
beforeAll(async () => {
  const FACEMATCH_ENDPOINTS = 'match,match_advanced,match_many,detect,embed,models';
  server = await TestServer.start({ env: { FACEMATCH_PACK: pack, FACEMATCH_ENDPOINTS } });
});
afterAll(() => server.stop());

const ask = (path: string, fields: Fields) => match(server, fields, { path });
const detecting = { detect_presentation_attack: 'true' };
const rejecting = { reject_presentation_attack: 'true' };
const scoreOf = ({ faces }: Json): number => faces[0].live_score;

describe('detect_presentation_attack', () => {
  test('gives each face a live_score of three digits, and no verdict', async () => {
    const { status, body } = await ask(paths.advanced, { image1: live, image2: attack, ...detecting });
    expect(status).toBe(200);
    expect(scoreOf(body.image1)).toBeGreaterThan(0.6);
    expect(scoreOf(body.image2)).toBeLessThan(0.2);
    for (const image of [body.image1, body.image2]) {
      expect(scoreOf(image)).toBe(Math.round(scoreOf(image) * 1000) / 1000);
    }
    expect(body.warnings).toEqual([]);
  });

  test('is off by default, at every endpoint', async () => {
    const two = { image1: live, image2: attack };
    const answers = [
      await ask(paths.advanced, two),
      await ask(paths.many, two),
      await ask(detectPath, { image: attack }),
      await ask(paths.embed, { image: attack }),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain('live_score');
    }
  });

  test('finds the same at every endpoint, as a form and as JSON', async () => {
    const { body } = await ask(detectPath, { image: samples.one, ...detecting });
    const scores = body.image.faces.map(({ live_score }: Json) => live_score);
    expect(scores).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
    const json = await send(server, {
      path: detectPath,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ image: samples.one.toString('base64'), detect_presentation_attack: true }),
    });
    const embedded = await ask(paths.embed, { image: samples.one, ...detecting });
    const many = await ask(paths.many, { image1: samples.one, image2: [samples.one], ...detecting });
    for (const { faces } of [
      json.body.image,
      embedded.body.image,
      many.body.image1,
      many.body.results[0].image2,
    ]) {
      expect(faces.map(({ live_score }: Json) => live_score)).toEqual(scores);
    }
  });

  test('is unknown to the basic endpoint', async () => {
    const { status, body } = await ask(paths.match, { image1: live, image2: attack, ...rejecting });
    expect(status).toBe(200);
    expect(body.warnings).toMatchObject([{ code: 'unknown_field', field: 'reject_presentation_attack' }]);
    expect(JSON.stringify(body.image2)).not.toContain('live_score');
  });
});

describe('reject_presentation_attack', () => {
  test('refuses a compared face below the threshold, with its picture, its index and its score', async () => {
    const seen = await ask(paths.advanced, { image1: live, image2: attack, ...detecting });
    const refused = await ask(paths.advanced, { image1: live, image2: attack, ...rejecting });
    expectProblem(refused, 'presentation_attack', {
      errors: [{ field: 'image2', face_index: 0, live_score: scoreOf(seen.body.image2) }],
      detail: expect.stringContaining('for image2: a face looks like one on a photo or a screen'),
    });
    expect(refused.status).toBe(422);
  });

  test('lets live faces pass, and shows their scores', async () => {
    const { status, body } = await ask(paths.advanced, { image1: live, image2: live, ...rejecting });
    expect({ status, match: body.match }).toEqual({ status: 200, match: true });
    expect(scoreOf(body.image1)).toBeGreaterThan(0.4);
  });

  test('goes by the threshold of the request before that of the pack', async () => {
    const fields = { image1: live, image2: attack, ...rejecting };
    expect((await ask(paths.advanced, { ...fields, live_threshold: '0' })).status).toBe(200);
    const all = await ask(paths.advanced, { ...fields, live_threshold: '1' });
    expect(all.body.errors.map(({ field }: Json) => field)).toEqual(['image1', 'image2']);
  });

  test('is the problem of one target, or for image1 of the request', async () => {
    const fields = { image1: live, image2: [attack, live], ...rejecting };
    const { status, body } = await ask(paths.many, fields);
    expect(status).toBe(200);
    expect(body.results[0].problem).toMatchObject({
      code: 'presentation_attack',
      status: 422,
      face_index: 0,
      live_score: expect.any(Number),
    });
    expect(body.results[1].match).toBe(true);
    const first = await ask(paths.many, { image1: attack, image2: [live], ...rejecting });
    expectProblem(first, 'presentation_attack', {
      errors: [{ field: 'image1', face_index: 0, live_score: expect.any(Number) }],
    });
  });

  test('at embed is about the faces whose embeddings are asked for', async () => {
    const strict = { image: samples.one, ...rejecting, live_threshold: '1' };
    const all = await ask(paths.embed, strict);
    expect(all.body.errors.map(({ face_index }: Json) => face_index)).toEqual([0, 1, 2]);
    const one = await ask(paths.embed, { ...strict, face_index: '1' });
    expect(one.body.errors).toMatchObject([{ field: 'image', face_index: 1 }]);
  });

  test('comes after poor quality, of which a score says little', async () => {
    const small = await sharp(attack).resize({ width: 50 }).png().toBuffer();
    const fields = { image1: small, image2: live, ...rejecting, reject_low_quality: 'true' };
    expectProblem(await ask(paths.advanced, { ...fields, min_det_score: '0.3' }), 'low_quality_face');
  });
});

test('GET models names the nets and the threshold', async () => {
  const { body } = await send(server, { method: 'GET', path: paths.models });
  expect(body.liveness).toEqual({ live_threshold: 0.4 });
  const nets = body.files.filter(({ role }: Json) => role === 'liveness');
  expect(nets).toMatchObject([{ file: 'live-1.onnx', pack: 'live' }, { file: 'live-2.onnx' }]);
});

describe('a pack without liveness nets', () => {
  test.each(['detect_presentation_attack', 'reject_presentation_attack'])(
    'is 400 invalid_field for %s, and says why',
    async (field) => {
      const plain = await TestServer.start();
      try {
        const fields = { image1: live, image2: live };
        const refused = await match(plain, { ...fields, [field]: 'true' }, { path: paths.advanced });
        expectProblem(refused, 'invalid_field', {
          field,
          expected: 'false, because the model pack has no liveness nets',
        });
        expect(refused.status).toBe(400);
        const asked = await match(plain, { ...fields, [field]: 'false' }, { path: paths.advanced });
        expect(asked.status).toBe(200);
        expect(await send(plain, { method: 'GET', path: paths.models })).not.toHaveProperty('body.liveness');
      } finally {
        await plain.stop();
      }
    },
  );

  test('is a failure of the command line, too', async () => {
    const file = join(folder, 'live.png');
    await sharp(live).toFile(file);
    const plain = await run(program, ['detect', '--live-score', file], folder, { FACEMATCH_PACK: 'default' });
    expect(plain.code).toBe(1);
    expect(plain.stderr).toContain('The pack default has no liveness nets');
    const { code, stdout } = await run(program, ['detect', '--live-score', file], folder, {
      FACEMATCH_PACK: pack,
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/ live 0\.\d{3} /);
  });
});
