import { describe, expect, test } from 'vitest';
import { histogram } from '../../src/eval/figures.ts';
import { equalErrorRate, errorCurve, type Scored, thinned, wilson } from '../../src/eval/metrics.ts';
import { type JudgedPair, worstPairs } from '../../src/eval/pairs.ts';
import { percentPoints, ratePoints } from '../../src/eval/thresholds.ts';
import { Calibration, promisedRate } from '../../src/matching/calibration.ts';

const pair = (score: number, same: boolean): Scored => ({ score, same, fold: undefined });
const same = (...scores: number[]) => scores.map((score) => pair(score, true));
const different = (...scores: number[]) => scores.map((score) => pair(score, false));
const calibration = new Calibration([
  [-0.5, 1],
  [0, 0.1],
  [0.4, 1e-5],
]);

describe("Wilson's interval", () => {
  // Newcombe 1998 (Statistics in Medicine 17), table I, method 3.
  test.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i in %i is what the literature gives', (hits, trials, low, high) => {
    expect(wilson(hits, trials)[0]).toBeCloseTo(low, 4);
    expect(wilson(hits, trials)[1]).toBeCloseTo(high, 4);
  });

  test('is the mirror image for what did not happen', () => {
    const [low, high] = wilson(3, 50);
    expect(wilson(47, 50)).toEqual([expect.closeTo(1 - high, 12), expect.closeTo(1 - low, 12)]);
    expect(wilson(20, 20)[1]).toBe(1);
  });

  test('is all there is without a trial', () => {
    expect(wilson(0, 0)).toEqual([0, 1]);
  });
});

describe('the error curve', () => {
  const pairs = [...same(0.9, 0.6, 0.4), ...different(0.6, 0.3, 0.1, 0)];

  test('has both rates at every score, counted by hand', () => {
    expect(errorCurve(pairs)).toEqual([
      { threshold: Number.POSITIVE_INFINITY, fmr: 0, fnmr: 1 },
      { threshold: 0.9, fmr: 0, fnmr: 2 / 3 },
      { threshold: 0.6, fmr: 0.25, fnmr: 1 / 3 },
      { threshold: 0.4, fmr: 0.25, fnmr: 0 },
      { threshold: 0.3, fmr: 0.5, fnmr: 0 },
      { threshold: 0.1, fmr: 0.75, fnmr: 0 },
      { threshold: 0, fmr: 1, fnmr: 0 },
    ]);
  });

  test('counts a pair without a face as one that never matches', () => {
    const lost = errorCurve([
      ...pairs,
      pair(Number.NEGATIVE_INFINITY, true),
      pair(Number.NEGATIVE_INFINITY, false),
    ]);
    expect(lost.at(-1)).toEqual({ threshold: 0, fmr: 0.8, fnmr: 0.25 });
  });

  test('meets itself at the equal error rate', () => {
    // At 0.6: 1 of 4 against 1 of 3.
    expect(equalErrorRate(errorCurve(pairs))).toBeCloseTo((1 / 4 + 1 / 3) / 2, 12);
    expect(equalErrorRate(errorCurve([...same(0.9), ...different(0.1)]))).toBe(0);
    expect(equalErrorRate(errorCurve(same(0.9)))).toBeNaN();
  });

  test('keeps both sides of a step when it is thinned', () => {
    // So many of one person lie above and below that four more show nowhere; then every stranger comes at once.
    const many = (score: number) => new Array<number>(1000).fill(score);
    const curve = errorCurve([
      ...same(...many(0.95), 0.9, 0.899, 0.898, 0.897, ...many(Number.NEGATIVE_INFINITY)),
      ...different(0.5, 0.5),
    ]);
    expect(thinned(curve).map(({ threshold }) => threshold)).toEqual([0.95, 0.9, 0.897, 0.5]);
  });

  test('of many pairs is thinned to steps that a chart can show, ends kept', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => pair(((i * 7919) % 20_000) / 20_000, i % 2 === 0));
    const whole = errorCurve(many);
    const few = thinned(whole);
    expect(whole).toHaveLength(20_001);
    expect(few.length).toBeLessThan(1000);
    expect(few[0]).toEqual(whole[1]);
    expect(few.at(-1)).toEqual(whole.at(-1));
    expect(few.every((point) => whole.includes(point))).toBe(true);
    for (const [i, point] of few.slice(1).entries())
      expect(few[i]!.threshold - point.threshold).toBeLessThan(0.006);
  });
});

