import { describe, expect, test } from 'vitest';
import { Calibration, promisedRate } from '../../src/scoring/calibration.ts';
import { dot, meanOf } from '../../src/scoring/similarity.ts';
import { Random } from '../../test/support/random.mjs';
import { runs } from '../../test/support/runs.ts';
import { differentialOf, type GroupFigures, highestOverLowest } from '../differential.ts';
import { PairRate, PersonRate, wilson } from '../metrics.ts';
import { eachMated, eachNonMated, numberPeople } from '../non-mated.ts';
import { type FoundPeople, parseGroupings } from '../people.ts';

const seeded = new Random(11);
const random = () => seeded.next();
const dimensions = 8;

const direction = () => meanOf([Float32Array.from({ length: dimensions }, () => random() - 0.5)]);

const groupings = parseGroupings('sex,age*sex');

/** Makes 60 people. Fifty of them have two images. Some images have no face. */
function madeUp(): FoundPeople {
  const listed = Array.from({ length: 110 }, (_, i) => {
    const person = i % 60;
    const sex = person % 2 === 0 ? 'F' : 'M';
    const age = (i * 7) % 3 === 0 ? '3-9' : '10-19';
    const labels = [`sex ${sex}`, `age ${age} × sex ${sex}`];
    return { file: `${i}.jpg`, person: `set/${person}`, set: 'set', labels, hasFace: i % 9 !== 0 };
  });
  const images = listed.flatMap(({ hasFace, ...image }) =>
    hasFace ? [{ ...image, embedding: direction(), cohort_score: random() / 5 }] : [],
  );
  return { name: 'set', images, allImages: listed };
}

const people = madeUp();
const calibration = new Calibration([
  [-1, 1],
  [0, 0.1],
  [1.2, 1e-5],
]);
const percents = [50, 60];
const samePersonAbove = 0.9;

function judged(set: FoundPeople, above = samePersonAbove) {
  const scoreOf = ({ cohort_score }: { cohort_score: number }) => cohort_score;
  return differentialOf(set, groupings, { calibration, percents, scoreOf, samePersonAbove: above });
}

/** Computes the same figures by their definitions, from a list of all pairs. */
function byDefinition(label: string | undefined) {
  const isOf = ({ labels }: { labels: readonly string[] }) => label === undefined || labels.includes(label);
  const images = people.images.filter(isOf);
  const pairs = images.flatMap((a, i) =>
    images.slice(i + 1).map((b) => {
      const cosine = dot(a.embedding, b.embedding);
      const score = cosine - (a.cohort_score + b.cohort_score) / 2;
      return { files: [a.file, b.file], same: a.person === b.person, cosine, score };
    }),
  );
  const nonMated = pairs.filter(({ same, cosine }) => !same && cosine <= samePersonAbove);
  const mated = pairs.filter(({ same }) => same);
  const all = people.allImages.filter(isOf);
  const at = (percent: number) => calibration.similarityAt(promisedRate(percent));
  return {
    nonMated,
    mated,
    images: all.length,
    people: new Set(all.map(({ person }) => person)).size,
    taken_for_one_person: pairs.filter(({ same, cosine }) => !same && cosine > samePersonAbove).length,
    without_face: all.filter(({ hasFace }) => !hasFace).length / all.length,
    false_match: percents.map(
      (percent) => nonMated.filter(({ score }) => score >= at(percent)).length / nonMated.length,
    ),
    false_non_match: percents.map(
      (percent) => mated.filter(({ score }) => score < at(percent)).length / mated.length,
    ),
  };
}

