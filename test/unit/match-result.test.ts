import { describe, expect, test } from 'vitest';
import type { Face } from '../../src/engine/addon.ts';
import { fillFields } from '../../src/http/fields.ts';
import type { Form } from '../../src/http/form.ts';
import { matchBody } from '../../src/http/match-result.ts';
import { Calibration } from '../../src/matching/calibration.ts';
import type { Comparison, Pair } from '../../src/matching/compare.ts';

/** FMR 1 at 0, 0.1 at 0.2, 1e-7 at 0.8: exactly one decade for each 0.1 between the last two. */
const calibration = new Calibration([
  [0, 1],
  [0.2, 0.1],
  [0.8, 1e-7],
]);

const face: Face = {
  index: 0,
  box: { x: 712.449, y: -0.04, width: 181.25, height: 214.95 },
  landmarks: {
    right_eye: [760.14, 310.25],
    left_eye: [1, 2],
    nose: [3, 4],
    mouth_right: [5, 6],
    mouth_left: [7, 8],
  },
  detection_score: 0.98149,
  found_by: 'primary',
  human_score: -0.449,
  occlusion_score: -2.04,
  pose: { yaw: -4.06, pitch: 2.04, roll: 0.55 },
  quality: { sharpness: 0.714, brightness: 0.555, face_pixels: 149.6 },
  embedding: Float32Array.of(1),
  cohort_score: 0,
};

function resultOf(pairs: readonly Pair[]): Comparison {
  const image = {
    width: 1920,
    height: 1280,
    format: 'jpeg',
    orientation: 6,
    faces: [face, { ...face, index: 1 }, { ...face, index: 2 }],
  } as const;
  return {
    image1: { ...image, faces: [...image.faces] },
    image2: { ...image, faces: [...image.faces] },
    pairs: [...pairs],
    timings_ms: { decode: Math.PI, detect: 6.4, align: 1.55, embed: 6.249 },
  };
}

const pair = (normalised_similarity: number, similarity = 0.95123456): Pair => ({
  image1_face_index: 0,
  image2_face_index: 2,
  similarity,
  normalised_similarity,
});

function bodyOf(
  pairs: readonly Pair[],
  threshold_percent = 70,
  result = resultOf(pairs),
  warnings: Form['warnings'] = [],
) {
  const values = { ...fillFields(new Map(), { min_det_score: 0.5 }), threshold_percent };
  return matchBody({
    request_id: 'id',
    form: { values, warnings },
    result,
    calibration,
    model: { pack: 'default', version: '1.0.0' },
    queue_ms: 0.249,
    total_ms: 18.04,
  });
}

describe('matchBody', () => {
  test('numbers are rounded as the contract says', () => {
    const body = bodyOf([pair(0.5123)]);
    expect(body).toMatchObject({
      similarity: 0.9512,
      timings_ms: { queue: 0.2, decode: 3.1, align: 1.6, embed: 6.2, total: 18 },
    });
    expect(body.image1.faces[0]).toEqual({
      index: 0,
      box: { x: 712.4, y: 0, width: 181.3, height: 215 },
      landmarks: {
        right_eye: [760.1, 310.3],
        left_eye: [1, 2],
        nose: [3, 4],
        mouth_right: [5, 6],
        mouth_left: [7, 8],
      },
      detection_score: 0.981,
      found_by: 'primary',
      human_score: -0.4,
      occlusion_score: -2,
      pose: { yaw: -4.1, pitch: 2, roll: 0.6 },
      quality: { sharpness: 0.71, brightness: 0.56, face_pixels: 150 },
    });
    expect(body.image2.face_index).toBe(2);
  });

  test('a face that no check has scored has no score', () => {
    const result = resultOf([pair(0.5)]);
    result.image1.faces[0] = { ...face, human_score: undefined, occlusion_score: undefined };
    const [unscored, scored] = bodyOf([pair(0.5)], 70, result).image1.faces;
    expect(unscored).not.toHaveProperty('human_score');
    expect(unscored).not.toHaveProperty('occlusion_score');
    expect(scored).toHaveProperty('human_score', -0.4);
  });

  test('a look that was cut short is warned of, and not told as a member', () => {
    const result = resultOf([pair(0.5)]);
    result.image2.look_cut_short = true;
    const { image2, warnings } = bodyOf([pair(0.5)], 70, result);
    expect(warnings).toContainEqual({
      code: 'look_cut_short',
      field: 'image2',
      detail: expect.stringContaining('image2'),
    });
    expect(image2).not.toHaveProperty('look_cut_short');
  });

  test('the match is decided before rounding: 69.96 is shown as 70 and is none at a threshold of 70', () => {
    // 69.96 percent is an FMR of 10^-3.996, which is where the line from 0.2 has come to after 2.996 decades.
    const body = bodyOf([pair(0.2 + 0.2996)]);
    expect(body.confidence_percent).toBe(70);
    expect(body.match).toBe(false);
  });

  test('a confidence of exactly the threshold is a match', () => {
    const { confidence_percent } = calibration.judge(0.61, 1);
    expect(bodyOf([pair(0.61)], confidence_percent).match).toBe(true);
  });

  test('the rate of the best of n pairs is n times that of one', () => {
    const one = bodyOf([pair(0.5)]);
    const ten = bodyOf(Array.from({ length: 10 }, () => pair(0.5)));
    expect(ten.false_match_rate / one.false_match_rate).toBeCloseTo(10, 5);
    expect(one.confidence_percent - ten.confidence_percent).toBeCloseTo(10, 5);
    expect(ten.pairs_compared).toBe(10);
    expect(ten.pairs[0]!.confidence_percent).toBe(ten.confidence_percent);
  });

  test('the first pair decides, and the percent comes from the normalised similarity', () => {
    const body = bodyOf([pair(0.7, 0.1), pair(0.3, 0.9)]);
    expect(body.similarity).toBe(0.1);
    expect(body.confidence_percent).toBeGreaterThan(70);
  });

  test('what is wrong with the compared faces, and with no others, is told after what is wrong with the form', () => {
    const poor = { ...face, quality: { ...face.quality, face_pixels: 20.4 } };
    const result = resultOf([pair(0.5)]);
    result.image1.faces[1] = poor;
    result.image2.faces[2] = poor;
    const body = bodyOf([pair(0.5)], 70, result, [
      { code: 'unknown_field', field: 'colour', detail: 'ignored' },
    ]);
    expect(body.warnings).toMatchObject([
      { code: 'unknown_field', field: 'colour' },
      {
        code: 'low_quality_face',
        field: 'image2',
        reason: 'small',
        detail: expect.stringContaining('is 20,'),
      },
    ]);
    expect(body.match).toBe(bodyOf([pair(0.5)]).match);
  });

  test('a pair of a face that the engine did not find is a fault, not an answer', () => {
    expect(() => bodyOf([{ ...pair(0.5), image1_face_index: 3 }])).toThrow('did not find');
  });

  test('an engine that compared no pair is a fault, not an answer', () => {
    expect(() => bodyOf([])).toThrow('compared no pair');
  });
});
