import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import { blank, samples } from '../fixtures/images.ts';
import { livenessNet, livePack, redAndBlue, redIsLive } from '../fixtures/packs.ts';
import { newFolder } from '../support/folder.ts';
import { cutOuts } from '../support/portraits.mjs';
import { expectFailure, facematchInHost } from './support/cli.ts';
import { expectProblem, type Fields, type Json, lasting, paths, twoPhotos } from './support/client.ts';
import { failingStart, TestServer, withCache } from './support/server.ts';

/**
 * Tests which faces are listed and compared, low-quality faces, and live scores from models that classify images
 * with more red than blue as live.
 */

const folder = newFolder();
const nets = [2.7, 4].map((scale) => ({ net: redIsLive, scale }));
const FACEMATCH_PACK = livePack(folder, nets, 0.4);
const FACEMATCH_ENDPOINTS = 'match_advanced,match_many,detect,embed,models';
// Analysing a crowd takes long.
const longTimeout = { FACEMATCH_IMAGE_TIMEOUT_MS: '60000' };
const server = await TestServer.forFile({
  env: {
    ...withCache,
    ...longTimeout,
    FACEMATCH_DEADLINE_MS: '60000',
    FACEMATCH_PACK,
    FACEMATCH_ENDPOINTS,
  },
});

const [live, attack] = await redAndBlue();
const portraits = (cutOuts() as Sharp[]).map((face) => face.png().toBuffer());
/** Portraits of two people. The other person's face is not the largest in the group photo. */
const [, good, other] = (await Promise.all(portraits)) as [Buffer, Buffer, Buffer];

const ask = (path: string, fields: Fields) => server.match(fields, { path });
const compare = (image1: Buffer, image2: Buffer, fields: Fields = {}) =>
  ask(paths.advanced, { image1, image2, ...fields });

describe('a compared face', () => {
  const changed = (how: (photo: Sharp) => Sharp) => how(sharp(good)).png().toBuffer();
  const reasonsOf = ({ warnings }: Json, field: string) =>
    warnings.filter((warning: Json) => warning.field === field).map(({ reason }: Json) => reason);

  test('gets a quality warning with the number in the response', async () => {
    const { status, body } = await compare(good, await changed((photo) => photo.blur(6)));
    expect([status, reasonsOf(body, 'image1')]).toEqual([200, []]);
    const { detail } = body.warnings.find((warning: Json) => warning.reason === 'blurred');
    const { sharpness } = body.image2.faces[body.image2.face_index].quality;
    expect(detail).toContain(` ${sharpness}; `);
  });

  test('is judged alone: a low-quality bystander gets no warning', async () => {
    const both = await sharp(good)
      .resize({ width: 200 })
      .extend({ right: 70, background: '#789' })
      .composite([{ input: await changed((photo) => photo.resize({ width: 62 })), gravity: 'east' }])
      .png()
      .toBuffer();
    const large = (await compare(both, good, { image1_face_index: '0' })).body;
    expect([large.image1.faces.length, large.warnings]).toEqual([2, []]);
    const chosen = (await compare(both, good, { image1_face_index: '1' })).body;
    expect(reasonsOf(chosen, 'image1')).toContain('small');
  });

  test('is rejected on request, without a match result and without the other image', async () => {
    const reject = { reject_low_quality: 'true' };
    const small = await changed((photo) => photo.resize({ width: 50 }));
    const { body } = await compare(small, good);
    const mated = await compare(small, good, reject);
    const nonMated = await compare(small, other, reject);
    expectProblem(mated, 'low_quality_face', {
      errors: [{ field: 'image1', reasons: reasonsOf(body, 'image1') }],
      detail: body.warnings.map(({ detail }: Json) => detail).join(' '),
    });
    expect(body.match).toBe(true);
    expect((await compare(small, other)).body.match).toBe(false);
    expect(lasting(nonMated.body)).toEqual(lasting(mated.body));
    expect(mated.headers.get('server-timing')).toBeNull();
    expectProblem(await compare(small, await blank(320, 320, 'png'), reject), 'no_face_found');
  });
});