function expectDefined(figures: GroupFigures, label: string | undefined): void {
  const defined = byDefinition(label);
  expect(figures).toMatchObject({
    people: defined.people,
    images: defined.images,
    taken_for_one_person: defined.taken_for_one_person,
    failure_to_acquire: { rate: expect.closeTo(defined.without_face, 12), trials: defined.images },
  });
  for (const [i, one] of figures.by_percent.entries()) {
    const { percent, stated_fmr, fmr_over_stated, fmr, fnmr } = one;
    expect([percent, stated_fmr]).toEqual([percents[i], Number(promisedRate(percent).toPrecision(6))]);
    expect(fmr.rate).toBeCloseTo(defined.false_match[i]!, 12);
    expect(fmr.trials).toBe(defined.nonMated.length);
    expect(fmr_over_stated).toBeCloseTo(defined.false_match[i]! / stated_fmr, 9);
    expect(fnmr.rate).toBeCloseTo(defined.false_non_match[i]!, 12);
    expect(fnmr.trials).toBe(defined.mated.length);
    for (const { rate, interval } of [fmr, fnmr, figures.failure_to_acquire]) {
      expect(interval[0]).toBeLessThanOrEqual(rate);
      expect(interval[1]).toBeGreaterThanOrEqual(rate);
    }
  }
}

describe('error rates by group', () => {
  test('match their definitions, for everyone and for each group, in display order', () => {
    const { everybody, groupings: figures } = judged(people);
    expectDefined(everybody, undefined);
    expect(figures.map(({ grouping, groups }) => [grouping, ...groups.map(({ group }) => group)])).toEqual([
      ['sex', 'sex F', 'sex M'],
      ['age × sex', 'age 3-9 × sex F', 'age 3-9 × sex M', 'age 10-19 × sex F', 'age 10-19 × sex M'],
    ]);
    for (const group of figures.flatMap(({ groups }) => groups)) expectDefined(group, group.group);
    expect(everybody.taken_for_one_person).toBeGreaterThan(0);
    expect(everybody.by_percent[0]!.fnmr.trials).toBeGreaterThan(20);
  });

  test('list the worst pairs within a group, each once', () => {
    const { worst } = judged(people);
    const sexes = ['sex F', 'sex M'].map(byDefinition);
    const nonMated = sexes.flatMap((sex) => sex.nonMated).sort((a, b) => b.score - a.score);
    const mated = byDefinition(undefined).mated.sort((a, b) => a.score - b.score);
    const files = (pairs: typeof worst.mated) => pairs.map(({ image1, image2 }) => [image1, image2]);
    expect(files(worst.non_mated)).toEqual(nonMated.slice(0, 60).map((pair) => pair.files));
    expect(files(worst.mated)).toEqual(mated.slice(0, 60).map((pair) => pair.files));
    const [first] = worst.non_mated;
    expect(first!.normalised).toBeCloseTo(nonMated[0]!.score, 12);
    expect(first!.confidence_percent).toBe(calibration.assess(first!.normalised, 1).confidence_percent);
  });

  test('are NaN for a group without a pair, and the ratio omits this group', () => {
    const lonely = { ...people, images: people.images.slice(0, 1), allImages: people.allImages.slice(0, 2) };
    for (const set of [lonely, { name: 'set', images: [], allImages: [] }]) {
      const { everybody, groupings: figures, worst } = judged(set);
      const unknown = { rate: Number.NaN, interval: [0, 1], trials: 0 };
      expect(everybody).toMatchObject({ people: set.allImages.length, images: set.allImages.length });
      expect(everybody.by_percent[0]).toMatchObject({ fmr: unknown, fnmr: unknown });
      expect(figures.flatMap(({ worst_over_best }) => worst_over_best)).toEqual([]);
      expect(worst).toEqual({ non_mated: [], mated: [] });
    }
  });

  test('are compared as highest over lowest for groups with at least 30 expected errors', () => {
    const { groupings: figures } = judged(people, Number.POSITIVE_INFINITY);
    const { groups, worst_over_best } = figures[0]!;
    const [low, high] = groups
      .map(({ group, by_percent }) => ({ group, rate: by_percent[0]!.fmr.rate }))
      .sort((a, b) => a.rate - b.rate);
    expect(worst_over_best[0]).toEqual({
      ...{ measure: 'fmr', percent: 50, worst: high!.group, best: low!.group },
      ...{ ratio: high!.rate / low!.rate, if_equal: expect.any(Number) },
    });
    // Thirteen of 110 images have no face.
    expect(worst_over_best.map(({ measure }) => measure)).not.toContain('failure_to_acquire');
  });
});

