import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../fixtures/pictures.ts';
import { cutOuts } from '../support/portraits.mjs';
import { expectProblem, type Fields, type Json, match, paths, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** Which faces are listed, which are compared, and what the answer then says. */

let server: TestServer;
let all: Json;
beforeAll(async () => {
  server = await TestServer.start();
  all = (await advanced({})).body;
});
afterAll(() => server.stop());

const advanced = (fields: Record<string, string>, photos: Fields = twoPhotos()) =>
  match(server, { ...photos, ...fields }, { path: paths.advanced });

const weight = ({ box, detection_score }: Json) => box.width * box.height * detection_score;
const boxes = (image: Json) => image.faces.map(({ box }: Json) => box);

/** Largest first; what rounding to 0.1 pixels and 0.001 of a score can change is let pass. */
function expectOrder({ faces }: Json): void {
  for (const [i, face] of faces.entries()) {
    expect(face.index).toBe(i);
    if (i > 0) expect(weight(face)).toBeLessThanOrEqual(weight(faces[i - 1]) * 1.005);
  }
}

describe('faces are listed', () => {
  test('largest first, by the area of the box times the detection score', () => {
    for (const image of [all.image1, all.image2]) {
      expect(image.faces.length).toBeGreaterThanOrEqual(3);
      expectOrder(image);
    }
  });

  test('up to 20, the smallest being left out', async () => {
    const collage = await collageOf(22, 4);
    const { body } = await advanced(
      { image2_face_index: '0' },
      { image1: collage.bytes, image2: samples.three },
    );
    expect(body.image1.faces).toHaveLength(20);
    expectOrder(body.image1);
    expect(body.pairs_compared).toBe(20);
    for (const { y, height } of boxes(body.image1)) expect(y + height / 2).toBeLessThan(collage.smallFrom);
    // There are 20, so 19 is the last index.
    const last = { image1_face_index: '19', image2_face_index: '0' };
    const photos = { image1: collage.bytes, image2: samples.three };
    expect((await advanced(last, photos)).body.image1.face_index).toBe(19);
    expectProblem(await advanced({ ...last, image1_face_index: '20' }, photos), 'face_index_out_of_range', {
      field: 'image1',
      faces_found: 20,
    });
  });
});

describe('min_det_score', () => {
  /** The face of image1 that goes first, and a score between its own and the next. */
  function weakest() {
    const byScore = all.image1.faces.toSorted((a: Json, b: Json) => a.detection_score - b.detection_score);
    const [lowest, next] = byScore;
    expect(next.detection_score - lowest.detection_score).toBeGreaterThan(0.002);
    return { lowest, between: String((lowest.detection_score + next.detection_score) / 2) };
  }

  test('drops faces before they are counted: an index counts those that are left', async () => {
    const { lowest, between } = weakest();
    const left = all.image1.faces.filter((face: Json) => face !== lowest);
    for (const [index, { box }] of left.entries()) {
      const { body } = await advanced({ min_det_score: between, image1_face_index: String(index) });
      expect(boxes(body.image1)).toEqual(left.map((face: Json) => face.box));
      expect(body.image1.faces[body.image1.face_index].box).toEqual(box);
    }
    const gone = await advanced({ min_det_score: between, image1_face_index: String(left.length) });
    expectProblem(gone, 'face_index_out_of_range', { field: 'image1', faces_found: left.length });
  });

  test('leaves nothing to compare when no face reaches it', async () => {
    // The fallback's second look may well score 1.
    const fields = { min_det_score: '1', use_heuristic_fallback: 'false' };
    expectProblem(await advanced(fields), 'no_face_found', {
      errors: [
        { field: 'image1', code: 'no_face_found' },
        { field: 'image2', code: 'no_face_found' },
      ],
    });
  });
});

test('a face index chooses the face that is compared with all others', async () => {
  for (const name of ['image1', 'image2']) {
    const field = `${name}_face_index`;
    const index = all[name].faces.length - 1;
    const { body } = await advanced({ [field]: String(index) });
    expect(body[name].face_index).toBe(index);
    expect(new Set(body.pairs.map((pair: Json) => pair[field]))).toEqual(new Set([index]));
  }
});

test('a compared face that is not the largest is told, unless the caller chose it', async () => {
  const warned = ({ warnings }: Json): string[] =>
    warnings.map(({ code, field, face_index }: Json) => `${code} ${field} ${face_index}`);
  const group = samples.three;
  // A woman of the group who is not the nearest.
  const alone = await (cutOuts() as Sharp[])[2]!.png().toBuffer();
  const { body } = await advanced({}, { image1: group, image2: alone });
  const index = body.image1.face_index;
  const [first, second] = [
    [`not_the_largest_face image1 ${index}`],
    [`not_the_largest_face image2 ${index}`],
  ];
  expect(warned(body)).toEqual(first);
  expect(warned((await advanced({}, { image1: alone, image2: group })).body)).toEqual(second);
  for (const fields of [{ image1_face_index: String(index) }, { auto_pair_best: 'false' }])
    expect(warned((await advanced(fields, { image1: group, image2: alone })).body)).toEqual([]);
  const many = async (image1: Buffer, image2: Buffer) =>
    (await match(server, { image1, image2: [image2] }, { path: paths.many })).body;
  const [of, among] = [await many(group, alone), await many(alone, group)];
  expect([of, of.results[0], among, among.results[0]].map(warned)).toEqual([first, first, [], second]);
});

/** Faces out of the samples, `large` ones and below them `small` ones of half the size. */
async function collageOf(large: number, small: number): Promise<{ bytes: Buffer; smallFrom: number }> {
  const faces = await Promise.all((cutOuts() as Sharp[]).map((face) => face.toBuffer()));
  const [columns, tile] = [6, 200];
  const rows = Math.ceil(large / columns);
  const smallFrom = rows * tile;
  const tiles = Array.from({ length: large + small }, async (_, i) => {
    const size = i < large ? tile : tile / 2;
    const input = await sharp(faces[i % faces.length])
      .resize(size, size)
      .toBuffer();
    if (i < large) return { input, left: (i % columns) * tile, top: Math.floor(i / columns) * tile };
    return { input, left: (i - large) * size, top: smallFrom };
  });
  const picture = {
    width: columns * tile,
    height: smallFrom + (small > 0 ? tile / 2 : 0),
    channels: 3 as const,
  };
  const bytes = await sharp({ create: { ...picture, background: '#789' } })
    .composite(await Promise.all(tiles))
    .jpeg({ quality: 95 })
    .toBuffer();
  return { bytes, smallFrom };
}
