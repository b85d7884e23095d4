import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareEmbeddings } from '../../src/endpoints/compare-embeddings.ts';
import { type Comparison, Comparisons } from '../../src/endpoints/comparison.ts';
import { type ImageFault, problemOf } from '../../src/endpoints/faults.ts';
import { timingsBody } from '../../src/endpoints/response-members.ts';
import type { Analysis, Face, NativeFailure } from '../../src/engine/addon.ts';
import { Calibration, type CalibrationPoint, calibrationOf } from '../../src/scoring/calibration.ts';
import type { FaceChoice } from '../../src/scoring/similarity.ts';
import { runs } from '../support/runs.ts';

/** Tests the choice of the compared faces and the assessment of their similarity. */

const table = pointsOf(-0.1, 1, 0.08, 0.1, 0.2, 0.01, 0.33, 0.001, 0.58, 0.000001);
const calibration = new Calibration(table);

/** Tolerance for rounding errors, absolute for percentages and relative for rates. */
const rounding = 1e-9;

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const steps = fc.array(fc.tuple(number(0.001, 0.5), number(0.001, 0.99)), { minLength: 1, maxLength: 12 });
/**
 * Any table that a fit could return: rising normalised similarities, and rates that fall from 1.
 */
const anyTable = fc.tuple(number(-1, 0.5), steps).map(([first, all]) => {
  const points: CalibrationPoint[] = [[first, 1]];
  for (const [gap, factor] of all) {
    const [similarity, rate] = points.at(-1)!;
    points.push([similarity + gap, rate * factor]);
  }
  return points;
});

function percentOf(scale: Calibration, similarity: number): number {
  return scale.assess(similarity, 1).confidence_percent;
}

/** Makes points from alternating similarities and rates. */
function pointsOf(...numbers: number[]): CalibrationPoint[] {
  return Array.from({ length: numbers.length / 2 }, (_item, i) => [numbers[2 * i]!, numbers[2 * i + 1]!]);
}

test.each<[string, CalibrationPoint[]]>([
  ['no points', []],
  ['a single point', pointsOf(0, 1)],
  ['a first rate below 1', pointsOf(0, 0.9, 0.5, 0.1)],
  ['a first rate above 1', pointsOf(0, 1.1, 0.5, 0.1)],
  ['two equal rates', pointsOf(0, 1, 0.2, 0.1, 0.4, 0.1)],
  ['a rate that rises', pointsOf(0, 1, 0.2, 0.1, 0.4, 0.2)],
  ['a rate of zero', pointsOf(0, 1, 0.2, 0)],
  ['a rate that is not a number', pointsOf(0, 1, 0.2, Number.NaN)],
  ['two equal similarities', pointsOf(0, 1, 0, 0.1)],
  ['a similarity that falls', pointsOf(0, 1, -0.1, 0.1)],
  ['an infinite similarity', pointsOf(0, 1, Number.POSITIVE_INFINITY, 0.1)],
])('rejects a calibration table with %s', (_what, points) => {
  expect(() => new Calibration(points)).toThrow(RangeError);
});

describe('falseMatchRate', () => {
  test('is the geometric mean midway between two points', () => {
    expect(calibration.falseMatchRate(0.14)).toBeCloseTo(Math.sqrt(0.1 * 0.01), 12);
  });

  test('continues with the slope of the last segment beyond the last point', () => {
    const onePowerOfTen = (0.58 - 0.33) / 3;
    expect(Math.log10(calibration.falseMatchRate(0.58 + onePowerOfTen))).toBeCloseTo(-7, 9);
    expect(Math.log10(calibration.falseMatchRate(0.58 + 3 * onePowerOfTen))).toBeCloseTo(-9, 9);
  });

  test.each([
    ['below the first point', -0.5, 1],
    ['at minus infinity', Number.NEGATIVE_INFINITY, 1],
    ['at infinity', Number.POSITIVE_INFINITY, 0],
    ['for a similarity that is not a number', Number.NaN, 1],
  ])('is exactly 0 or 1 %s', (_what, similarity, rate) => {
    expect(calibration.falseMatchRate(similarity)).toBe(rate);
  });
});

describe('confidence_percent', () => {
  test.each([
    [1, 0],
    [0.1, 40],
    [0.01, 50],
    [0.001, 60],
    [0.0001, 70],
    [0.00001, 80],
    [1e-7, 100],
    [1e-9, 100],
    [0, 100],
  ])('follows from the false match rate: %d gives %d', (rate, percent) => {
    expect(calibration.confidencePercent(rate)).toBeCloseTo(percent, 9);
  });

  test.each([
    [-0.1, 0],
    [-0.055, 10],
    [-0.01, 20],
    [0.035, 30],
    [0.08, 40],
  ])('is linear in the similarity below 40 percent: at %d it is %d', (similarity, percent) => {
    expect(percentOf(calibration, similarity)).toBeCloseTo(percent, 9);
  });

  test('is 40 at a rate of 0.1, even if the table has no point there', () => {
    const short = new Calibration(pointsOf(0, 1, 0.1, 0.5));
    const knee = 0.1 / -Math.log10(0.5);
    expect(percentOf(short, knee)).toBeCloseTo(40, 9);
    expect(percentOf(short, knee / 2)).toBeCloseTo(20, 9);
    expect(percentOf(short, knee * 2)).toBeCloseTo(50, 9);
  });
});