describe('the highest rate over the lowest', () => {
  /** Makes groups with these numbers of errors. */
  const groupsOf = (errors: readonly number[], trials: number, design_effect = 1) =>
    errors.map((count, i) => {
      return { group: `${i}`, rate: count / trials, trials, design_effect, interval: wilson(count, trials) };
    });
  const poisson = (mean: number) => {
    let count = -1;
    for (let product = 1; product > Math.exp(-mean); count++) product *= random();
    return count;
  };

  test('stays within chance for groups with the same true rate', () => {
    const drawn = Array.from(
      { length: runs(300) },
      () =>
        highestOverLowest(
          groupsOf(
            Array.from({ length: 14 }, () => poisson(40)),
            40_000,
          ),
        )!,
    );
    const above = drawn.filter(({ ratio, if_equal }) => ratio > if_equal).length;
    expect(above / drawn.length).toBeLessThan(0.1);
    expect(drawn[0]!.if_equal).toBeGreaterThan(1.5);
    expect(drawn[0]!.if_equal).toBeLessThan(3);
  });

  test('exceeds chance if one group differs, unless its trials are strongly correlated', () => {
    const errors = [40, 42, 38, 160];
    const { ratio, if_equal, worst } = highestOverLowest(groupsOf(errors, 40_000))!;
    expect([worst, ratio > if_equal]).toEqual(['3', true]);
    expect(highestOverLowest(groupsOf(errors, 40_000, 20))!.if_equal).toBeGreaterThan(ratio);
  });

  test.each([
    [[29, 29], undefined],
    [[30, 30], 1],
    [[0, 60], Number.POSITIVE_INFINITY],
  ])('is computed from %j errors: %s', (errors, ratio) => {
    expect(highestOverLowest(groupsOf(errors, 1000))?.ratio).toBe(ratio);
  });
});

describe('non-mated pairs', () => {
  const group = numberPeople(people.images);
  const visited = (maxPairs: number) => {
    const pairs: [number, number][] = [];
    const options = { samePersonAbove: Number.POSITIVE_INFINITY, maxPairs };
    eachNonMated(group, options, (first, second) => pairs.push([first, second]));
    return pairs;
  };

  test.each([
    [201, 40],
    [201, 1],
    [200, 99],
    [200, 100],
    [3, 1],
    [2, 1],
  ])('are sampled evenly from %i images, each pair once, %i pairs per image', (count, each) => {
    const nonMated = numberPeople(
      Array.from({ length: count }, (_, i) => ({ ...people.images[0]!, person: `${i}` })),
    );
    const pairs: number[][] = [];
    const options = { samePersonAbove: Number.POSITIVE_INFINITY, maxPairs: each * count };
    eachNonMated(nonMated, options, (first, second) => pairs.push([first, second]));
    const all = (count * (count - 1)) / 2;
    expect(pairs).toHaveLength(Math.min(all, each * count));
    expect(new Set(pairs.map((pair) => pair.sort((a, b) => a - b).join())).size).toBe(pairs.length);
    const inPairs = new Map<number, number>();
    for (const image of pairs.flat()) inPairs.set(image, (inPairs.get(image) ?? 0) + 1);
    expect(new Set(inPairs.values()).size).toBe(1);
    expect(inPairs.size).toBe(count);
  });

  test('include all pairs of different people if maxPairs is not exceeded', () => {
    const count = group.images.length;
    const mated: [number, number][] = [];
    eachMated(group, (first, second) => mated.push([first, second]));
    expect(visited(Number.POSITIVE_INFINITY)).toHaveLength((count * (count - 1)) / 2 - mated.length);
    for (const [first, second] of visited((count * (count - 1)) / 2)) {
      expect(group.numbers[first]).not.toBe(group.numbers[second]);
    }
    for (const [first, second] of mated) expect(group.numbers[first]).toBe(group.numbers[second]);
  });
});