test('warns about each low-quality face to embed, with its index, and rejects it on request', async () => {
  const image = await sharp(samples.one).resize({ width: 240 }).png().toBuffer();
  const { body } = await ask(paths.embed, { image });
  const of = (index: number) => body.warnings.filter(({ face_index }: Json) => face_index === index);
  const errors = [0, 1, 2].map((face_index) => ({
    ...{ field: 'image', face_index },
    reasons: of(face_index).map(({ reason }: Json) => reason),
  }));
  for (const [index, { reasons }] of errors.entries()) {
    expect(reasons).toContain('small');
    expect(of(index)[0].detail).toMatch(new RegExp(`^Face ${index} of image is too small: `));
  }
  const rejecting = { image, reject_low_quality: 'true' };
  expectProblem(await ask(paths.embed, rejecting), 'low_quality_face', { errors });
  const one = await ask(paths.embed, { ...rejecting, face_index: '1' });
  expectProblem(one, 'low_quality_face', { errors: [errors[1]] });
});

describe('a live score', () => {
  const detecting = { detect_presentation_attack: 'true' };
  const rejecting = { reject_presentation_attack: 'true' };
  const scoresOf = ({ faces }: Json): number[] => faces.map(({ live_score }: Json) => live_score);

  test('is returned only on request, with three decimals', async () => {
    const { status, body } = await compare(live, attack, detecting);
    expect([status, body.warnings]).toEqual([200, []]);
    const [score, low] = [body.image1, body.image2].map((image) => scoresOf(image)[0]!);
    expect([score! > 0.6, low! < 0.2, low! * 1000]).toEqual([true, true, Math.round(low! * 1000)]);
    expect(JSON.stringify((await compare(live, attack)).body)).not.toContain('live_score');
  });

  test('is the same at every endpoint', async () => {
    const seen = scoresOf((await ask(paths.detect, { image: samples.one, ...detecting })).body.image);
    expect(seen).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
    const embedded = await ask(paths.embed, { image: samples.one, ...detecting });
    const many = await ask(paths.many, { image1: samples.one, image2: [samples.one], ...detecting });
    for (const image of [embedded.body.image, many.body.image1, many.body.results[0].image2])
      expect(scoresOf(image)).toEqual(seen);
  });

  test('is rejected below the threshold of the request, or otherwise of the pack', async () => {
    const seen = await compare(live, attack, detecting);
    expectProblem(await compare(live, attack, rejecting), 'presentation_attack', {
      errors: [{ field: 'image2', face_index: 0, live_score: scoresOf(seen.body.image2)[0] }],
    });
    const { status, body } = await compare(live, live, rejecting);
    expect([status, body.match]).toEqual([200, true]);
    expect(scoresOf(body.image1)[0]).toBeGreaterThan(0.4);
    const lenient = await compare(live, attack, { ...rejecting, live_threshold: '0' });
    const strict = await compare(live, attack, { ...rejecting, live_threshold: '1' });
    expect([lenient.status, strict.body.errors.length]).toEqual([200, 2]);
  });

  test('is checked for each target, for image1, and at embed for the requested faces', async () => {
    const { status, body } = await ask(paths.many, { image1: live, image2: [attack, live], ...rejecting });
    expect([status, body.results[1].match]).toEqual([200, true]);
    const problem = { code: 'presentation_attack', status: 422, face_index: 0 };
    expect(body.results[0].problem).toMatchObject({ ...problem, live_score: expect.any(Number) });
    const first = await ask(paths.many, { image1: attack, image2: [live], ...rejecting });
    expectProblem(first, 'presentation_attack', {
      errors: [{ field: 'image1', face_index: 0, live_score: expect.any(Number) }],
    });
    const strict = { image: samples.one, ...rejecting, live_threshold: '1' };
    const all = await ask(paths.embed, strict);
    expect(all.body.errors.map(({ face_index }: Json) => face_index)).toEqual([0, 1, 2]);
    const one = await ask(paths.embed, { ...strict, face_index: '1' });
    expect(one.body.errors).toMatchObject([{ field: 'image', face_index: 1 }]);
  });

  test('comes from models that GET models lists, with the threshold', async () => {
    const { body } = await server.getModels();
    expect(body.liveness).toEqual({ live_threshold: 0.4 });
    const listed = body.files.filter(({ role }: Json) => role === 'liveness');
    expect(listed).toMatchObject([{ file: 'live-1.onnx', pack: 'live' }, { file: 'live-2.onnx' }]);
  });

  test('needs models that run: the server does not start with one that returns infinity', async () => {
    const infinite = [Infinity, 0, 0] as const;
    const net = livenessNet([infinite, infinite, infinite]);
    const broken = livePack(folder, [{ net, scale: 2.7 }]);
    expect(await failingStart({ FACEMATCH_PACK: broken })).toContain(
      'a liveness net returned NaN or infinity',
    );
  });

  test('is printed by facematch detect, which fails if the pack has no liveness models', async () => {
    writeFileSync(join(folder, 'live.png'), live);
    const print = (FACEMATCH_PACK: string) =>
      facematchInHost('detect --live-score live.png', folder, { FACEMATCH_PACK });
    const stdout = expect.stringMatching(/ live 0\.\d{3} /);
    expect(await print(FACEMATCH_PACK)).toEqual({ code: 0, stderr: '', stdout });
    expectFailure(await print('default'), 1, 'The pack default has no liveness models');
  });
});

