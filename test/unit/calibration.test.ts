import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Calibration, type CalibrationPoint, calibrationOf } from '../../src/scoring/calibration.ts';

const table = pointsOf(-0.1, 1, 0.08, 0.1, 0.2, 0.01, 0.33, 0.001, 0.58, 0.000001);
const calibration = new Calibration(table);

/** Rounding may move a percent by this much where the exact answer would stay. */
const rounding = 1e-9;

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const steps = fc.array(fc.tuple(number(0.001, 0.5), number(0.001, 0.99)), { minLength: 1, maxLength: 12 });
/** Any table that a fit could give: similarities of normalised cosines, rates from 1 down by any factors. */
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

/** Similarities and rates by turns. */
function pointsOf(...numbers: number[]): CalibrationPoint[] {
  return Array.from({ length: numbers.length / 2 }, (_item, i) => [numbers[2 * i]!, numbers[2 * i + 1]!]);
}

test.each<[string, CalibrationPoint[]]>([
  ['no points', []],
  ['a single point', pointsOf(0, 1)],
  ['a first rate below 1', pointsOf(0, 0.9, 0.5, 0.1)],
  ['a first rate above 1', pointsOf(0, 1.1, 0.5, 0.1)],
  ['a rate that stays', pointsOf(0, 1, 0.2, 0.1, 0.4, 0.1)],
  ['a rate that rises', pointsOf(0, 1, 0.2, 0.1, 0.4, 0.2)],
  ['a rate of zero', pointsOf(0, 1, 0.2, 0)],
  ['a rate that is not a number', pointsOf(0, 1, 0.2, Number.NaN)],
  ['a similarity that stays', pointsOf(0, 1, 0, 0.1)],
  ['a similarity that falls', pointsOf(0, 1, -0.1, 0.1)],
  ['an infinite similarity', pointsOf(0, 1, Number.POSITIVE_INFINITY, 0.1)],
])('a table with %s is refused', (_what, points) => {
  expect(() => new Calibration(points)).toThrow(RangeError);
});

describe('the false-match rate', () => {
  test('between two points is the geometric mean in the middle', () => {
    expect(calibration.falseMatchRate(0.14)).toBeCloseTo(Math.sqrt(0.1 * 0.01), 12);
  });

  test('beyond the last point goes on with the slope of the last segment', () => {
    const onePowerOfTen = (0.58 - 0.33) / 3;
    expect(Math.log10(calibration.falseMatchRate(0.58 + onePowerOfTen))).toBeCloseTo(-7, 9);
    expect(Math.log10(calibration.falseMatchRate(0.58 + 3 * onePowerOfTen))).toBeCloseTo(-9, 9);
  });

  test.each([
    ['below the first point', -0.5, 1],
    ['at minus infinity', Number.NEGATIVE_INFINITY, 1],
    ['at infinity', Number.POSITIVE_INFINITY, 0],
    ['of what is not a number', Number.NaN, 1],
  ])('%s is bounded', (_what, similarity, rate) => {
    expect(calibration.falseMatchRate(similarity)).toBe(rate);
  });
});

describe('the percent', () => {
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
  ])('of a rate of %d is %d', (rate, percent) => {
    expect(calibration.confidencePercent(rate)).toBeCloseTo(percent, 9);
  });

  test.each([
    [-0.1, 0],
    [-0.055, 10],
    [-0.01, 20],
    [0.035, 30],
    [0.08, 40],
  ])('runs linearly in the similarity below 40: at %d it is %d', (similarity, percent) => {
    expect(percentOf(calibration, similarity)).toBeCloseTo(percent, 9);
  });

  test('meets 40 where a table has no point at 0.1, even beyond its end', () => {
    const short = new Calibration(pointsOf(0, 1, 0.1, 0.5));
    const knee = 0.1 / -Math.log10(0.5);
    expect(percentOf(short, knee)).toBeCloseTo(40, 9);
    expect(percentOf(short, knee / 2)).toBeCloseTo(20, 9);
    expect(percentOf(short, knee * 2)).toBeCloseTo(50, 9);
  });
});

test('the best of several pairs has the number of pairs times the rate, and the percent that follows from it', () => {
  const confidence_percent = expect.closeTo(50, 9);
  const assessed = { false_match_rate: 0.01, confidence_percent, extrapolated: false };
  expect(calibration.assess(0.33, 10)).toEqual(assessed);
});

describe('a floor', () => {
  const floored = new Calibration(table, 0.001);

  test('is told in the place of a lower rate, and that it is', () => {
    expect(floored.assess(0.33 + 1e-6, 1)).toMatchObject({ false_match_rate: 0.001, extrapolated: true });
    expect(floored.assess(0.58, 1)).toMatchObject({ false_match_rate: 0.001, extrapolated: true });
    const most = { false_match_rate: 0.001, confidence_percent: 100, extrapolated: true };
    expect(floored.assess(Number.POSITIVE_INFINITY, 1)).toEqual(most);
  });

  test('is that of each pair: the best of several has a higher bound', () => {
    const false_match_rate = expect.closeTo(0.009, 9);
    expect(floored.assess(0.58, 9)).toMatchObject({ false_match_rate, extrapolated: true });
    expect(floored.assess(0.58, 1_000_000)).toMatchObject({ false_match_rate: 1, extrapolated: true });
  });
});

describe('without a table', () => {
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
  ])('a similarity of %d among %d pairs is %d percent, and has no rate', (similarity, pairs, percent) => {
    expect(none.assess(similarity, pairs)).toEqual({
      false_match_rate: 1,
      extrapolated: true,
      confidence_percent: expect.closeTo(percent, 9),
    });
  });

  test('nothing was measured, and with one something was', () => {
    expect([none.measured, calibration.measured]).toEqual([false, true]);
  });
});

test('more alike never means a higher rate or a lower percent, more pairs never a higher percent, a floor no other', () => {
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

test('any numbers at all give a rate from 0 to 1 and a percent from 0 to 100', () => {
  fc.assert(
    fc.property(anyTable, fc.double(), fc.double(), (points, similarity, pairs) => {
      const { false_match_rate, confidence_percent } = new Calibration(points).assess(similarity, pairs);
      expect(false_match_rate >= 0 && false_match_rate <= 1).toBe(true);
      expect(confidence_percent >= 0 && confidence_percent <= 100).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
