import { describe, expect, test } from 'vitest';
import { Calibration } from '../../src/calibration.ts';
import { fitTable, honesty, type PeopleSet } from '../../src/eval/calibrate.ts';
import {
  cohortCentres,
  cohortScore,
  dequantise,
  dot,
  highest,
  type LabelledEmbedding,
  quantise,
} from '../../src/eval/cohort.ts';
import { CohortFits } from '../../src/eval/cohort-fits.ts';
import { fmrTable } from '../../src/eval/fmr-table.ts';
import { generator } from '../support/random.ts';

function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const dimensions = 32;

/** People around a common direction: the nearer, the more alike strangers of the group look. */
function group(name: string, people: number, alike: number, random: () => number): LabelledEmbedding[] {
  const axis = name === 'a' ? 0 : 1;
  return Array.from({ length: people }, (_, i) => {
    const vector = Float32Array.from({ length: dimensions }, () => gaussian(random));
    vector[axis]! += alike * Math.sqrt(dimensions);
    const length = Math.sqrt(dot(vector, vector));
    return { person: `${name}${i}`, embedding: vector.map((value) => value / length) };
  });
}

const random = generator(7);
const set = (name: string, people: number, alike: number, weight: number): PeopleSet => ({
  name,
  weight,
  pictures: group(name, people, alike, random),
});
const sets = [set('a', 900, 0.2, 1), set('b', 500, 0.9, 1)];

describe('the cohort', () => {
  const centres = cohortCentres(sets.flatMap(({ pictures }) => pictures));

  test('has centres of unit length, of at least five people each', () => {
    expect(centres.length).toBeGreaterThan(50);
    for (const centre of centres) expect(dot(centre, centre)).toBeCloseTo(1, 4);
    const lonely = cohortCentres([{ person: 'x', embedding: centres[0]! }]);
    expect(lonely).toEqual([]);
    const onePerson = Array.from({ length: 200 }, () => ({ person: 'x', embedding: centres[0]! }));
    expect(cohortCentres(onePerson)).toEqual([]);
  });

  test('is the same for the same pictures', () => {
    expect(cohortCentres(sets.flatMap(({ pictures }) => pictures))).toEqual(centres);
  });

  test('keeps its directions when it is stored as bytes', () => {
    const stored = dequantise(quantise(centres), dimensions);
    expect(stored).toHaveLength(centres.length);
    for (const [i, centre] of stored.entries()) expect(dot(centre, centres[i]!)).toBeGreaterThan(0.9995);
  });

  test('scores a face by the mean of its highest cosines', () => {
    const face = sets[0]!.pictures[0]!.embedding;
    const cosines = centres.map((centre) => dot(face, centre)).sort((x, y) => y - x);
    const mean = cosines.slice(0, highest).reduce((sum, value) => sum + value, 0) / highest;
    expect(cohortScore(face, centres)).toBeCloseTo(mean, 6);
    expect(cohortScore(face, [])).toBe(0);
  });

  test('is no nearer to somebody of a hundred pictures than to somebody of one', () => {
    const people = sets[0]!.pictures.slice(0, 6);
    const often = [...people, ...Array.from({ length: 99 }, () => people[0]!)];
    const one = { runs: 1, clusters: 1, least_people: 5, iterations: 2 };
    const [centre] = cohortCentres(often, one);
    const [evenly] = cohortCentres(people, one);
    expect(dot(centre!, evenly!)).toBeCloseTo(1, 5);
  });
});

describe('the table of false-match rates', () => {
  const scores = Float64Array.from({ length: 200_000 }, () => gaussian(random));

  test('has the quantiles of what was measured, and a tail that goes on as they do', () => {
    const table = new Calibration(fmrTable([{ scores, weight: 1 }]));
    // Of a standard normal distribution.
    expect(table.falseMatchRate(1.2816)).toBeCloseTo(0.1, 2);
    expect(table.falseMatchRate(2.3263)).toBeCloseTo(0.01, 3);
    const rare = table.falseMatchRate(4.2649);
    expect(rare).toBeGreaterThan(0.3e-5);
    expect(rare).toBeLessThan(10e-5);
  });

  test('counts a set by its weight, not by its size', () => {
    const high = { scores: scores.slice(0, 1000).map((score) => score + 100), weight: 1 };
    const low = { scores, weight: 3 };
    const table = new Calibration(fmrTable([low, high]));
    expect(table.falseMatchRate(50)).toBeCloseTo(0.25, 2);
  });

  test('starts at a rate of 1 and falls while the similarity rises', () => {
    const points = fmrTable([{ scores, weight: 1 }]);
    expect(points[0]![1]).toBe(1);
    expect(() => new Calibration(points)).not.toThrow();
  });

  test('is not made of too few pairs', () => {
    expect(() => fmrTable([{ scores: Float64Array.of(1, 1, 1), weight: 1 }])).toThrow('too few');
  });

  test('has an exponential tail where all scores above it are one and the same', () => {
    const scores = new Float64Array(3000).fill(0.5, 0, 2);
    const rates = new Map(fmrTable([{ scores, weight: 1 }]).map(([score, rate]) => [rate, score]));
    expect(rates.get(1e-5)).toBeCloseTo(0.5 * Math.log(100), 4);
  });
});

describe('of people who had no part in it', () => {
  test('the rate promised at 50 is far nearer to both groups with the cohort than without it', () => {
    const disparity = (rows: ReturnType<typeof honesty>) => {
      const rates = rows.map(({ observed }) => observed);
      return Math.max(...rates) / Math.min(...rates);
    };
    expect(
      disparity(honesty(sets, new CohortFits(sets.flatMap(({ pictures }) => pictures)), [50])),
    ).toBeLessThan(8);
    expect(disparity(honesty(sets, undefined, [50]))).toBeGreaterThan(50);
  });

  test('pairs of one person are no strangers', () => {
    const twins = sets.map(({ pictures, ...rest }) => ({ ...rest, pictures: [...pictures, ...pictures] }));
    expect(fitTable(twins, undefined)).toEqual(fitTable(sets, undefined));
  });
});
