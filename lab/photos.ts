import { type Calibration, dot, meanOf, normalised } from 'facematch/for-lab';
import { FoldCounts, scoreAt, totalOf } from './fmr-table.ts';
import { foldPair, foldPairs, folds, type HeldOutCohorts, perFolds } from './held-out.ts';
import { PairRate } from './metrics.ts';
import { byPerson, foldOf, type PeopleSet } from './people.ts';

/**
 * Non-mated pairs are slightly more similar if a side is the mean of several photos, because averaging removes the
 * random part of single photos. This module measures this shift of the similarity for each number of photos of one
 * side. The shifts of both sides add up.
 */

/** Maximum number of photos per person in the measurement. */
const maxPhotos = 4;
/** The calibration states shifts for up to this number of photos, the maximum of one side of a request. */
const maxStatedPhotos = 16;
/**
 * Minimum shift for an infinite number of photos. The unit is the difference in similarity between an FMR of 1e-4 and
 * 1e-5. The minimum was measured on small retouched photos, in which a person's appearance varies
 * (docs/research/error-rates.md).
 */
const limitInDecades = 0.85;

/**
 * Returns by how much scaling to unit length enlarges the mean of n photos, if two photos of a person have a cosine
 * of ½. The features that a person shares with similar people are enlarged by the same factor.
 */
const stretch = (photos: number) => Math.SQRT2 / Math.sqrt(1 + 1 / photos) - 1;

/**
 * Returns the shifts for 1 to 16 photos of a side. They are proportional to `stretch`. Each is at least the measured
 * shift, and at least the shift for people whose photos differ more than those of the fit (limitInDecades).
 */
export function statedShifts(measured: readonly number[], table: Calibration): number[] {
  const decade = table.similarityAt(1e-5) - table.similarityAt(1e-4);
  const limits = measured.map((shift, i) =>
    i === 0 ? 0 : (shift * stretch(Number.POSITIVE_INFINITY)) / stretch(i + 1),
  );
  const limit = Math.max(limitInDecades * decade, ...limits);
  return Array.from({ length: maxStatedPhotos }, (_, i) =>
    Number(((limit * stretch(i + 1)) / stretch(Number.POSITIVE_INFINITY)).toFixed(4)),
  );
}

/** Minimum number of people who have enough photos to measure a shift. */
const minPeople = 100;
/** The shift is the largest of those measured at these rates, which belong to 50, 60 and 70 percent. */
const rates = [1e-2, 1e-3, 1e-4];
/** A shift is measured at a rate only if at least this many pairs reach the rate's similarity. */
const minPairs = 20;

/** A person with the means of their first photos. */
interface Person {
  person: string;
  labels: readonly string[];
  fold: number;
  /** Mean of the first photo, of the first two, and so on. */
  means: readonly Float32Array[];
  photos: readonly Float32Array[];
}

function personsOf({ images }: PeopleSet): Person[] {
  return byPerson(images).map((all) => {
    const photos = all.slice(0, maxPhotos).map(({ embedding }) => embedding);
    const { person, labels } = all[0]!;
    return {
      person,
      labels,
      fold: foldOf(person, folds),
      // The first mean is the photo's own array, because cohort scores are looked up by array identity.
      means: photos.map((photo, i) => (i === 0 ? photo : meanOf(photos.slice(0, i + 1)))),
      photos,
    };
  });
}

/** Returns the means of several photos, which need cohort scores of their own. */
export function newMeans(groups: readonly PhotoGroup[]) {
  return peopleIn(groups).flatMap(({ person, means }) =>
    means.slice(1).map((embedding) => ({ person, embedding })),
  );
}

export interface PhotoGroup {
  group: string;
  people: readonly Person[];
}

/** Returns a group for each label of each set. */
export function groupsOf(sets: readonly PeopleSet[]): PhotoGroup[] {
  return sets.flatMap((set) => {
    const people = personsOf(set);
    const labels = new Set(people.flatMap((one) => one.labels));
    return [...labels].map((group) => ({
      group,
      people: people.filter((one) => one.labels.includes(group)),
    }));
  });
}

/** Returns each person once, because a person may be in several groups. */
const peopleIn = (groups: readonly PhotoGroup[]) => [...new Set(groups.flatMap(({ people }) => people))];

/** Returns the number of people with at least this many photos. */
const peopleWith = (photos: number, groups: readonly PhotoGroup[]) =>
  peopleIn(groups).filter(({ means }) => means.length >= photos).length;

/** Visits the scores of all non-mated pairs, with `first` photos of one person and `second` photos of the other. */
function eachScore(
  people: readonly Person[],
  [first, second]: readonly [number, number],
  cohorts: HeldOutCohorts,
  visit: (score: number, folds: number, a: number, b: number) => void,
): void {
  const having = (photos: number) => [...people.entries()].filter(([, { means }]) => means.length >= photos);
  const [left, right] = [having(first), having(second)];
  for (const [i, [numberOfA, a]] of left.entries()) {
    for (const [numberOfB, b] of first === second ? left.slice(i + 1) : right) {
      if (a === b) continue;
      const score = scoreOf(a, a.means[first - 1]!, b, b.means[second - 1]!, cohorts);
      visit(score, foldPair(a.fold, b.fold), numberOfA, numberOfB);
    }
  }
}