const advanced = (fields: Fields) => ask(paths.advanced, { ...twoPhotos(), ...fields });
const all: Json = (await advanced({})).body;

const weight = ({ box, detection_score }: Json) => box.width * box.height * detection_score;
const boxes = (image: Json) => image.faces.map(({ box }: Json) => box);

/** Checks that faces are listed largest first, with a tolerance for rounding to 0.1 pixels and 0.001 of a score. */
function expectOrder({ faces }: Json): void {
  for (const [i, face] of faces.entries()) {
    expect(face.index).toBe(i);
    if (i > 0) expect(weight(face)).toBeLessThanOrEqual(weight(faces[i - 1]) * 1.005);
  }
}

describe('listed faces', () => {
  test('include all faces, largest first, and an index beyond them is rejected', async () => {
    const first = { image1: await collageOf(22), image2_face_index: '0' };
    const { body } = await advanced(first);
    expect(body.image1.faces).toHaveLength(22);
    expectOrder(body.image1);
    expect(body.pairs_compared).toBe(22);
    expect((await advanced({ ...first, image1_face_index: '21' })).body.image1.face_index).toBe(21);
    const beyond = await advanced({ ...first, image1_face_index: '22' });
    expectProblem(beyond, 'face_index_out_of_range', { field: 'image1', faces_found: 22 });
  });

  test('include at most a hundred, and a warning reports omitted ones', async () => {
    const crowd = await collageOf(104);
    const warningOf = (field: string) => ({
      code: 'faces_omitted',
      field,
      faces_omitted: expect.any(Number),
    });
    const fast = { accuracy_mode: 'fast' };
    const { body } = await ask(paths.detect, { image: crowd, ...fast });
    expect(body.image.faces).toHaveLength(100);
    expect(body.warnings).toContainEqual(expect.objectContaining(warningOf('image')));
    writeFileSync(join(folder, 'crowd.png'), crowd);
    const { code, stdout, stderr } = await facematchInHost(
      'embed --mode fast crowd.png',
      folder,
      longTimeout,
    );
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^warning: crowd\.png: .* are omitted/)]);
    expect(JSON.parse(stdout.split('\n')[99]!).warnings).toEqual([
      expect.objectContaining(warningOf('image')),
    ]);
    const one = await ask(paths.advanced, { image1: crowd, image2: good, ...fast });
    expect(one.body.warnings).toContainEqual(expect.objectContaining(warningOf('image1')));
    const targets = await ask(paths.many, { image1: good, image2: crowd, ...fast });
    expect(targets.body.results[0].warnings ?? targets.body.warnings).toContainEqual(
      expect.objectContaining(warningOf('image2')),
    );
  });
});

