import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { Calibration } from '../../src/scoring/calibration.ts';
import { dot, meanOf } from '../../src/scoring/similarity.ts';
import { Random } from '../../test/support/random.mjs';
import { brokenPromises, fitTable } from '../calibrate.ts';
import { binOf, bins, floorOf, fmrTable, type ImpostorScores, requirePeople } from '../fmr-table.ts';
import type { PeopleSet } from '../people.ts';

function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const seeded = new Random(7);
const random = () => seeded.next();

/** People around a common direction: the nearer, the more alike strangers of the group look. */
function people(name: string, count: number, alike: number, dimensions = 32): PeopleSet {
  const axis = name === 'a' ? 0 : 1;
  const images = Array.from({ length: count }, (_, i) => {
    const vector = Float32Array.from({ length: dimensions }, () => gaussian(random));
    vector[axis]! += alike * Math.sqrt(dimensions);
    const embedding = meanOf([vector]);
    return { person: `${name}${i}`, set: name, labels: [name], embedding, cohort_score: 0 };
  });
  return { name, images };
}

// The compiled one: it starts worker threads, which cannot run TypeScript.
const { makeCohorts }: typeof import('../held-out.ts') = await import(projectPath('dist/lab/held-out.js'));

describe('the table of false-match rates', () => {
  const normal = Float64Array.from({ length: 200_000 }, () => gaussian(random) / 8);
  const scoresOf = (scores: Float64Array, count: number): ImpostorScores => {
    const counts = new Float64Array(bins);
    for (const score of scores) counts[binOf(score)]!++;
    return { counts, people: count };
  };
  const many = scoresOf(normal, 100_000);

  test('has the quantiles of what was measured, and a tail that goes on as they do', () => {
    const table = new Calibration(fmrTable([many]), 1e-7);
    // The values of a normal distribution that is eight times as narrow.
    expect(table.falseMatchRate(1.2816 / 8)).toBeCloseTo(0.1, 2);
    expect(table.falseMatchRate(2.3263 / 8)).toBeCloseTo(0.01, 3);
    const rare = table.falseMatchRate(4.2649 / 8);
    expect(rare).toBeGreaterThan(0.3e-5);
    expect(rare).toBeLessThan(10e-5);
  });

  test('is decided by the group that is served worst, however small, as far as its people can show', () => {
    const alike = normal.slice(0, 20_000).map((score) => score + 0.3);
    const table = (size: number) => new Calibration(fmrTable([many, scoresOf(alike, size)]), 1e-7);
    const at = 0.3 + 2.3263 / 8;
    expect(table(100_000).falseMatchRate(at) / 0.01).toBeCloseTo(1, 0);
    // Of 30 people, 435 pairs: 0.01 + 3 · √(0.01 / 435) is allowed where 1 in 100 is promised.
    expect(table(30).falseMatchRate(0.3 + 2.0175 / 8)).toBeCloseTo(0.01, 2);
    expect(table(30).falseMatchRate(at)).toBeLessThan(0.01);
  });
});

describe('of few people', () => {
  test.each([
    [70, 1e-3],
    [100, 5e-4],
    [300, 1e-4],
    [1000, 1e-5],
    [5749, 1e-6],
    [100_000, 1e-6],
  ])('%d can show a rate of %d and promise no lower one', (people, floor) => {
    expect(() => requirePeople(people)).not.toThrow();
    expect(floorOf([people])).toBe(floor);
  });

  test('several groups show together what their pairs do', () => {
    expect(floorOf([1000, 1000, 1000, 1000])).toBe(1e-5);
    expect(floorOf([1000, 1000, 1000, 1000, 1000])).toBe(1e-6);
  });

  test('too few are refused with what is needed', () => {
    expect(() => requirePeople(40)).toThrow(
      /40 in the largest group, and at least 68 are needed. 213 show 1 in 10,000, 668 show 1 in 100,000, and 2110 /,
    );
  });
});