test('multiplies the rate of the best pair by the number of pairs, and derives the percentage', () => {
  const confidence_percent = expect.closeTo(50, 9);
  const assessed = { false_match_rate: 0.01, confidence_percent, extrapolated: false };
  expect(calibration.assess(0.33, 10)).toEqual(assessed);
});

describe('a floor', () => {
  const floored = new Calibration(table, 0.001);

  test('is returned instead of a lower rate, and marked as extrapolated', () => {
    expect(floored.assess(0.33 + 1e-6, 1)).toMatchObject({ false_match_rate: 0.001, extrapolated: true });
    expect(floored.assess(0.58, 1)).toMatchObject({ false_match_rate: 0.001, extrapolated: true });
    const floor = { false_match_rate: 0.001, confidence_percent: 100, extrapolated: true };
    expect(floored.assess(Number.POSITIVE_INFINITY, 1)).toEqual(floor);
  });

  test('is multiplied by the number of pairs, up to 1', () => {
    const false_match_rate = expect.closeTo(0.009, 9);
    expect(floored.assess(0.58, 9)).toMatchObject({ false_match_rate, extrapolated: true });
    expect(floored.assess(0.58, 1_000_000)).toMatchObject({ false_match_rate: 1, extrapolated: true });
  });
});

describe('confidence_percent without a calibration', () => {
  const none = calibrationOf(undefined);

  test.each([
    [-0.5, 1, 0],
    [0, 1, 0],
    [0.25, 1, 10],
    [0.7, 1, 28],
    [1, 1, 40],
    [1.2, 1, 40],
    [0.7, 100, 28],
    [Number.NaN, 1, 0],
  ])(
    'depends only on the similarity: %d among %d pairs gives %d, with a rate of 1',
    (similarity, pairs, percent) => {
      expect(none.assess(similarity, pairs)).toEqual({
        false_match_rate: 1,
        extrapolated: true,
        confidence_percent: expect.closeTo(percent, 9),
      });
    },
  );

  test('is marked as not measured, unlike with a calibration', () => {
    expect([none.measured, calibration.measured]).toEqual([false, true]);
  });
});

test('never returns a higher rate or lower percentage for a higher similarity, nor a higher percentage for more pairs', () => {
  fc.assert(
    fc.property(
      anyTable,
      number(-2, 2),
      number(-2, 2),
      fc.integer({ min: 1, max: 400 }),
      (points, a, b, pairs) => {
        const scale = new Calibration(points);
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        expect(scale.falseMatchRate(high)).toBeLessThanOrEqual(scale.falseMatchRate(low) * (1 + rounding));
        expect(percentOf(scale, high)).toBeGreaterThanOrEqual(percentOf(scale, low) - rounding);
        const { confidence_percent } = scale.assess(a, pairs);
        expect(confidence_percent).toBeLessThanOrEqual(percentOf(scale, a) + rounding);
        expect(new Calibration(points, 0.01).assess(a, pairs).confidence_percent).toBe(confidence_percent);
      },
    ),
  );
});

test('returns a rate from 0 to 1 and a percentage from 0 to 100 for any numbers', () => {
  fc.assert(
    fc.property(anyTable, fc.double(), fc.double(), (points, similarity, pairs) => {
      const { false_match_rate, confidence_percent } = new Calibration(points).assess(similarity, pairs);
      expect(false_match_rate >= 0 && false_match_rate <= 1).toBe(true);
      expect(confidence_percent >= 0 && confidence_percent <= 100).toBe(true);
    }),
    { numRuns: runs(1000) },
  );
});

const automatic: FaceChoice = { image1_face_index: -1, image2_face_index: -1, auto_pair_best: true };

/** Makes an analysis with a face for each angle in degrees. Its embedding is a unit vector in the plane. */
function analysis(angles: readonly number[], cohort_scores: readonly number[] = []): Analysis {
  const faces = angles.map((degrees, index) => {
    const radians = (degrees * Math.PI) / 180;
    const embedding = Float32Array.of(Math.cos(radians), Math.sin(radians));
    return { index, embedding, cohort_score: cohort_scores[index] ?? 0 } as Face;
  });
  return {
    ok: true,
    image: { width: 8, height: 8, format: 'png', orientation: 1, min_detectable_face_px: 9, faces },
    timings_ms: { decode: 1, detect: 2, align: 3, embed: 4 },
    cpu_ms: 4,
    candidates: [],
  };
}