describe('min_det_score', () => {
  test('drops faces before they are counted: an index counts the remaining ones', async () => {
    const byScore = all.image1.faces.toSorted((a: Json, b: Json) => a.detection_score - b.detection_score);
    const [lowest, next] = byScore;
    expect(next.detection_score - lowest.detection_score).toBeGreaterThan(0.002);
    const between = String((lowest.detection_score + next.detection_score) / 2);
    const left = all.image1.faces.filter((face: Json) => face !== lowest);
    for (const [index, { box }] of left.entries()) {
      const { body } = await advanced({ min_det_score: between, image1_face_index: String(index) });
      expect(boxes(body.image1)).toEqual(left.map((face: Json) => face.box));
      expect(body.image1.faces[body.image1.face_index].box).toEqual(box);
    }
    const outOfRange = await advanced({ min_det_score: between, image1_face_index: String(left.length) });
    expectProblem(outOfRange, 'face_index_out_of_range', { field: 'image1', faces_found: left.length });
  });

  test('leaves nothing to compare when no face reaches it', async () => {
    // In the fallback, a close-up may score 1.
    const fields = { min_det_score: '1', use_heuristic_fallback: 'false' };
    const errors = ['image1', 'image2'].map((field) => ({ field, code: 'no_face_found' }));
    expectProblem(await advanced(fields), 'no_face_found', { errors });
  });
});

test('finds faces in an upside-down photo only with the fallback, and reports how they were found', async () => {
  const image1 = await sharp(samples.three).rotate(180).jpeg({ quality: 95 }).toBuffer();
  const without = await advanced({ image1, use_heuristic_fallback: 'false' });
  expectProblem(without, 'no_face_found', { errors: [{ field: 'image1', code: 'no_face_found' }] });
  const { body } = await advanced({ image1, image2: samples.one });
  expect(body.match).toBe(true);
  const found = body.image1.faces.map((face: Json) => [face.found_by, Math.abs(face.pose.roll) > 150]);
  expect(found).toEqual(Array(3).fill(['rotated', true]));
});

test('warns about a compared face that is not the largest, unless the client chose it', async () => {
  const warned = ({ warnings }: Json): string[] =>
    warnings.map(({ code, field, face_index }: Json) => `${code} ${field} ${face_index}`);
  const group = samples.three;
  const { body } = await compare(group, other);
  const index = body.image1.face_index;
  const [first, second] = ['image1', 'image2'].map((name) => [`not_the_largest_face ${name} ${index}`]);
  expect(warned(body)).toEqual(first);
  expect(warned((await compare(other, group)).body)).toEqual(second);
  for (const fields of [{ image1_face_index: String(index) }, { auto_pair_best: 'false' }])
    expect(warned((await compare(group, other, fields)).body)).toEqual([]);
  const many = async (image1: Buffer, image2: Buffer) =>
    (await ask(paths.many, { image1, image2: [image2] })).body;
  const [of, among] = [await many(group, other), await many(other, group)];
  expect([of, of.results[0], among, among.results[0]].map(warned)).toEqual([first, first, [], second]);
});

async function collageOf(count: number): Promise<Buffer> {
  const faces = await Promise.all(portraits);
  const [columns, tile] = [12, 120];
  const tiles = Array.from({ length: count }, async (_item, i) => {
    const input = await sharp(faces[i % faces.length])
      .resize(tile)
      .toBuffer();
    return { input, left: (i % columns) * tile, top: Math.floor(i / columns) * tile };
  });
  const [width, height] = [columns * tile, Math.ceil(count / columns) * tile];
  return sharp({ create: { width, height, channels: 3, background: '#789' } })
    .composite(await Promise.all(tiles))
    .jpeg({ quality: 95 })
    .toBuffer();
}
