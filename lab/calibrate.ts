import { Calibration, type CalibrationPoint, normalised, promisedRate } from 'facematch/for-lab';
import {
  FoldCounts,
  floorOf,
  fmrTable,
  leastPeople,
  PersonCounts,
  pairsCanShow,
  requirePeople,
} from './fmr-table.ts';
import { foldPair, foldPairs, folds, type HeldOutCohorts, perFolds } from './held-out.ts';
import { type Interval, PairRate } from './metrics.ts';
import { eachNonMated, numberPeople, tooAlike } from './non-mated.ts';
import { byPerson, foldOf, type LabelledImage, type PeopleSet } from './people.ts';

/** Rates at which non-mated pairs of a group reach a percent. */
export interface CalibrationCheck {
  group: string;
  percent: number;
  /** The false match rate that the percent states, and the one that was measured. */
  stated_fmr: number;
  fmr: number;
  /** 95 % confidence interval of `observed`. */
  interval: Interval;
  pairs: number;
  people: number;
}

/** A stated rate that the check contradicts. */
export interface BrokenPromise extends CalibrationCheck {
  /** Approximate number of additional people of the group that are needed, in tens. */
  more_people: number;
}

/** Percents of a check; the last one, 1 in 1,000,000, only if there are enough people for it. */
export function checkedPercents(sets: readonly PeopleSet[]): number[] {
  const all = [40, 50, 60, 70, 80, 90];
  return floorOf(sizesOf(sets)) > promisedRate(90) * 1.01 ? all.slice(0, -1) : all;
}

type Labelled = readonly Pick<LabelledImage, 'labels' | 'person'>[];

/** Maximum number of people that share a label of a set. */
export function largestGroup(sets: readonly Labelled[]): number {
  return Math.max(0, ...sets.flatMap((images) => groupsOf(images).map(({ people }) => people)));
}

/** Returns how many people have each label of the first grouping: no person is in two of these groups. */
function sizesOf(sets: readonly PeopleSet[]): number[] {
  return sets.flatMap(({ images }) =>
    groupsOf(images).flatMap(({ people, isFirst }) => (isFirst ? [people] : [])),
  );
}

function groupsOf(images: Labelled) {
  const peopleOf = new Map<string, Set<string>>();
  for (const { labels, person } of images) {
    for (const label of labels) peopleOf.set(label, (peopleOf.get(label) ?? new Set()).add(person));
  }
  const first = new Set(images.map(({ labels }) => labels[0]));
  return [...peopleOf].map(([group, { size: people }]) => ({ group, people, isFirst: first.has(group) }));
}

/**
 * The lowest rate that is judged below the floor of a table: that of 70 percent, which a match needs by
 * default.
 */
const leastJudged = 1e-4;

/**
 * Rarer rates are shown but not judged, because a handful of wrong labels among millions of pairs causes
 * them.
 */
const rarestJudged = 1e-5;

/** Rows of a check that belong to no group: they determine the floor. */
const oneGroup = 'two people of one group';
const anyTwo = 'any two people';

/** All groups together, and any two people, may exceed a rate that the floor states by this factor. */
const floorTolerates = 2;

/** Tolerated multiple of the stated rate: one point of percent, because the fit allows for small numbers. */
const tolerated = 10 ** 0.1;

/**
 * Returns rows of a check whose whole interval is above the tolerance; for each group the one that needs the
 * most people.
 */
export function brokenPromises(check: readonly CalibrationCheck[], floor: number): BrokenPromise[] {
  const broken = check
    .filter(
      ({ group, stated_fmr, interval }) =>
        group !== oneGroup &&
        group !== anyTwo &&
        interval[0] > tolerated * stated_fmr &&
        stated_fmr > 0.99 * Math.max(rarestJudged, Math.min(floor, leastJudged)),
    )
    .map((row) => ({ ...row, more_people: Math.ceil(morePeople(row) / 10) * 10 }))
    .sort((a, b) => b.more_people - a.more_people);
  return broken.filter(({ group }, i) => broken.findIndex((other) => other.group === group) === i);
}

/**
 * With this many more people a group can show the rate alone; a group that has them already needs twice as
 * many.
 */
function morePeople({ stated_fmr, people }: CalibrationCheck): number {
  return Math.max(people, leastPeople(stated_fmr) - people);
}

/**
 * Fits the table from similarity to false match rate, and its floor: the lowest rate that its people can
 * show. `cohorts` are made of the same people as `sets`, and each pair is normalised with the cohort without
 * its two people; without cohorts the cosine is used. `check` has, for each of `percents`, the rates of each
 * group, of all groups together and of any two people, with tables that were fitted without the two people of
 * each pair. If people together exceed a floor twofold in that check, it is raised. `taken_for_one_person`
 * has the pairs that were omitted because their cosine was above `samePersonAbove`, and `too_alike` those
 * that were omitted when it is not given.
 */
