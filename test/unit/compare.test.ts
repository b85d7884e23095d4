import { describe, expect, test } from 'vitest';
import { timingsBody } from '../../src/endpoints/answer.ts';
import { work } from '../../src/endpoints/compare-embeddings.ts';
import { type Comparison, compare } from '../../src/endpoints/comparison.ts';
import { type ImageFault, problemOf } from '../../src/endpoints/faults.ts';
import type { Analysis, Face, NativeFailure } from '../../src/engine/addon.ts';
import type { FaceChoice } from '../../src/scoring/similarity.ts';

const automatic: FaceChoice = { image1_face_index: -1, image2_face_index: -1, auto_pair_best: true };

/** An image with a face for each angle, in degrees, of a unit vector in the plane. */
function analysis(angles: readonly number[], cohort_scores: readonly number[] = []): Analysis {
  const faces = angles.map((degrees, index) => {
    const radians = (degrees * Math.PI) / 180;
    const embedding = Float32Array.of(Math.cos(radians), Math.sin(radians));
    return { index, embedding, cohort_score: cohort_scores[index] ?? 0 } as Face;
  });
  return {
    ok: true,
    image: { width: 8, height: 8, format: 'png', orientation: 1, smallest_face: 9, faces },
    timings_ms: { decode: 1, detect: 2, align: 3, embed: 4 },
  };
}

const compared = (first: Analysis, second: Analysis, choice = automatic) =>
  compare([first, second], choice) as Comparison;
const indices = ({ pairs }: Comparison) =>
  pairs.map(({ image1_face_index, image2_face_index }) => [image1_face_index, image2_face_index]);

describe('compare', () => {
  test('every face of the one with every face of the other, the most alike first', () => {
    const found = compared(analysis([0, 90]), analysis([80, 10, 180]));
    expect(indices(found).slice(0, 2)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(found.pairs).toHaveLength(6);
    expect(found.pairs[0]!.similarity).toBeCloseTo(Math.cos(Math.PI / 18), 6);
    const timings_ms = timingsBody({ queue_ms: 0.04, total_ms: 9.96 }, found.analyses);
    expect(timings_ms).toEqual({ queue: 0, decode: 2, detect: 4, align: 6, embed: 8, total: 10 });
  });

  test('the normalised similarity is the cosine less the mean of both cohort scores, and decides', () => {
    const found = compared(analysis([0], [0.5]), analysis([0, 30], [0.9, 0.1]));
    expect(indices(found)[0]).toEqual([0, 1]);
    expect(found.pairs[0]!.normalised_similarity).toBeCloseTo(Math.cos(Math.PI / 6) - 0.3, 6);
    expect(found.pairs[1]!.normalised_similarity).toBeCloseTo(0.3, 6);
  });

  test.each<[Partial<FaceChoice>, string]>([
    [{ image1_face_index: 1 }, '1,0 1,1'],
    [{ image1_face_index: 1, image2_face_index: 0 }, '1,0'],
    [{ auto_pair_best: false }, '0,0'],
    [{ auto_pair_best: false, image2_face_index: 1 }, '0,1'],
  ])('%j compares %j', (choice, expected) => {
    const found = compared(analysis([0, 90]), analysis([91, 92]), { ...automatic, ...choice });
    expect(indices(found).toSorted().join(' ')).toEqual(expected);
  });

  test('an internal error is thrown, and its message is for the log', () => {
    const broken: NativeFailure = { ok: false, code: 'internal_error', message: 'secret' };
    expect(() => compare([analysis([0]), broken], automatic)).toThrow('secret');
  });
});

describe('what is wrong with images', () => {
  const damaged: NativeFailure = { ok: false, code: 'image_decode_failed' };
  const heic: NativeFailure = { ok: false, code: 'unsupported_image_format', detected: 'heic' };
  const problem = (first: Analysis | NativeFailure, second: Analysis | NativeFailure, choice = automatic) =>
    problemOf(compare([first, second], choice) as ImageFault[]);

  test('where both are at fault both are named, and the code is the first one’s', () => {
    const { code, extras } = problem(heic, damaged);
    expect(code).toBe('unsupported_image_format');
    expect(extras).toMatchObject({
      field: 'image1',
      detected: 'heic',
      errors: [
        { field: 'image1', code: 'unsupported_image_format', detected: 'heic' },
        { field: 'image2', code: 'image_decode_failed' },
      ],
    });
    expect(extras.detail).toMatch(/image1.*image2/);
  });
});

/** What a worker does with embeddings that nobody waits for any more; the answers are in test/server/embeddings.test.ts. */

const dimensions = 4;
const embedding = Buffer.from(Float32Array.of(1, 0, 0, 0).buffer).toString('base64');
const job = (candidates: number) => {
  const members = { embedding, pack: 'p', version: '1', accuracy_mode: 'fast' };
  const body = { ...members, candidates: Array.from({ length: candidates }, () => ({ id: '', embedding })) };
  return { body: Buffer.from(JSON.stringify(body)), pack: 'p', version: '1', dimensions };
};

test('ends at whichever step is next', () => {
  const cohortScores = (vectors: Float32Array) => new Float32Array(vectors.length / dimensions);
  let checks = 0;
  const count = () => {
    checks += 1;
  };
  expect(work(job(10), { cohortScores, check: count }).candidates).toHaveLength(10);
  const all = checks;
  expect(all).toBeGreaterThan(10);
  for (let last = 1; last <= all; last++) {
    let left = last;
    const leave = () => {
      left -= 1;
      if (left === 0) throw new Error('left');
    };
    expect(() => work(job(10), { cohortScores, check: leave })).toThrow('left');
    expect(left).toBe(0);
  }
});
