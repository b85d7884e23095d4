import { describe, expect, test } from 'vitest';
import type { Analysis, Face } from '../../src/engine/addon.ts';
import { maxFaces } from '../../src/engine/addon.ts';
import {
  earlierOf,
  isSearchable,
  remaining,
  withFurther,
  withoutCandidates,
} from '../../src/engine/further.ts';

const box = (x: number, side: number) => ({ x, y: 0, width: side, height: side });

const face = (x: number, side: number) => ({ index: 0, box: box(x, side), detection_score: 1 }) as Face;

function analysis(faces: readonly Face[], image: Partial<Analysis['image']> = {}): Analysis {
  return {
    ok: true,
    image: {
      ...{ width: 640, height: 480, format: 'jpeg', orientation: 1, min_detectable_face_px: 36 },
      faces: faces.map((one, index) => ({ ...one, index })),
      ...image,
    },
    timings_ms: { decode: 1, detect: 2, align: 3, embed: 4 },
    cpu_ms: 10,
    candidates: [{ ...box(300, 40), score: 0.2 }],
  };
}

const first = analysis([face(0, 100)], { searched_rotations: [0] });
const fallback = { use_heuristic_fallback: true };

describe('isSearchable', () => {
  test('is true for an image that was searched in one rotation', () => {
    expect(isSearchable(first, fallback)).toBe(true);
  });

  test.each([
    ['no image', undefined, fallback],
    ['a failure', { ok: false, code: 'image_decode_failed' } as const, fallback],
    ['no fallback', first, { use_heuristic_fallback: false }],
    ['all rotations', analysis([face(0, 100)]), fallback],
    ['a search that timed out', analysis([], { searched_rotations: [0], search_timed_out: true }), fallback],
    ['a full list', analysis(Array(maxFaces).fill(face(0, 9)), { searched_rotations: [0] }), fallback],
  ])('is false for %s', (_what, outcome, options) => {
    expect(isSearchable(outcome, options)).toBe(false);
  });
});

describe('withFurther', () => {
  test('merges the faces, largest first, and adds the times', () => {
    const merged = withFurther(first, analysis([face(300, 200), face(600, 20)]));
    expect(merged.image.faces.map(({ index, box }) => [index, box.width])).toEqual([[0, 200], [1, 100], [2, 20]]); // biome-ignore format: a table
    expect(merged.image).not.toHaveProperty('searched_rotations');
    expect([merged.cpu_ms, merged.timings_ms]).toEqual([20, { decode: 2, detect: 4, align: 6, embed: 8 }]);
    expect(merged.candidates).toEqual([]);
  });

  test('leaves out the faces that a new face replaces', () => {
    const two = analysis([face(0, 100), face(300, 60)], { searched_rotations: [0] });
    const merged = withFurther(two, { ...analysis([face(290, 70)]), replaced: [1] });
    expect(merged.image.faces.map(({ index, box }) => [index, box.width])).toEqual([[0, 100], [1, 70]]); // biome-ignore format: a table
    expect(merged).not.toHaveProperty('replaced');
  });

  test('does not change the first analysis', () => {
    const before = structuredClone(first);
    withFurther(first, analysis([face(300, 200)]));
    withoutCandidates(first);
    expect(first).toEqual(before);
  });

  test('reports a search that timed out, and keeps the rotations of the first search', () => {
    const late = withFurther(first, analysis([], { search_timed_out: true }));
    const failed = withFurther(first, { ok: false, code: 'image_too_complex' });
    for (const { image } of [late, failed]) {
      expect([image.search_timed_out, image.searched_rotations, image.faces.length]).toEqual([true, [0], 1]);
    }
  });

  test('throws for an internal failure', () => {
    expect(() => withFurther(first, { ok: false, code: 'internal_error', message: 'a fault' })).toThrow(
      'a fault',
    );
  });
});

test('passes faces and candidates to a further search, or nothing without a candidate', () => {
  expect(earlierOf(first)).toEqual({ faces: [box(0, 100)], candidates: first.candidates, cpu_ms: 10 });
  expect(earlierOf(withoutCandidates(first))).toBeUndefined();
});

test('limits a further search to the CPU time that the first one did not use', () => {
  const earlier = earlierOf(first)!;
  expect(remaining({ image_timeout_ms: 2000 }, earlier)).toEqual({ image_timeout_ms: 1990 });
  expect(remaining({ image_timeout_ms: 5 }, earlier)).toEqual({ image_timeout_ms: 0 });
  expect(remaining({}, earlier)).toEqual({});
});