export function fitTable(
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts | undefined,
  percents: readonly number[] = checkedPercents(sets),
  samePersonAbove = Number.POSITIVE_INFINITY,
) {
  requirePeople(largestGroup(sets.map(({ images }) => images)));
  const groups = sets.flatMap(({ images }) =>
    groupsOf(images).map(({ group, isFirst, people }) => {
      const own = images.filter(({ labels }) => labels.includes(group));
      const nonMated = nonMatedOf(own, cohorts, samePersonAbove);
      const counts = new FoldCounts();
      const perPerson = new PersonCounts(people);
      const left = nonMated.each((first, second, pairFolds, score) => {
        counts.add(pairFolds, score);
        perPerson.add(first, second, score);
      });
      return { group, isFirst, counts, effectAt: perPerson.effects(), left, ...nonMated };
    }),
  );
  const tableWithout = perFolds((left) =>
    fmrTable(
      groups.map(({ foldOfPerson, counts, effectAt }) => ({
        counts: counts.without(left),
        people: foldOfPerson.filter((fold) => !left.includes(fold)).length,
        effectAt,
      })),
    ),
  );
  const points: CalibrationPoint[] = tableWithout();
  const firsts = byPerson(sets.flatMap(({ images }) => images)).map(([first]) => first!);
  const anyPeople = nonMatedOf(firsts, cohorts, samePersonAbove);
  const { check, together } = checkOf(groups, anyPeople, percents, tableWithout);
  const ofPeople = floorOf(sizesOf(sets));
  const notShown = together
    .filter(
      ({ stated_fmr, fmr, pairs }) =>
        stated_fmr * 1.01 > ofPeople &&
        (fmr > floorTolerates * stated_fmr || !pairsCanShow(stated_fmr * 1.01, pairs)),
    )
    .map(({ stated_fmr }) => Number((stated_fmr * 10).toPrecision(6)));
  return {
    points,
    tableWithout,
    floor: Math.max(ofPeople, ...notShown),
    check: [...check, ...together],
    taken_for_one_person: groups.map(({ group, left: pairs }) => ({ group, pairs })),
    too_alike: groups.flatMap(({ group, too_alike }) => too_alike.map((pair) => ({ group, ...pair }))),
  };
}

function checkOf(
  groups: readonly (NonMated & { group: string; isFirst: boolean })[],
  anyPeople: NonMated,
  percents: readonly number[],
  tableWithout: (low: number, high: number) => CalibrationPoint[],
) {
  // Indexed by foldPair: the similarity of each percent when these two folds are left out.
  const thresholds: number[][] = [];
  for (const [low, high] of foldPairs) {
    const calibration = new Calibration(tableWithout(low, high));
    thresholds[foldPair(low, high)] = percents.map((percent) =>
      calibration.similarityAt(promisedRate(percent)),
    );
  }
  const firsts = groups.flatMap(({ isFirst, foldOfPerson }) => (isFirst ? foldOfPerson : []));
  const ofOneGroup = tallyOf(oneGroup, firsts.length, percents, thresholds);
  let before = 0;
  const check = groups.flatMap(({ group, isFirst, foldOfPerson, each }) => {
    const own = tallyOf(group, foldOfPerson.length, percents, thresholds);
    each((first, second, pairFolds, score, reach) => {
      own.add(first, second, pairFolds, score, reach);
      if (isFirst) ofOneGroup.add(before + first, before + second, pairFolds, score, reach);
    });
    if (isFirst) before += foldOfPerson.length;
    return own.rows();
  });
  const ofAnyTwo = tallyOf(anyTwo, anyPeople.foldOfPerson.length, percents, thresholds);
  anyPeople.each(ofAnyTwo.add);
  return { check, together: [...ofOneGroup.rows(), ...ofAnyTwo.rows()] };
}

/**
 * Counts how often pairs reach each percent. A pair that could not have reached a percent does not count
 * there.
 */
function tallyOf(
  group: string,
  people: number,
  percents: readonly number[],
  thresholds: readonly (readonly number[])[],
) {
  const seen = percents.map(() => new PairRate(people));
  const add: VisitPair = (first, second, pairFolds, score, reach) => {
    const limits = thresholds[pairFolds]!;
    for (let column = 0; column < seen.length; column++)
      if (reach > limits[column]!) seen[column]!.add(score >= limits[column]!, first, second);
  };
  const rows = () =>
    percents.map((percent, column): CalibrationCheck => {
      const { rate: fmr, interval, trials: pairs } = seen[column]!;
      return { group, percent, stated_fmr: promisedRate(percent), fmr, interval, pairs, people };
    });
  return { add, rows };
}

/**
 * A pair of people, numbered from 0, with foldPair of their folds. `reach`: its score if its cosine were the
 * highest that is not taken for one person's.
 */
type VisitPair = (first: number, second: number, folds: number, score: number, reach: number) => void;

type NonMated = ReturnType<typeof nonMatedOf>;

/**
 * All pairs of images of different people. `each` visits them and keeps none; it returns how many pairs were
 * omitted.
 */
function nonMatedOf(
  images: readonly LabelledImage[],
  cohorts: HeldOutCohorts | undefined,
  samePersonAbove: number,
) {
  const own = numberPeople(images);
  const { numbers, people } = own;
  const foldOfPerson = people.map((person) => foldOf(person, folds));
  const scoreOf = heldOutScores(cohorts);
  const scores = images.map((image) =>
    Float32Array.from({ length: folds }, (_, other) => scoreOf(image, other)),
  );
  const alike = Number.isFinite(samePersonAbove) ? undefined : tooAlike(own);
  const above = alike?.reach ?? samePersonAbove;
  const each = (visit: VisitPair) =>
    eachNonMated(own, { samePersonAbove: above }, (a, b, cosine) => {
      const [first, second] = [numbers[a]!, numbers[b]!];
      const [foldOfA, foldOfB] = [foldOfPerson[first]!, foldOfPerson[second]!];
      const score = Math.fround(normalised(cosine, scores[a]![foldOfB]!, scores[b]![foldOfA]!));
      visit(first, second, foldPair(foldOfA, foldOfB), score, samePersonAbove - cosine + score);
    });
  return { foldOfPerson, too_alike: alike?.pairs ?? [], each };
}

/** Returns the cohort score of an image, for a pair with a person of fold `other`. */
export type CohortScore = (image: LabelledImage, other: number) => number;

/** 0 without cohorts, so that the cosine is used. */
export function heldOutScores(cohorts: HeldOutCohorts | undefined): CohortScore {
  return ({ embedding }, other) => (cohorts ? cohorts.score(embedding, other) : 0);
}