describe('a rate of people', () => {
  const rateOf = (...people: readonly (readonly boolean[])[]) => {
    const rate = new PersonRate(people.length);
    for (const [person, trials] of people.entries()) for (const hit of trials) rate.add(hit, person);
    return rate;
  };
  const times = <T>(count: number, value: T) => Array.from({ length: count }, () => value);

  test("has about Wilson’s interval for one trial per person if a person's trials are equal", () => {
    const [low, high] = wilson(30, 100);
    for (const trials of [1, 8]) {
      const rate = rateOf(...times(30, times(trials, true)), ...times(70, times(trials, false)));
      expect([rate.rate, rate.trials]).toEqual([0.3, 100 * trials]);
      expect(rate.interval).toEqual([expect.closeTo(low, 2), expect.closeTo(high, 2)]);
    }
    const apart = rateOf(...times(100, [...times(3, true), ...times(7, false)]));
    expect(apart.interval[0]).toBeGreaterThan(low);
    expect(apart.interval[1]).toBeLessThan(high);
  });

  test.each([
    ['no trial', rateOf([], []), [0, 1]],
    ['no hit', rateOf(...times(10, times(9, false))), wilson(0, 10)],
    ['nothing but hits', rateOf(...times(10, times(9, true))), wilson(10, 10)],
  ])('has the interval of one trial per person if there is %s', (_what, rate, interval) => {
    expect(rate.interval).toEqual(interval.map((bound) => expect.closeTo(bound, 2)));
  });
});

/**
 * Checks that the interval covers the truth in at least 90 % of simulated runs. The stated coverage is 95 %.
 */
describe('intervals by person', () => {
  const law = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const runs = 400;
  const share = (covers: () => boolean) => Array.from({ length: runs }, covers).filter(Boolean).length / runs;
  const within = ([low, high]: readonly [number, number], truth: number) => low <= truth && truth <= high;

  // The mean of 1 / (1 + exp(6 − 2.5 x)) over the standard normal distribution is 0.02636.
  test.each([
    [10, 45],
    [40, 15],
  ])(
    'cover the truth for %i people with %i mated pairs each, most people without an error',
    (count, trials) => {
      const covered = share(() => {
        const rate = new PersonRate(count);
        for (let person = 0; person < count; person++) {
          const own = 1 / (1 + Math.exp(6 - 2.5 * law()));
          for (let trial = 0; trial < trials; trial++) rate.add(random() < own, person);
        }
        return within(rate.interval, 0.02636);
      });
      expect(covered).toBeGreaterThanOrEqual(0.9);
    },
  );

  // Scores of the same two people are correlated, and so are the scores of each person.
  test.each([
    [20, 4, 0.9, 0, 3.719],
    [60, 1, 0, 0.3, 3.09],
    [70, 1, 0, 0.45, 2.576],
  ])(
    'cover the truth for non-mated pairs of %i people with %i images each (weights %d, %d), above a score of %d',
    (count, images, ofTwo, own, score) => {
      const truth = { 3.719: 1e-4, 3.09: 1e-3, 2.576: 5e-3 }[score]!;
      const rest = Math.sqrt(1 - ofTwo ** 2 - 2 * own ** 2);
      const covered = share(() => {
        const rate = new PairRate(count);
        const people = Array.from({ length: count }, () => own * law());
        for (let first = 0; first < count; first++)
          for (let second = 0; second < first; second++) {
            const shared = ofTwo * law() + people[first]! + people[second]!;
            for (let pair = 0; pair < images ** 2; pair++)
              rate.add(shared + rest * law() > score, first, second);
          }
        return within(rate.interval, truth);
      });
      expect(covered).toBeGreaterThanOrEqual(0.9);
    },
  );
});