function scoreOf(
  a: Person,
  first: Float32Array,
  b: Person,
  second: Float32Array,
  cohorts: HeldOutCohorts,
): number {
  return normalised(dot(first, second), cohorts.score(first, b.fold), cohorts.score(second, a.fold));
}

/**
 * Returns a function that computes the shifts for 1, 2, … photos, as far as there are enough people. Its arguments are
 * the folds whose people are omitted, so that the shifts can be tested on them.
 */
export function fitShifts(groups: readonly PhotoGroup[], cohorts: HeldOutCohorts) {
  const counted: { means: FoldCounts; single: FoldCounts }[] = [];
  for (let photos = 2; photos <= maxPhotos; photos++) {
    if (peopleWith(photos, groups) < minPeople) break;
    const means = new FoldCounts();
    const single = new FoldCounts();
    for (const { people } of groups) {
      for (const a of people.filter((one) => one.means.length >= photos)) {
        for (const b of people) {
          if (a === b) continue;
          const pair = foldPair(a.fold, b.fold);
          const other = b.photos[0]!;
          means.add(pair, scoreOf(a, a.means[photos - 1]!, b, other, cohorts));
          for (const photo of a.photos.slice(0, photos))
            single.add(pair, scoreOf(a, photo, b, other, cohorts));
        }
      }
    }
    counted.push({ means, single });
  }
  return perFolds((left): number[] => {
    const shifts = [0];
    for (const { means, single } of counted) {
      const [mean, one] = [means.without(left), single.without(left)];
      const found = rates.flatMap((rate) => shiftAt(rate, mean, one));
      shifts.push(Math.max(shifts.at(-1)!, ...found));
    }
    return shifts.map((shift) => Number(shift.toFixed(4)));
  });
}

/** Returns by how much means increase the similarity at `rate`; empty if too few pairs reach it. */
function shiftAt(rate: number, means: Float64Array, single: Float64Array): number[] {
  if (rate * totalOf(means) < minPairs) return [];
  return [scoreAt(means, rate) - scoreAt(single, rate)];
}

/**
 * Measures how often non-mated pairs match at each of `rates`, for each number of photos of each side. The table and
 * the shifts of a pair are fitted without the folds of its two people. `people` is the number of people with enough
 * photos. `worst` is the group with the highest rate among groups with at least minMatches matches, with its 95 %
 * interval, clustered by person.
 */
export function checkShifts(
  groups: readonly PhotoGroup[],
  cohorts: HeldOutCohorts,
  shiftsWithout: (low: number, high: number) => number[],
  tableWithout: (low: number, high: number) => Calibration,
  rates: readonly number[],
) {
  const shifts: number[][] = [];
  const thresholds: number[][] = [];
  let maxMeasured = maxPhotos;
  for (const [low, high] of foldPairs) {
    const pair = foldPair(low, high);
    const measured = shiftsWithout(low, high);
    const table = tableWithout(low, high);
    maxMeasured = Math.min(maxMeasured, measured.length);
    shifts[pair] = statedShifts(measured, table);
    thresholds[pair] = rates.map((rate) => table.similarityAt(rate));
  }
  const numbers = Array.from({ length: maxMeasured }, (_, i) => i + 1);
  const combinations = numbers.flatMap((first) =>
    numbers.filter((second) => second <= first).map((second) => [first, second] as const),
  );
  const counted = combinations.map((photos) => {
    const [first, second] = photos;
    const seen = groups.map(({ group, people }) => {
      const passing = rates.map(() => new PairRate(people.length));
      eachScore(people, photos, cohorts, (score, folds, a, b) => {
        const own = shifts[folds]!;
        const shifted = score - own[first - 1]! - own[second - 1]!;
        for (const [i, one] of passing.entries()) one.add(shifted >= thresholds[folds]![i]!, a, b);
      });
      return { group, passing };
    });
    return { photos, people: peopleWith(first, groups), seen };
  });
  return rates.map((_rate, i) =>
    counted.map(({ photos, people, seen }) => {
      const ofGroups = seen.map(({ group, passing }) => ({ group, passing: passing[i]! }));
      const pairs = ofGroups.reduce((sum, { passing }) => sum + passing.trials, 0);
      const passed = ofGroups.reduce((sum, { passing }) => sum + passing.hits, 0);
      const [worst] = ofGroups
        .filter(({ passing }) => passing.hits >= minMatches)
        .toSorted((a, b) => b.passing.rate - a.passing.rate)
        .map(({ group, passing: { rate, interval, trials } }) => {
          return { group, fmr: rate, interval, pairs: trials };
        });
      return { photos, fmr: passed / pairs, pairs, people, worst };
    }),
  );
}

/** Minimum number of matches of a group that can be `worst`. */
const minMatches = 5;
