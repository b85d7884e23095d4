import { describe, expect, test } from 'vitest';
import { readDetect, readMatch } from '../../src/engine/found-numbers.ts';

/** What C++ makes of it is tested where the addon is (test/native/addon.test.ts). */
const timings = [1.5, 2.5, 3.5, 4.5];
const face = Array.from({ length: 23 }, (_, i) => (i === 15 ? 2 : 100 + i));
const pair = [0, 1, 0.5, 0.25];
const numbers = (...parts: number[][]) => Float64Array.from(parts.flat());

describe('what the addon has found', () => {
  test('in one picture is named', () => {
    expect(readDetect(numbers(timings, [640, 480, 1, 6, 1], face))).toEqual({
      ok: true,
      timings_ms: { decode: 1.5, detect: 2.5, align: 3.5, embed: 4.5 },
      image: {
        width: 640,
        height: 480,
        format: 'png',
        orientation: 6,
        faces: [
          {
            index: 0,
            box: { x: 100, y: 101, width: 102, height: 103 },
            landmarks: {
              right_eye: [104, 105],
              left_eye: [106, 107],
              nose: [108, 109],
              mouth_right: [110, 111],
              mouth_left: [112, 113],
            },
            detection_score: 114,
            found_by: 'rotated',
            human_score: 122,
            pose: { yaw: 116, pitch: 117, roll: 118 },
            quality: { sharpness: 119, brightness: 120, face_pixels: 121 },
          },
        ],
      },
    });
  });

  test('has no human score where the pack has no check', () => {
    const unscored = face.with(22, Number.NaN);
    const { image } = readDetect(numbers(timings, [640, 480, 1, 6, 2], unscored, face));
    expect(image.faces.map(({ human_score }) => human_score)).toEqual([undefined, 122]);
  });

  test('in two pictures is told apart, however many faces each has', () => {
    const found = readMatch(
      numbers(timings, [10, 20, 0, 1, 1], face, [30, 40, 2, 1, 2], face, face, [2], pair, [0, 0, -1, 1]),
    );
    expect(found.image1).toMatchObject({ width: 10, format: 'jpeg' });
    expect(found.image1.faces.map(({ index }) => index)).toEqual([0]);
    expect(found.image2).toMatchObject({ width: 30, format: 'webp' });
    expect(found.image2.faces.map(({ index }) => index)).toEqual([0, 1]);
    expect(found.pairs).toEqual([
      { image1_face_index: 0, image2_face_index: 1, similarity: 0.5, normalised_similarity: 0.25 },
      { image1_face_index: 0, image2_face_index: 0, similarity: -1, normalised_similarity: 1 },
    ]);
  });

  test.each([
    ['none', []],
    ['one too few', [...timings, 10, 20, 0, 1, 0, 10, 20, 0, 1, 0, 1, 0, 1, 0.5]],
    ['one too many', [...timings, 10, 20, 0, 1, 0, 10, 20, 0, 1, 0, 1, ...pair, 9]],
  ])('is refused where there are %s', (_, found) => {
    expect(() => readMatch(Float64Array.from(found))).toThrow(RangeError);
    expect(() => readDetect(Float64Array.from(found))).toThrow(RangeError);
  });
});
