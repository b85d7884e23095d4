import { describe, expect, test } from 'vitest';
import { Calibration } from '../../src/scoring/calibration.ts';
import { meanOf } from '../../src/scoring/similarity.ts';
import { Random } from '../../test/support/random.mjs';
import { histogram, observe, percentPoints, ratePoints } from '../figures.ts';
import {
  type Example,
  fitLinear,
  humanThreshold,
  linearScore,
  quantiseLinear,
  tallyLinear,
} from '../linear-score.ts';
import {
  accuracy,
  bestThreshold,
  equalErrorRate,
  errorCurve,
  fnmrAtFmr,
  PairRate,
  type Scored,
  wilson,
} from '../metrics.ts';
import { type Compared, type JudgedPair, peopleOfPairs, worstPairs } from '../pairs.ts';

const pair = (score: number, same: boolean, fold?: string): Scored => ({ score, same, fold });
/** Makes pairs. No two mated pairs share a person, and no two non-mated pairs do. */
const same = (...scores: number[]): Compared[] =>
  scores.map((score, i) => ({ ...pair(score, true), people: [i, i] }));
const different = (...scores: number[]): Compared[] =>
  scores.map((score, i) => ({ ...pair(score, false), people: [2 * i, 2 * i + 1] }));
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
  ])('matches the published values for %i in %i', (hits, trials, low, high) => {
    expect(wilson(hits, trials)[0]).toBeCloseTo(low, 4);
    expect(wilson(hits, trials)[1]).toBeCloseTo(high, 4);
  });
});

