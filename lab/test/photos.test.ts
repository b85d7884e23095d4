import { Calibration, meanOf } from 'facematch/for-lab';
import { describe, expect, test } from 'vitest';
import { Random } from '../../test/support/random.mjs';
import { folds, HeldOutCohorts } from '../held-out.ts';
import { checkShifts, fitShifts, groupsOf, newMeans, statedShifts } from '../photos.ts';
import { judgeForeign, judgePhotos } from '../several-photos.ts';

/** Tests the shift that corrects the higher non-mated similarity when a side is the mean of several photos. */

const dimensions = 16;
const random = new Random(7);
const noise = (size: number) =>
  Float32Array.from(
    { length: dimensions },
    () => size * (random.next() + random.next() + random.next() - 1.5),
  );
const sum = (a: Float32Array, b: Float32Array) => a.map((value, i) => value + b[i]!);

/** Makes people whose photos differ by noise. `counts` has the number of photos of each person. */
function people(counts: readonly number[], labels = ['set']) {
  return counts.flatMap((count, number) => {
    // People differ in fewer dimensions than photos.
    const own = noise(1).map((value, i) => (i < 5 ? value : 0));
    const images = Array.from({ length: count }, () => meanOf([sum(own, noise(0.8))]));
    const person = `set/${number}`;
    return images.map((embedding) => ({ person, set: 'set', labels, embedding, cohort_score: 0 }));
  });
}

function fit(counts: readonly number[], labels?: string[]) {
  const images = people(counts, labels);
  const groups = groupsOf([{ name: 'set', images }]);
  const judged = [...images, ...newMeans(groups)].map(({ embedding }) => embedding);
  const cohorts = new HeldOutCohorts(
    judged,
    judged.map(() => new Float32Array(folds)),
  );
  return { groups, cohorts, shiftsWithout: fitShifts(groups, cohorts) };
}

test('increases the shift with the number of photos, so that the false match rate stays that of one photo', () => {
  const { groups, cohorts, shiftsWithout } = fit(Array(400).fill(3));
  const shifts = shiftsWithout();
  expect(shifts).toHaveLength(3);
  expect(shifts[0]).toBe(0);
  expect(shifts[1]).toBeGreaterThan(0.01);
  expect(shifts[2]).toBeGreaterThan(shifts[1]!);
  // Below 1 in 1,000 the similarity hardly rises, so the stated shifts are the measured ones.
  const table = new Calibration([
    [0, 1],
    [0.5, 1e-3],
    [0.5001, 1e-9],
  ]);
  const [rows] = checkShifts(groups, cohorts, shiftsWithout, () => table, [1e-3]);
  const observed = (a: number, b: number) =>
    rows!.find(({ photos }) => photos[0] === a && photos[1] === b)!.fmr;
  const alone = observed(1, 1);
  expect(alone).toBeGreaterThan(1e-3);
  expect(rows![0]!.worst).toMatchObject({ group: 'set', fmr: alone });
  for (const [a, b] of [
    [2, 1],
    [3, 1],
    [2, 2],
    [3, 3],
  ] as const)
    expect(observed(a, b) / alone).toBeLessThan(1.5);
});

test('returns shifts for 1 to 16 photos, at least the measured shifts and those of varied photos', () => {
  const table = new Calibration([
    [0, 1],
    [0.5, 1e-5],
  ]);
  const stated = statedShifts([0, 0.001, 0.06], table);
  expect(stated).toHaveLength(16);
  // The similarity rises by 0.1 per decade of the rate. The shift of three photos determines the other shifts.
  expect(stated.slice(0, 4)).toEqual([0, 0.0413, 0.06, 0.0707]);
  expect(statedShifts([0, 0.001], table)[15]).toBeCloseTo(0.0763, 4);
});

test('returns no shift for a number of photos that fewer than 100 people have', () => {
  expect(fit(Array(99).fill(2)).shiftsWithout()).toEqual([0]);
  expect(fit([...Array(120).fill(2), ...Array(99).fill(3)]).shiftsWithout()).toHaveLength(2);
});

test('counts a person of several groups once', () => {
  expect(fit(Array(99).fill(2), ['age 20-29', 'sex F']).shiftsWithout()).toEqual([0]);
  const { groups, cohorts, shiftsWithout } = fit(Array(100).fill(2), ['age 20-29', 'sex F']);
  const table = new Calibration([
    [0, 1],
    [0.5, 1e-5],
  ]);
  const [rows] = checkShifts(groups, cohorts, shiftsWithout, () => table, [1e-2]);
  expect(rows!.map(({ people }) => people)).toEqual([100, 100, 100]);
});

describe('several photos of people', () => {
  const images = people([...Array(60).fill(6), ...Array(40).fill(4), ...Array(20).fill(2)]);
  const calibration = new Calibration(
    [
      [-1, 1],
      [0.5, 0.1],
      [1, 1e-6],
    ],
    0,
    [0, 0, 0],
  );
  const cohortScores = (vectors: Float32Array) => new Float32Array(vectors.length);
  const judge = { calibration, cohortScores };
  const set = { name: 'set', images };

  test('match more often with more photos, and less often among many people', () => {
    const rows = judgePhotos(set, 3, judge);
    expect(rows.map(({ probe, reference, people, trials }) => [probe, reference, people, trials])).toEqual([
      [1, 1, 100, 520],
      [1, 2, 100, 520],
      [1, 3, 100, 520],
      [1, 1, 60, 360],
      [2, 2, 60, 360],
      [3, 3, 60, 360],
    ]);
    const missed = rows.map((row) => row.fnmr[1]!);
    expect(missed[2]).toBeLessThan(missed[0]!);
    expect(missed[5]).toBeLessThan(missed[3]!);
    expect(rows![0]!.non_mated).toBe(520 * 99);
    const among = judgePhotos(set, 3, judge, 1000);
    expect(among[2]!.fnmr[1]).toBeGreaterThan(missed[2]!);
    expect(among[2]!.fmr[0]).toBeLessThan(rows[2]!.fmr[0]!);
  });

  test('report a photo of another person more often than one of the same person', () => {
    const [three, ...more] = judgeForeign(set, 3, judge, 30);
    expect(more).toEqual([]);
    expect(three).toMatchObject({ photos: 3, sets: 520 });
    expect(three!.foreign_detected).toBeGreaterThan(0.5);
    expect(three!.own_rejected).toBeLessThan(three!.foreign_detected / 2);
  });

  test('compare only people who share a label', () => {
    const labelled = images.map((one, i) => ({ ...one, labels: [i < 240 ? 'a' : 'b'] }));
    const [row] = judgePhotos({ name: 'set', images: labelled }, 3, judge);
    expect(row!.non_mated).toBe(40 * 6 * 39 + 20 * 6 * 59 + 40 * 4 * 59);
  });
});