const compared = (first: Analysis, second: Analysis, choice = automatic) =>
  new Comparisons().of(first, second, choice) as Comparison;
const indices = ({ pairs }: Comparison) =>
  pairs.sorted().map(({ image1_face_index, image2_face_index }) => [image1_face_index, image2_face_index]);

describe('Comparisons', () => {
  test('compares each face of one image with each face of the other, and sorts by similarity', () => {
    const found = compared(analysis([0, 90]), analysis([80, 10, 180]));
    expect(indices(found).slice(0, 2)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(found.pairs).toMatchObject({ count: 6, best: found.pairs.sorted()[0] });
    expect(found.pairs.best.similarity).toBeCloseTo(Math.cos(Math.PI / 18), 6);
    const timings_ms = timingsBody({ queue_ms: 0.04, total_ms: 9.96 }, found.analyses);
    expect(timings_ms).toEqual({ queue: 0, decode: 2, detect: 4, align: 6, embed: 8, total: 10 });
  });

  test('decides by the normalised similarity: the cosine minus the mean of both cohort scores', () => {
    const found = compared(analysis([0], [0.5]), analysis([0, 30], [0.9, 0.1]));
    expect(indices(found)[0]).toEqual([0, 1]);
    const [best, other] = found.pairs.sorted();
    expect(found.pairs.best).toEqual(best);
    expect(best!.normalised_similarity).toBeCloseTo(Math.cos(Math.PI / 6) - 0.3, 6);
    expect(other!.normalised_similarity).toBeCloseTo(0.3, 6);
  });

  test.each<[Partial<FaceChoice>, string]>([
    [{ image1_face_index: 1 }, '1,0 1,1'],
    [{ image1_face_index: 1, image2_face_index: 0 }, '1,0'],
    [{ auto_pair_best: false }, '0,0'],
    [{ auto_pair_best: false, image2_face_index: 1 }, '0,1'],
  ])('compares the chosen pairs: %j, %j', (choice, expected) => {
    const found = compared(analysis([0, 90]), analysis([91, 92]), { ...automatic, ...choice });
    expect(indices(found).toSorted().join(' ')).toEqual(expected);
  });

  test('throws an internal error with a message for the log', () => {
    const broken: NativeFailure = { ok: false, code: 'internal_error', message: 'secret' };
    expect(() => new Comparisons().of(analysis([0]), broken, automatic)).toThrow('secret');
  });

  test('compares the same two outcomes once', () => {
    const comparisons = new Comparisons();
    const [a, b] = [analysis([0]), analysis([90])];
    expect(comparisons.of(a, b, automatic)).toBe(comparisons.of(a, b, automatic));
    expect(comparisons.of(b, a, automatic)).not.toBe(comparisons.of(a, b, automatic));
    expect(comparisons.of(a, analysis([0]), automatic)).toMatchObject({ pairs: { best: { similarity: 1 } } });
  });
});

test('lists both images if both have errors, and uses the code of the first', () => {
  const heic: NativeFailure = { ok: false, code: 'unsupported_image_format', detected: 'heic' };
  const damaged: NativeFailure = { ok: false, code: 'image_decode_failed' };
  const { code, extras } = problemOf(new Comparisons().of(heic, damaged, automatic) as ImageFault[]);
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

/**
 * Tests the cancellation of a comparison of embeddings. test/server/embeddings.test.ts tests the responses.
 */

const dimensions = 4;
const embedding = Buffer.from(Float32Array.of(1, 0, 0, 0).buffer).toString('base64');
const job = (candidates: number) => {
  const members = { embedding, pack: 'p', version: '1', accuracy_mode: 'fast' };
  const body = { ...members, candidates: Array.from({ length: candidates }, () => ({ id: '', embedding })) };
  return { body: Buffer.from(JSON.stringify(body)), pack: 'p', version: '1', dimensions };
};

test('ends a cancelled comparison of embeddings at the next step', () => {
  const cohortScores = (vectors: Float32Array) => new Float32Array(vectors.length / dimensions);
  let checks = 0;
  const count = () => {
    checks += 1;
  };
  expect(compareEmbeddings(job(10), { cohortScores, check: count }).candidates).toHaveLength(10);
  const all = checks;
  expect(all).toBeGreaterThan(10);
  for (let last = 1; last <= all; last++) {
    let left = last;
    const leave = () => {
      left -= 1;
      if (left === 0) throw new Error('left');
    };
    expect(() => compareEmbeddings(job(10), { cohortScores, check: leave })).toThrow('left');
    expect(left).toBe(0);
  }
});
