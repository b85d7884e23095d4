import { Calibration, type CalibrationPoint, normalised, promisedRate } from 'facematch/for-lab';
import {
  FoldCounts,
  floorOf,
  fmrTable,
  minPeople,
  PersonCounts,
  pairsCanShow,
  requirePeople,
} from './fmr-table.ts';
import { foldPair, foldPairs, folds, type HeldOutCohorts, perFolds } from './held-out.ts';
import { type Interval, PairRate, pairsOf } from './metrics.ts';
import { eachNonMated, numberPeople, tooAlike } from './non-mated.ts';
import { byPerson, foldOf, type LabelledImage, type PeopleSet } from './people.ts';

/** How often non-mated pairs of a group reach a percent. */
export interface CalibrationCheck {
  group: string;
  percent: number;
  /** False match rate that the percent states. */
  stated_fmr: number;
  /** Measured false match rate. */
  fmr: number;
  /** 95 % confidence interval of `fmr`. */
  interval: Interval;
  pairs: number;
  people: number;
}

/** A stated rate that the check contradicts. */
export interface ContradictedRate extends CalibrationCheck {
  /** Approximate number of additional people that the group needs, rounded up to tens. */
  more_people: number;
}

/** Returns the percents to check. Includes 90 (1 in 1,000,000) only if there are enough people. */
export function checkedPercents(sets: readonly PeopleSet[]): number[] {
  const all = [40, 50, 60, 70, 80, 90];
  return floorOf(pairsWithinGroups(sets)) > promisedRate(90) * 1.01 ? all.slice(0, -1) : all;
}

type Labelled = readonly Pick<LabelledImage, 'labels' | 'person'>[];

/** Returns the number of people in the largest group. */
export function largestGroup(sets: readonly Labelled[]): number {
  return Math.max(0, ...sets.flatMap((images) => groupsOf(images).map(({ people }) => people)));
}

/** Returns the number of pairs of people who share a group of the first grouping. Counts each pair once. */
function pairsWithinGroups(sets: readonly PeopleSet[]): number {
  const groupsOfPerson = new Map<string, Set<string>>();
  for (const [place, { images }] of sets.entries()) {
    for (const { labels, person } of images) {
      const own = groupsOfPerson.get(person) ?? new Set();
      groupsOfPerson.set(person, own.add(`${place} ${labels[0]}`));
    }
  }
  // Compares combinations of groups instead of people, because few combinations occur.
  const combinations = new Map<string, { groups: Set<string>; people: number }>();
  for (const groups of groupsOfPerson.values()) {
    const key = [...groups].sort().join('\n');
    combinations.set(key, { groups, people: (combinations.get(key)?.people ?? 0) + 1 });
  }
  let pairs = 0;
  const before: { groups: Set<string>; people: number }[] = [];
  for (const one of combinations.values()) {
    pairs += pairsOf(one.people);
    for (const other of before)
      if ([...one.groups].some((group) => other.groups.has(group))) pairs += one.people * other.people;
    before.push(one);
  }
  return pairs;
}

function groupsOf(images: Labelled) {
  const peopleOf = new Map<string, Set<string>>();
  for (const { labels, person } of images) {
    for (const label of labels) peopleOf.set(label, (peopleOf.get(label) ?? new Set()).add(person));
  }
  const first = new Set(images.map(({ labels }) => labels[0]));
  return [...peopleOf].map(([group, { size: people }]) => ({ group, people, isFirst: first.has(group) }));
}

/** Minimum rate that is judged even below the floor: the rate of the default threshold, 70 percent. */
const judgedBelowFloor = 1e-4;

/** Lower rates are shown but not judged, because a few wrong labels among millions of pairs distort them. */
const minJudgedRate = 1e-5;

/** Names of the rows of a check that cover several groups. These rows can raise the floor. */
const oneGroup = 'two people of one group';
const anyTwo = 'any two people';

/** Maximum ratio of the measured to the stated rate in rows of several groups. A higher ratio raises the floor. */
const floorTolerance = 2;

/** Tolerated multiple of the stated rate: one point of confidence_percent. */
const rateTolerance = 10 ** 0.1;

/**
 * Returns the judged rows of groups whose whole interval exceeds the tolerance. For each group, returns only the row
 * that needs the largest number of additional people.
 */