describe('a promise', () => {
  const row = (promised: number, observed: number, low: number) => {
    const interval: [number, number] = [low, 1];
    const percent = 30 - 10 * Math.log10(promised);
    return { group: 'a', percent, promised, observed, interval, pairs: 12_720, people: 160 };
  };

  test.each([
    ['is kept', 1e-3, 1e-3, row(1e-3, 5e-4, 1e-4), false],
    ['may be kept, within a point of percent', 1e-3, 1e-3, row(1e-3, 2e-3, 1.2e-3), false],
    ['is broken', 1e-3, 1e-3, row(1e-3, 2e-3, 1.3e-3), true],
    ['of 70 percent counts below any floor', 1e-3, 1e-4, row(1e-4, 6e-4, 2e-4), true],
    ['of 80 percent does not below the floor', 2e-4, 1e-5, row(1e-5, 2e-4, 5e-5), false],
    ['of 80 percent counts down to it', 1e-5, 1e-5, row(1e-5, 2e-4, 5e-5), true],
  ])('%s', (_, floor, promised, checked, isBroken) => {
    expect(brokenPromises([checked], floor).map((one) => one.promised)).toEqual(isBroken ? [promised] : []);
  });

  test('that is broken takes more people, the more the rarer it is, and each group is told once', () => {
    const often = row(1e-3, 2.04e-3, 1.4e-3);
    const rows = [often, row(1e-4, 6.3e-4, 2.5e-4), { ...row(1e-3, 3e-3, 2e-3), group: 'b' }];
    const broken = brokenPromises(rows, 2e-4);
    expect(broken.map(({ group, promised }) => [group, promised])).toEqual([
      ['a', 1e-4],
      ['b', 1e-3],
    ]);
    const [{ more_people }] = broken as [(typeof broken)[0]];
    expect(more_people).toBeGreaterThan(200);
    expect(more_people).toBeLessThan(500);
    expect(brokenPromises([often], 2e-4)[0]!.more_people).toBeLessThan(more_people);
  });
});

describe('of people who had no part in it', () => {
  const sets = [people('a', 350, 0.2), people('b', 150, 0.9)];
  const images = sets.flatMap((set) => set.images);

  test('the promise is kept to the group served worst, and the cohort spares the others', async () => {
    const ratios = (rows: ReturnType<typeof fitTable>['check']) =>
      Object.fromEntries(rows.map(({ group, observed, promised }) => [group, observed / promised]));
    const { heldOut } = await makeCohorts(images, 2);
    const withCohort = ratios(fitTable(sets, heldOut, [50]).check);
    expect(withCohort.a).toBeGreaterThan(0.7);
    expect(withCohort.a).toBeLessThan(1.2);
    expect(withCohort.b).toBeLessThan(1.2);
    const without = ratios(fitTable(sets, undefined, [50]).check);
    expect(without.a).toBeLessThan(0.02);
    expect(without.b).toBeGreaterThan(0.7);
    expect(without.b).toBeLessThan(1.5);
  });

  test('pairs that are taken for one person are left out of the table and of the check', () => {
    const { images: all } = sets[1]!;
    const cosines = all.flatMap((a, i) => all.slice(i + 1).map((b) => dot(a.embedding, b.embedding)));
    const above = cosines.filter((cosine) => cosine > 0.75).length;
    const plain = fitTable([sets[1]!], undefined, [50]);
    const cleaned = fitTable([sets[1]!], undefined, [50], 0.75);
    expect(above).toBeGreaterThan(0);
    expect(plain.taken_for_one_person).toEqual([{ group: 'b', pairs: 0 }]);
    expect(cleaned.taken_for_one_person).toEqual([{ group: 'b', pairs: above }]);
    expect(cleaned.check[0]!.pairs).toBe(plain.check[0]!.pairs - above);
    expect(cleaned.points.at(-1)![0]).toBeLessThan(plain.points.at(-1)![0]);
    // A cosine that would reach this percent is taken for one person's: the pairs show nothing of it.
    const blind = fitTable([sets[1]!], undefined, [90], 0.4);
    expect(blind.check.map(({ pairs }) => pairs)).toEqual([0, 0, 0]);
  });

  test('all groups together, and any two people, are counted as well', () => {
    const { check } = fitTable(sets, undefined, [50]);
    expect(check.map(({ group, pairs, people }) => [group, people, pairs])).toEqual([
      ['a', 350, (350 * 349) / 2],
      ['b', 150, (150 * 149) / 2],
      ['two people of one group', 500, (350 * 349 + 150 * 149) / 2],
      ['any two people', 500, (500 * 499) / 2],
    ]);
  });
});

describe('images of strangers that are more alike than strangers are', () => {
  const copies = 6;

  test('are named, and are in no rate: copies, and one person under two names', () => {
    const { images } = people('a', 150, 0, 512);
    const copied = Array.from({ length: copies }, (_, i) => ({
      ...images[0]!,
      person: `copy ${i}`,
      file: `copy ${i}`,
    }));
    const sound = fitTable([{ name: 'a', images }], undefined, [50]);
    const spoilt = fitTable([{ name: 'a', images: [...images, ...copied] }], undefined, [50]);
    expect(sound.too_alike).toEqual([]);
    // Each with the image that it is a copy of, and with each other.
    expect(spoilt.too_alike).toHaveLength((copies * (copies + 1)) / 2);
    expect(spoilt.too_alike[0]).toMatchObject({ group: 'a', cosine: expect.closeTo(1, 5) });
    expect(spoilt.points.at(-1)![0]).toBeCloseTo(sound.points.at(-1)![0], 1);
  });
});