describe('the histogram', () => {
  test('counts every pair with a score, each in the bin it lies in', () => {
    const {
      start,
      width,
      same: matches,
      different: others,
    } = histogram([...same(0.031, 0.039, 0.0999), ...different(-0.03, 0, 0.02, Number.NEGATIVE_INFINITY)]);
    expect({ start, width }).toEqual({ start: -0.04, width: 0.02 });
    //      -0.04 -0.02 0 0.02 0.04 0.06 0.08
    expect(matches).toEqual([0, 0, 0, 2, 0, 0, 1]);
    expect(others).toEqual([1, 0, 1, 1, 0, 0, 0]);
  });

  test('of nothing is empty', () => {
    expect(histogram([pair(Number.NEGATIVE_INFINITY, true)])).toEqual({
      start: 0,
      width: 0.02,
      same: [],
      different: [],
    });
  });
});

describe('thresholds', () => {
  const pairs = [
    ...different(...Array.from({ length: 200 }, (_, i) => (i + 0.5) / 500)),
    ...same(0.5, 0.398, 0.31, 0.1),
  ];

  test('of a rate say what they do to the set, with what is sure of it', () => {
    const [hundredth, thousandth] = ratePoints(pairs, calibration);
    // Two of 200 strangers may pass, 0.399 and 0.397, but the threshold is no lower than the last pair that it accepts.
    expect(hundredth).toEqual({
      fmr: 0.01,
      threshold: 0.398,
      confidence_percent: calibration.judge(0.398, 1).confidence_percent,
      tar: 0.5,
      tar_interval: wilson(2, 4),
      measured_fmr: 1 / 200,
      fmr_interval: wilson(1, 200),
    });
    expect(thousandth).toMatchObject({ fmr: 0.001, threshold: 0.5, tar: 0.25, measured_fmr: 0 });
  });

  test('of a rate of 1 in 10,000 are given where there are as many pairs', () => {
    const asked = (count: number) =>
      ratePoints([...same(1), ...different(...new Array<number>(count).fill(0))], undefined).map(
        ({ fmr }) => fmr,
      );
    expect(asked(9999)).toEqual([0.01, 0.001]);
    expect(asked(10_000)).toEqual([0.01, 0.001, 0.0001]);
  });

  test('of a percent lie where the calibration has them', () => {
    const points = percentPoints(pairs, calibration);
    expect(points.map(({ confidence_percent, fmr }) => [confidence_percent, fmr])).toEqual([
      [50, 0.01],
      [60, 0.001],
      [70, 0.0001],
    ]);
    // A tenth of the way down four decades for each ten percent.
    expect(points.map(({ threshold }) => threshold)).toEqual(
      [0.1, 0.2, 0.3].map((at) => expect.closeTo(at, 12)),
    );
    for (const { threshold, confidence_percent } of points) {
      expect(calibration.judge(threshold, 1).confidence_percent).toBeCloseTo(confidence_percent!, 9);
    }
    expect(points[2]).toMatchObject({ tar: 0.75, measured_fmr: 50 / 200 });
  });

  test('say that nothing is known of a set of one kind', () => {
    const [point] = ratePoints(same(0.5), calibration);
    expect(point).toMatchObject({ measured_fmr: Number.NaN, fmr_interval: [0, 1] });
  });

  test('promise ten times fewer false matches for ten percent more', () => {
    expect([40, 50, 70].map(promisedRate)).toEqual(
      [0.1, 0.01, 0.0001].map((rate) => expect.closeTo(rate, 12)),
    );
  });
});

describe('the worst pairs', () => {
  const judged = (normalised: number, isSame: boolean): JudgedPair => ({
    image1: `${normalised}`,
    image2: 'b',
    same: isSame,
    fold: undefined,
    cosine: 0.5,
    normalised,
  });

  test('are strangers that score high and one person who scores low, the worst first', () => {
    const scores = Array.from({ length: 30 }, (_, i) => i / 100);
    const { different: strangers, same: matches } = worstPairs(
      [...scores.map((score) => judged(score, true)), ...scores.map((score) => judged(score, false))],
      calibration,
    );
    expect(strangers).toHaveLength(12);
    expect(matches).toHaveLength(12);
    expect(strangers[0]).toEqual({
      image1: '0.29',
      image2: 'b',
      normalised: 0.29,
      cosine: 0.5,
      confidence_percent: calibration.judge(0.29, 1).confidence_percent,
    });
    expect(matches.map(({ normalised }) => normalised).slice(0, 3)).toEqual([0, 0.01, 0.02]);
  });

  test('are not those that have no face', () => {
    expect(worstPairs([judged(Number.NEGATIVE_INFINITY, true)], calibration)).toEqual({
      different: [],
      same: [],
    });
  });
});