export function contradictedRates(check: readonly CalibrationCheck[], floor: number): ContradictedRate[] {
  const broken = check
    .filter(
      ({ group, stated_fmr, interval }) =>
        group !== oneGroup &&
        group !== anyTwo &&
        interval[0] > rateTolerance * stated_fmr &&
        stated_fmr > 0.99 * Math.max(minJudgedRate, Math.min(floor, judgedBelowFloor)),
    )
    .map((row) => ({ ...row, more_people: Math.ceil(morePeople(row) / 10) * 10 }))
    .sort((a, b) => b.more_people - a.more_people);
  return broken.filter(({ group }, i) => broken.findIndex((other) => other.group === group) === i);
}

/**
 * Returns the number of people to add to a group so that it can measure the rate; at least its present size.
 */
function morePeople({ stated_fmr, people }: CalibrationCheck): number {
  return Math.max(people, minPeople(stated_fmr) - people);
}

/**
 * Fits the table from similarity to false match rate, and its floor: the lowest rate that these people can measure.
 *
 * `cohorts` normalise each pair with a cohort without its two people. Without `cohorts`, the similarity is the cosine.
 *
 * `check` has the measured rates for each of `percents`: of each group, of all groups together, and of any two
 * people. Each pair is tested with a table that was fitted without its two people. The floor is raised above each
 * stated rate for which one of the last two rows exceeds floorTolerance or has too few pairs of people.
 *
 * `taken_for_one_person` counts the omitted pairs of each group, whose cosine is above `samePersonAbove`. Without
 * `samePersonAbove`, `too_alike` lists the omitted pairs.
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
  const { check, notShown } = checkOf(groups, anyPeople, percents, tableWithout);
  const ofPeople = floorOf(pairsWithinGroups(sets));
  const raised = notShown
    .filter((stated) => stated * 1.01 > ofPeople)
    .map((stated) => Number((stated * 10).toPrecision(6)));
  return {
    points,
    tableWithout,
    floor: Math.max(ofPeople, ...raised),
    check,
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
  // Indexed by foldPair. Each row has the similarity of each percent in the table without these two folds.
  const thresholds: number[][] = [];
  for (const [low, high] of foldPairs) {
    const calibration = new Calibration(tableWithout(low, high));
    thresholds[foldPair(low, high)] = percents.map((percent) =>
      calibration.similarityAt(promisedRate(percent)),
    );
  }
  // A person may be in several groups.
  const numberOf = new Map(anyPeople.people.map((person, number) => [person, number]));
  const ofOneGroup = tallyOf(oneGroup, numberOf.size, percents, thresholds);
  const check = groups.flatMap(({ group, isFirst, people, each }) => {
    const own = tallyOf(group, people.length, percents, thresholds);
    const numbers = people.map((person) => numberOf.get(person)!);
    each((first, second, pairFolds, score, reach) => {
      own.add(first, second, pairFolds, score, reach);
      if (isFirst) ofOneGroup.add(numbers[first]!, numbers[second]!, pairFolds, score, reach);
    });
    return own.rows();
  });
  const ofAnyTwo = tallyOf(anyTwo, numberOf.size, percents, thresholds);
  anyPeople.each(ofAnyTwo.add);
  return {
    check: [...check, ...ofOneGroup.rows(), ...ofAnyTwo.rows()],
    notShown: [...ofOneGroup.notShown(), ...ofAnyTwo.notShown()],
  };
}

/** Counts how often pairs reach each percent. Ignores pairs that could not have reached it (see VisitPair). */
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
  /** Returns the stated rates that are exceeded more than floorTolerance times, or have too few pairs of people. */
  const notShown = () =>
    percents.flatMap((percent, column) => {
      const { rate, pairs } = seen[column]!;
      const stated = promisedRate(percent);
      return rate > floorTolerance * stated || !pairsCanShow(stated * 1.01, pairs) ? stated : [];
    });
  return { add, rows, notShown };
}

/**
 * Receives a pair of people, numbered from 0, and the foldPair of their folds. `reach` is the score that the pair
 * would have at a cosine of `samePersonAbove`. Pairs with a higher cosine are omitted, so no score exceeds `reach`.
 */
type VisitPair = (first: number, second: number, folds: number, score: number, reach: number) => void;

type NonMated = ReturnType<typeof nonMatedOf>;

/** The returned `each` visits all non-mated pairs that are not omitted, and returns the number of omitted pairs. */
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
  return { people, foldOfPerson, too_alike: alike?.pairs ?? [], each };
}

/** Returns the cohort score of an image, for a pair with a person of fold `other`. */
export type CohortScore = (image: LabelledImage, other: number) => number;

/** Returns the cohort scores of held-out cohorts; 0 without cohorts, so that the score is the cosine. */
export function heldOutScores(cohorts: HeldOutCohorts | undefined): CohortScore {
  return ({ embedding }, other) => (cohorts ? cohorts.score(embedding, other) : 0);
}
