import { type Calibration, dot, meanOf, normalised } from 'facematch/for-lab';
import { FoldCounts, scoreAt, totalOf } from './fmr-table.ts';
import { foldPair, foldPairs, folds, type HeldOutCohorts, perFolds } from './held-out.ts';
import { PairRate } from './metrics.ts';
import { byPerson, foldOf, type PeopleSet } from './people.ts';

/**
 * Non-mated pairs are a little more similar when a side is the mean of several photos: random parts of one
 * photo cancel out, and the common features of similar people stay. This module measures the shift for each
 * number of photos of one side; that of two sides is the sum.
 */

/** Maximum number of photos of a person that are measured. */
const mostPhotos = 4;
/** Number of photos for which shifts are stated: the maximum of a request. */
const mostStated = 16;
/**
 * Shift for an infinite number of photos, in the similarity that makes a false match rate ten times lower:
 * that of small retouched photos in which a person looks different.
 * docs/research/error-rates.md has the measurement, and that of photos of other people.
 */
const widest = 0.85;

/**
 * Returns how much the mean of n photos is enlarged by scaling it to unit length, where two photos of a person
 * have a cosine of ½. The common features of similar people are enlarged with it.
 */
const stretch = (photos: number) => Math.SQRT2 / Math.sqrt(1 + 1 / photos) - 1;

/**
 * Returns the shifts for up to 16 photos of a side: at least the measured ones, and at least those for people
 * whose photos differ more than those of the fit. They grow with the photos as `stretch` does.
 */
export function statedShifts(measured: readonly number[], table: Calibration): number[] {
  const decade = table.similarityAt(1e-5) - table.similarityAt(1e-4);
  const limits = measured.map((shift, i) =>
    i === 0 ? 0 : (shift * stretch(Number.POSITIVE_INFINITY)) / stretch(i + 1),
  );
  const limit = Math.max(widest * decade, ...limits);
  return Array.from({ length: mostStated }, (_, i) =>
    Number(((limit * stretch(i + 1)) / stretch(Number.POSITIVE_INFINITY)).toFixed(4)),
  );
}
/** Fewer people with this many photos are inconclusive. */
const leastPeople = 100;
/**
 * Rates at which the shift is measured, of which the largest shift counts: those of 50, 60 and 70 percent.
 */
const rates = [1e-2, 1e-3, 1e-4];
/** Fewer pairs above a similarity are inconclusive. */
const leastPairs = 20;

/** A person with the mean of their first photos. */
interface Person {
  person: string;
  labels: readonly string[];
  fold: number;
  /** Means of the first photos, by their number, from 1 on. */
  means: readonly Float32Array[];
  photos: readonly Float32Array[];
}

function personsOf({ images }: PeopleSet): Person[] {
  return byPerson(images).map((all) => {
    const photos = all.slice(0, mostPhotos).map(({ embedding }) => embedding);
    const { person, labels } = all[0]!;
    return {
      person,
      labels,
      fold: foldOf(person, folds),
      // One photo is its own mean: cohort scores are looked up by the same array.
      means: photos.map((photo, i) => (i === 0 ? photo : meanOf(photos.slice(0, i + 1)))),
      photos,
    };
  });
}

/** Vectors that need a cohort score besides the images. */
export function newMeans(groups: readonly PhotoGroup[]) {
  // A person may be in several groups.
  const people = new Set(groups.flatMap((group) => group.people));
  return [...people].flatMap(({ person, means }) =>
    means.slice(1).map((embedding) => ({ person, embedding })),
  );
}

export interface PhotoGroup {
  group: string;
  people: readonly Person[];
}

/** Returns the people of each label of each set, who are all different. */
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

/** Visits the scores of non-mated pairs: `first` photos of one against `second` of the other. */
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
 * Returns the shifts by the number of photos, from 1 on: as far as there are enough people. The result
 * takes the folds whose people are omitted, because it is tested on them.
 */
export function fitShifts(groups: readonly PhotoGroup[], cohorts: HeldOutCohorts) {
  const counted: { means: FoldCounts; single: FoldCounts }[] = [];
  for (let photos = 2; photos <= mostPhotos; photos++) {
    const withPhotos = groups
      .flatMap(({ people }) => people)
      .filter(({ means }) => means.length >= photos).length;
    if (withPhotos < leastPeople) break;
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

/**
 * Returns the increase of the similarity that a share of the pairs reaches; nothing if too few pairs show it.
 */
function shiftAt(rate: number, means: Float64Array, single: Float64Array): number[] {
  if (rate * totalOf(means) < leastPairs) return [];
  return [scoreAt(means, rate) - scoreAt(single, rate)];
}

/**
 * Returns for each rate how often non-mated pairs match at it, for all numbers of photos of each side; table
 * and shift of each pair are fitted without the folds of its two people. `people`: those with that many
 * photos. `worst`: the group with the highest rate among those with a few matching pairs, with its 95 %
 * interval by person.
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
  let most = mostPhotos;
  for (const [low, high] of foldPairs) {
    const pair = foldPair(low, high);
    const measured = shiftsWithout(low, high);
    const table = tableWithout(low, high);
    most = Math.min(most, measured.length);
    shifts[pair] = statedShifts(measured, table);
    thresholds[pair] = rates.map((rate) => table.similarityAt(rate));
  }
  const numbers = Array.from({ length: most }, (_, i) => i + 1);
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
    const people = groups.flatMap((one) => one.people).filter(({ means }) => means.length >= first).length;
    return { photos, people, seen };
  });
  return rates.map((_rate, i) =>
    counted.map(({ photos, people, seen }) => {
      const ofGroups = seen.map(({ group, passing }) => ({ group, passing: passing[i]! }));
      const pairs = ofGroups.reduce((sum, { passing }) => sum + passing.trials, 0);
      const passed = ofGroups.reduce((sum, { passing }) => sum + passing.hits, 0);
      const [worst] = ofGroups
        .filter(({ passing }) => passing.hits >= leastPassed)
        .toSorted((a, b) => b.passing.rate - a.passing.rate)
        .map(({ group, passing: { rate, interval, trials } }) => {
          return { group, fmr: rate, interval, pairs: trials };
        });
      return { photos, fmr: passed / pairs, pairs, people, worst };
    }),
  );
}

/** Fewer matching pairs of a group are inconclusive. */
const leastPassed = 5;