describe('the error curve', () => {
  const pairs = [...same(0.9, 0.6, 0.4), ...different(0.6, 0.3, 0.1, 0)];

  test('has the rates counted by hand at every score', () => {
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

  test('has an equal error rate halfway between its two closest rates', () => {
    // The rates at 0.6 are 1 of 4 and 1 of 3.
    expect(equalErrorRate(errorCurve(pairs))).toBeCloseTo((1 / 4 + 1 / 3) / 2, 12);
    expect(equalErrorRate(errorCurve([...same(0.9), ...different(0.1)]))).toBe(0);
    expect(equalErrorRate(errorCurve(same(0.9)))).toBeNaN();
  });
});

test('counts every pair in its bin of the histogram', () => {
  const others = different(-0.03, 0, 0.02);
  expect(histogram([...same(0.031, 0.039, 0.0999), ...others])).toEqual({
    ...{ start: -0.04, width: 0.02 },
    //     -0.04 -0.02 0 0.02 0.04 0.06 0.08
    mated: [0, 0, 0, 2, 0, 0, 1],
    non_mated: [1, 0, 1, 1, 0, 0, 0],
  });
});

describe('thresholds', () => {
  const pairs = [
    ...different(...Array.from({ length: 200 }, (_, i) => (i + 0.5) / 500)),
    ...same(0.5, 0.398, 0.31, 0.1),
  ];

  test('report FMR and FNMR at a target FMR, with intervals', () => {
    const [hundredth, ...rarer] = ratePoints(pairs, calibration);
    // Two of 200 non-mated pairs may match. The threshold is the lowest accepted mated score, so only 0.399 matches.
    expect(hundredth).toEqual({
      target_fmr: 0.01,
      threshold: 0.398,
      confidence_percent: calibration.assess(0.398, 1).confidence_percent,
      fmr: 1 / 200,
      // Each person is in one pair, so the intervals are about those of independent trials.
      fmr_interval: wilson(1, 200).map((bound) => expect.closeTo(bound, 1)),
      fnmr: 0.5,
      fnmr_interval: wilson(2, 4).map((bound) => expect.closeTo(bound, 1)),
      far: 1 / 200,
      frr: 0.5,
    });
    // 200 non-mated pairs cannot show a rate of 1 in 1,000.
    expect(rarer).toEqual([]);
  });

  test('match the calibration for a percentage', () => {
    const points = percentPoints(pairs, calibration);
    expect(points.map(({ confidence_percent, target_fmr }) => [confidence_percent, target_fmr])).toEqual([
      [50, 0.01],
      [60, 0.001],
      [70, 0.0001],
    ]);
    // Ten points of confidence_percent are one decade of the FMR.
    expect(points.map(({ threshold }) => threshold)).toEqual(
      [0.1, 0.2, 0.3].map((at) => expect.closeTo(at, 12)),
    );
    for (const { threshold, confidence_percent } of points) {
      expect(calibration.assess(threshold, 1).confidence_percent).toBeCloseTo(confidence_percent!, 9);
    }
    expect(points[2]).toMatchObject({ fnmr: 0.25, fmr: 50 / 200 });
  });
});

test('computes FMR and FNMR from comparisons, and FAR and FRR also from pairs without a face', () => {
  const pairs = [...different(0.5, 0.1, 0, -0.1), ...same(0.5, 0.1)];
  const at = (not_acquired?: { mated: number; non_mated: number }) => observe(pairs, 0.4, not_acquired);
  expect(at()).toMatchObject({ fmr: 1 / 4, fnmr: 1 / 2, far: 1 / 4, frr: 1 / 2 });
  const { far, frr, ...others } = at({ mated: 2, non_mated: 4 });
  expect([far, frr]).toEqual([1 / 8, 3 / 4]);
  expect(at()).toMatchObject(others);
});

describe('the people of a list of pairs', () => {
  const numbersOf = (...lines: readonly (readonly [string, string, 0 | 1])[]) =>
    Object.fromEntries([
      ...peopleOfPairs(
        lines.map(([image1, image2, same]) => ({ image1, image2, same: same === 1, fold: undefined })),
      ),
    ]);

  test('are the folders if every mated pair is in one folder and every non-mated pair in two', () => {
    const numbers = numbersOf(['a/1', 'a/2', 1], ['a/1', 'b/1', 0], ['a/3', 'b/2', 0]);
    expect(numbers).toEqual({ 'a/1': 0, 'a/2': 0, 'a/3': 0, 'b/1': 1, 'b/2': 1 });
  });

  test.each<[string, (readonly [string, string, 0 | 1])[]]>([
    [
      'folders separate kinds of photos',
      [
        ['doc/1', 'live/1', 1],
        ['live/1', 'live/2', 1],
        ['doc/3', 'live/2', 0],
      ],
    ],
    [
      'there are no folders',
      [
        ['1', '2', 1],
        ['2', '3', 1],
        ['4', '1', 0],
      ],
    ],
  ])('are linked by mated pairs if %s', (_what, lines) => {
    const numbers = Object.values(numbersOf(...lines));
    expect(new Set(numbers).size).toBe(2);
    expect(numbers.filter((one) => one === 0)).toHaveLength(3);
  });
});

test('lists the worst non-mated pairs (high scores) and mated pairs (low scores), worst first', () => {
  const pairs = Array.from({ length: 140 }, (_, i): JudgedPair => {
    const normalised = (i % 70) / 100;
    const images = { image1: `${normalised}`, image2: 'b' };
    return { ...images, same: i < 70, fold: undefined, people: [0, 1], cosine: 0.5, normalised };
  });
  const worst = worstPairs(pairs, calibration);
  expect([worst.non_mated.length, worst.mated.length]).toEqual([60, 60]);
  const { confidence_percent } = calibration.assess(0.69, 1);
  const [first] = worst.non_mated;
  expect(first).toEqual({ image1: '0.69', image2: 'b', normalised: 0.69, cosine: 0.5, confidence_percent });
  expect(worst.mated.map(({ normalised }) => normalised).slice(0, 3)).toEqual([0, 0.01, 0.02]);
});

test.each<[string, Scored[], number]>([
  ['between the last match and the first non-match', [...same(0.9, 0.6), ...different(0.2, 0.1)], 0.4],
  [
    'above a mated pair that scores less than the non-mated pairs',
    [...same(0.9, 0.05), ...different(0.2, 0.1)],
    0.55,
  ],
  ['without splitting pairs of one score', [...same(0.5), ...different(0.5, 0.5)], Number.POSITIVE_INFINITY],
])('places the best threshold %s', (_, pairs, threshold) => {
  expect(bestThreshold(pairs)).toBeCloseTo(threshold);
});

describe('accuracy', () => {
  test('scores each fold at the threshold of the others', () => {
    const pairs = [pair(0.8, true, 'a'), pair(0.3, false, 'a'), pair(0.4, true, 'b'), pair(0.1, false, 'b')];
    const { mean, deviation } = accuracy(pairs);
    // At b's threshold of 0.25, one of a's two pairs is right (0.8); at a's threshold of 0.55, one of b's (0.1).
    expect(mean).toBeCloseTo(0.5);
    expect(deviation).toBeCloseTo(0);
  });

  test('has no deviation without folds', () => {
    expect(accuracy([...same(1), ...different(0)])).toMatchObject({ mean: 1, deviation: undefined });
  });
});

describe('the false non-match rate', () => {
  const nonMated = different(...Array.from({ length: 100 }, (_, i) => i / 200));

  test.each([
    [0, 0.5], // no non-mated pair may match, so the threshold is above 0.495
    [0.01, 0.5], // one non-mated pair may match
    [0.1, 0.25],
  ])('is measured at a false match rate of at most %d', (fmr, fnmr) => {
    const point = fnmrAtFmr([...nonMated, ...same(0.9, 0.6, 0.46, 0.1)], fmr);
    expect(point.fnmr).toBe(fnmr);
    expect(nonMated.filter(({ score }) => score >= point.threshold).length / 100).toBeLessThanOrEqual(fmr);
  });

  test('does not accept a pair that ties with the first rejected non-mated pair', () => {
    expect(fnmrAtFmr([...different(0.5, 0.4), ...same(0.5, 0.6)], 0).fnmr).toBe(0.5);
  });
});

function rateOf(people: number, hit: (i: number, j: number) => boolean): PairRate {
  const rate = new PairRate(people);
  for (let i = 0; i < people; i++) {
    for (let j = i + 1; j < people; j++) rate.add(hit(i, j), i, j);
  }
  return rate;
}

const width = ([low, high]: readonly [number, number]) => high - low;

describe('the rate of pairs of people', () => {
  test('has a wider interval if all hits come from one person than from many', () => {
    const ofOne = rateOf(30, (i) => i === 0);
    const ofMany = rateOf(30, (i, j) => (i + j) % 15 === 0);
    expect(ofMany.rate).toBeCloseTo(ofOne.rate, 1);
    expect(width(ofOne.interval)).toBeGreaterThan(2 * width(ofMany.interval));
  });

  test('has an interval that depends on people, not on image pairs, if there is no hit', () => {
    const [low, high] = rateOf(100, () => false).interval;
    expect(low).toBe(0);
    // Each of the 4,950 pairs shares a person with 196 others.
    expect(high).toBeGreaterThan(2 * wilson(0, 4950)[1]);
    const imagesOfEach = new PairRate(100);
    for (let i = 0; i < 100; i++)
      for (let j = i + 1; j < 100; j++) for (let image = 0; image < 9; image++) imagesOfEach.add(false, i, j);
    expect(imagesOfEach.interval).toEqual([0, expect.closeTo(high, 12)]);
  });
});

const seeded = new Random(11);
const random = () => seeded.next();

/** Makes unit vectors of 16 numbers that are biased towards an axis. */
function faces(set: string, count: number, axis: number): Example[] {
  return Array.from({ length: count }, (_, i) => {
    const vector = Float32Array.from({ length: 16 }, () => random() - 0.5);
    vector[axis]! += 1.5;
    const embedding = meanOf([vector]);
    return { source: `${set}${i}`, set, embedding, isCounted: i > 0 || set === 'people' };
  });
}

const people = faces('people', 400, 0);
const dogs = faces('dogs', 30, 1);

describe('the human check', () => {
  const check = fitLinear(people, dogs);

  test('separates people from the far fewer other examples', () => {
    for (const { embedding } of people) expect(linearScore(check, embedding)).toBeGreaterThan(humanThreshold);
    for (const { embedding } of dogs) expect(linearScore(check, embedding)).toBeLessThan(0);
  });

  test('keeps its scores when its weights are stored as bytes', () => {
    const { bytes, scale } = quantiseLinear(check);
    expect(Math.max(...bytes.map(Math.abs))).toBe(127);
    for (const { embedding } of [...people, ...dogs]) {
      const stored = bytes.reduce((sum, byte, i) => sum + byte * scale * embedding[i]!, check.bias);
      expect(stored).toBeCloseTo(linearScore(check, embedding), 1);
    }
  });

  test('is tested on people and images that were not used to fit it', () => {
    const known = tallyLinear(people, dogs, humanThreshold);
    expect(known).toEqual([
      { set: 'people', faces: 400, passed: 400, sources: 400, sources_passed: 400 },
      expect.objectContaining({ set: 'dogs', faces: 29, sources: 29 }),
    ]);
    expect(known[1]!.passed).toBeLessThan(29 / 4);
  });
});
