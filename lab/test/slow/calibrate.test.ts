import { describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { Calibration } from '../../../src/scoring/calibration.ts';
import { dot, meanOf } from '../../../src/scoring/similarity.ts';
import { Random } from '../../../test/support/random.mjs';
import { contradictedRates, fitTable } from '../../calibrate.ts';
import {
  binOf,
  bins,
  floorOf,
  fmrTable,
  type NonMatedScores,
  PersonCounts,
  requirePeople,
} from '../../fmr-table.ts';
import { pairsOf } from '../../metrics.ts';
import { numberPeople, reachOf, tooAlike, tooAlikeByGroup } from '../../non-mated.ts';
import type { PeopleSet } from '../../people.ts';

function gaussian(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const seeded = new Random(7);
const random = () => seeded.next();

/** Makes people around a common direction. A higher `alike` makes the people of the group look more alike. */
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

// Imports the compiled file, because it starts worker threads, which cannot run TypeScript.
const { makeCohorts }: typeof import('../../held-out.ts') = await import(projectPath('dist/lab/held-out.js'));

describe('the table of false match rates', () => {
  const normal = Float64Array.from({ length: 200_000 }, () => gaussian(random) / 8);
  const scoresOf = (scores: Float64Array, count: number): NonMatedScores => {
    const counts = new Float64Array(bins);
    for (const score of scores) counts[binOf(score)]!++;
    return { counts, people: count };
  };
  const many = scoresOf(normal, 100_000);

  test('has the quantiles of the measured scores, and a tail that continues them', () => {
    const table = new Calibration(fmrTable([many]), 1e-7);
    // Quantiles of a normal distribution with a standard deviation of 1/8.
    expect(table.falseMatchRate(1.2816 / 8)).toBeCloseTo(0.1, 2);
    // The stated rate is the upper bound of 1 in 100, measured on 2,000 matching pairs.
    expect(table.falseMatchRate(2.3263 / 8)).toBeGreaterThan(0.01);
    expect(table.falseMatchRate(2.3263 / 8)).toBeLessThan(0.0115);
    const rare = table.falseMatchRate(4.2649 / 8);
    expect(rare).toBeGreaterThan(0.3e-5);
    expect(rare).toBeLessThan(10e-5);
  });

  test('follows the group with the highest rates, down to the lowest rate that its people can show', () => {
    const alike = normal.slice(0, 20_000).map((score) => score + 0.3);
    const table = (size: number) => new Calibration(fmrTable([many, scoresOf(alike, size)]), 1e-7);
    const at = 0.3 + 2.3263 / 8;
    expect(table(100_000).falseMatchRate(at) / 0.01).toBeCloseTo(1, 0);
    // 1 in 100 needs 46 people. With that many, the stated rate is an upper bound; with fewer, the table follows
    // the large group.
    expect(table(46).falseMatchRate(at)).toBeGreaterThan(0.01 * 1.3);
    expect(table(45).falseMatchRate(at)).toBeLessThan(table(46).falseMatchRate(at));
  });

  test.each([
    [70, 60],
    [250, 20],
    [700, 6],
  ])('states a floor for %d people that is right within a factor of two', (people, tables) => {
    const pairs = pairsOf(people);
    const floor = floorOf(pairs);
    // A threshold below this means that the stated rate is less than half of the true one.
    const tail = { 70: 2.3263, 250: 3.0902, 700: 3.5401 }[people]! / 8;
    const twice = { 70: 0.01, 250: 0.001, 700: 0.0002 }[people]!;
    expect(twice).toBe(2 * floor);
    const late = Array.from({ length: tables }, () => {
      const scores = Float64Array.from({ length: pairs }, () => gaussian(random) / 8);
      return new Calibration(fmrTable([scoresOf(scores, people)])).similarityAt(floor);
    }).filter((score) => score < tail);
    expect(late.length).toBeLessThanOrEqual(tables / 10);
  });

  test('bounds rates more cautiously if they come from a few people', () => {
    const people = 200;
    const effectOf = (scoreOf: (first: number, second: number) => number) => {
      const perPerson = new PersonCounts(people);
      for (let first = 0; first < people; first++)
        for (let second = first + 1; second < people; second++)
          perPerson.add(first, second, scoreOf(first, second));
      return perPerson.effects()(0.2);
    };
    const own = Float64Array.from({ length: people }, () => gaussian(random) / 12);
    const apart = effectOf(() => gaussian(random) / 8.5);
    const clustered = effectOf((first, second) => own[first]! + own[second]!);
    expect(apart).toBeLessThan(1.5);
    expect(clustered).toBeGreaterThan(4 * apart);
    const { counts } = scoresOf(normal.slice(0, (people * (people - 1)) / 2), people);
    const table = (effect: number) =>
      new Calibration(fmrTable([{ counts, people, effectAt: () => effect }])).similarityAt(1e-2);
    expect(table(clustered)).toBeGreaterThan(table(apart) + 0.005);
  });
});

describe('a table of few people', () => {
  test.each([
    [70, 5e-3],
    [142, 1e-3],
    [448, 1e-4],
    [1415, 1e-5],
    [4473, 1e-6],
    [100_000, 1e-6],
  ])('with %d people shows a rate of %d and no lower one', (people, floor) => {
    expect(() => requirePeople(people)).not.toThrow();
    expect(floorOf(pairsOf(people))).toBe(floor);
    if (people < 100_000 && people > 70) expect(floorOf(pairsOf(people - 1))).toBeGreaterThan(floor);
  });

  test('rejects too few people and states the number needed', () => {
    expect(() => requirePeople(63)).toThrow(
      /has 63, but needs at least 64. With 142 it can measure 1 in 1,000, with 448 1 in 10,000, with 1415 1 in 100,000, and with 4473 /,
    );
  });
});

describe('a stated rate', () => {
  const row = (stated_fmr: number, fmr: number, low: number) => {
    const interval: [number, number] = [low, 1];
    const percent = 30 - 10 * Math.log10(stated_fmr);
    return { group: 'a', percent, stated_fmr, fmr, interval, pairs: 12_720, people: 160 };
  };

  test.each([
    ['is accepted', 1e-3, 1e-3, row(1e-3, 5e-4, 1e-4), false],
    ['is accepted within one point of confidence_percent', 1e-3, 1e-3, row(1e-3, 2e-3, 1.2e-3), false],
    ['is contradicted', 1e-3, 1e-3, row(1e-3, 2e-3, 1.3e-3), true],
    ['is checked at 70 percent even below the floor', 1e-3, 1e-4, row(1e-4, 6e-4, 2e-4), true],
    ['is not checked at 80 percent below the floor', 2e-4, 1e-5, row(1e-5, 2e-4, 5e-5), false],
    ['is checked at 80 percent down to the floor', 1e-5, 1e-5, row(1e-5, 2e-4, 5e-5), true],
  ])('%s', (_, floor, stated_fmr, checked, isBroken) => {
    expect(contradictedRates([checked], floor).map((one) => one.stated_fmr)).toEqual(
      isBroken ? [stated_fmr] : [],
    );
  });

  test('reports missing people if it is contradicted: more for a rarer rate, once per group', () => {
    const often = row(1e-3, 2.04e-3, 1.4e-3);
    const rows = [often, row(1e-4, 6.3e-4, 2.5e-4), { ...row(1e-3, 3e-3, 2e-3), group: 'b' }];
    const broken = contradictedRates(rows, 2e-4);
    expect(broken.map(({ group, stated_fmr }) => [group, stated_fmr])).toEqual([
      ['a', 1e-4],
      ['b', 1e-3],
    ]);
    const [{ more_people }] = broken as [(typeof broken)[0]];
    expect(more_people).toBeGreaterThan(200);
    expect(more_people).toBeLessThan(500);
    expect(contradictedRates([often], 2e-4)[0]!.more_people).toBeLessThan(more_people);
  });
});

describe('a calibration checked on other people', () => {
  const sets = [people('a', 350, 0.2), people('b', 150, 0.9)];
  const images = sets.flatMap((set) => set.images);

  test('has about the stated rate in the worst group, and with the cohort also in the other group', async () => {
    const ratios = (rows: ReturnType<typeof fitTable>['check']) =>
      Object.fromEntries(rows.map(({ group, fmr, stated_fmr }) => [group, fmr / stated_fmr]));
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

  test('omits pairs that count as one person from the table and the check', () => {
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
    // Pairs whose cosine reaches this percentage count as one person, so no pair can show its rate.
    const blind = fitTable([sets[1]!], undefined, [90], 0.4);
    expect(blind.check.map(({ pairs }) => pairs)).toEqual([0, 0, 0]);
  });

  test('also counts all groups together, and any two people', () => {
    const { check } = fitTable(sets, undefined, [50]);
    expect(check.map(({ group, pairs, people }) => [group, people, pairs])).toEqual([
      ['a', 350, (350 * 349) / 2],
      ['b', 150, (150 * 149) / 2],
      ['two people of one group', 500, (350 * 349 + 150 * 149) / 2],
      ['any two people', 500, (500 * 499) / 2],
    ]);
  });
});

describe('the floor of several groups', () => {
  const inGroup = ({ images }: PeopleSet, label: string) =>
    images.map((image) => ({ ...image, labels: [label] }));
  const [first, second, third] = ['a', 'c', 'd'].map((name) => people(name, 110, 0)) as [
    PeopleSet,
    PeopleSet,
    PeopleSet,
  ];
  const [child, adult] = [inGroup(first, 'age 3-9'), inGroup(second, 'age 20-29')];
  const floorIn = (...sets: readonly (readonly (typeof child)[number][])[]) =>
    fitTable(
      sets.map((images) => ({ name: 'set', images })),
      undefined,
      [],
    ).floor;

  test('combines the pairs of different people', () => {
    // One group has 5,995 pairs, and two have 11,990.
    expect(floorIn(child)).toBe(2e-3);
    expect(floorIn([...child, ...adult])).toBe(1e-3);
    expect(floorIn(child, adult)).toBe(1e-3);
  });

  test('counts two people who share several groups once', () => {
    const later = inGroup(first, 'age 20-29');
    expect(floorIn([...child, ...later])).toBe(2e-3);
    expect(floorIn(child, later)).toBe(2e-3);
    // Of 110 children, 60 are also among the adults: 9,175 pairs with 40 other adults, and 11,365 with 60.
    const both = [...child, ...later.slice(0, 60)];
    const others = inGroup(third, 'age 20-29');
    expect(floorIn([...both, ...others.slice(0, 40)])).toBe(2e-3);
    expect(floorIn([...both, ...others.slice(0, 60)])).toBe(1e-3);
    const { check } = fitTable([{ name: 'set', images: [...child, ...later] }], undefined, [50]);
    const together = check.find(({ group }) => group === 'two people of one group');
    expect(together).toMatchObject({ people: 110, pairs: 2 * pairsOf(110) });
  });

  test('counts pairs of people, not of images, if many pairs count as one person', () => {
    // Each group has two clusters of people. Pairs within a cluster count as one person.
    const cluster = (group: string, count: number, axis: number) =>
      Array.from({ length: count }, (_, i) => {
        const vector = Float32Array.from({ length: 64 }, () => gaussian(random));
        vector[axis]! += 25;
        const image = { person: `${axis}/${i}`, set: group, labels: [group], cohort_score: 0 };
        return { ...image, embedding: meanOf([vector]) };
      });
    const groups = ['e', 'f'].map((group, i) => ({
      name: group,
      images: [...cluster(group, 100, 2 * i), ...cluster(group, 45, 2 * i + 1)],
    }));
    const twice = groups.map((set) => ({
      ...set,
      images: [...set.images, ...set.images.map((image) => ({ ...image }))],
    }));
    expect(fitTable(groups, undefined, [60]).floor).toBe(5e-4);
    // Of 20,880 pairs of people, 9,000 remain, but 1 in 1,000 needs 10,000. These 9,000 have 36,000 pairs of images.
    expect(fitTable(twice, undefined, [60], 0.75).floor).toBe(1e-2);
  });
});

describe('images of two names with too high a cosine', () => {
  const copies = 6;

  test('are listed and excluded from all rates, as copies or as one person under two names', () => {
    const { images } = people('a', 150, 0, 512);
    const copied = Array.from({ length: copies }, (_, i) => ({
      ...images[0]!,
      person: `copy ${i}`,
      file: `copy ${i}`,
    }));
    const withoutCopies = fitTable([{ name: 'a', images }], undefined, [50]);
    const withCopies = fitTable([{ name: 'a', images: [...images, ...copied] }], undefined, [50]);
    expect(withoutCopies.too_alike).toEqual([]);
    // Each copy is listed with its original and with the other copies.
    expect(withCopies.too_alike).toHaveLength((copies * (copies + 1)) / 2);
    expect(withCopies.too_alike[0]).toMatchObject({ group: 'a', cosine: expect.closeTo(1, 5) });
    const at = ({ points }: typeof withoutCopies) => new Calibration(points).similarityAt(1e-3);
    expect(at(withCopies)).toBeCloseTo(at(withoutCopies), 1);
  });

  /** Makes 130 adults, and 60 children who look more alike. */
  const mixed = () => {
    const labelled = (set: PeopleSet, label: string) =>
      set.images.map((image) => ({ ...image, file: image.person, labels: [label] }));
    return [...labelled(people('a', 130, 0, 512), 'adult'), ...labelled(people('b', 60, 1.6, 512), 'child')];
  };

  test('count as copies at a cosine above 0.99, also among people who look alike', () => {
    const images = mixed();
    const copied = [...images, { ...images[0]!, person: 'copy', file: 'copy' }];
    const whole = tooAlike(numberPeople(copied));
    expect(whole.pairs.map(({ image1, image2 }) => [image1, image2])).toEqual([['a0', 'copy']]);
    // The highest cosines of a set with a wide tail would predict more than 1.
    const wide = Array.from({ length: 2000 }, (_, i) => 0.9 - 0.2 * Math.log(i + 1));
    expect(reachOf(wide, 10_000)).toBe(0.99);
    const few = tooAlike(numberPeople(copied.filter(({ person }) => ['a0', 'a1', 'copy'].includes(person))));
    expect(few.pairs).toHaveLength(1);
  });

  test('are detected relative to their own group', () => {
    const images = mixed();
    const [first, second] = [images[0]!, images[1]!];
    // Two photos of the first person are more similar than any two adults, but less than some children.
    const embedding = meanOf([first.embedding, second.embedding.map((value) => value * 0.9)]);
    const another = { ...first, embedding, person: 'another', file: 'another' };
    const cosine = dot(first.embedding, embedding);
    const { isTooAlike, pairs } = tooAlikeByGroup([...images, another]);
    expect(isTooAlike(first, another, cosine)).toBe(true);
    expect(pairs.map(({ image1, image2 }) => [image1, image2])).toContainEqual(['a0', 'another']);
    const children = images.filter(({ labels }) => labels[0] === 'child');
    expect(isTooAlike(children[0]!, children[1]!, cosine)).toBe(false);
  });
});
