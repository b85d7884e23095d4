import { Calibration, type CalibrationPoint, promisedRate } from '../matching/calibration.ts';
import { dot } from './cohort.ts';
import { binOf, bins, fmrTable } from './fmr-table.ts';
import { type HeldOutCohorts, heldOutFits, partPair, parts } from './held-out.ts';
import type { Interval } from './metrics.ts';
import { PairRate } from './pairs.ts';
import { type LabelledPicture, type PeopleSet, partOf } from './people.ts';

/** Scores of all pairs of different people who share a label. */
interface Strangers {
  group: string;
  scores: Float32Array;
  /** Numbers of the two people, and of the two parts that they were dealt to. */
  first: Uint16Array;
  second: Uint16Array;
  parts: Uint8Array;
  partOfPerson: number[];
}

/** How often the strangers of a group reach a percent. */
export interface Honesty {
  group: string;
  percent: number;
  promised: number;
  observed: number;
  /** 95 % confidence interval of what was observed. */
  interval: Interval;
  pairs: number;
}

/**
 * Similarity → false-match rate of people who are not in the cohort: `cohorts` are made of the same people as `sets`, and
 * each pair is normalised by the one that goes without its two; without cohorts the cosine itself is judged. For each of
 * `percents`, `check` tells what each group sees of tables that its two people had no part in either.
 */
export function fitTable(
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts | undefined,
  percents: readonly number[] = [],
): { points: CalibrationPoint[]; check: Honesty[] } {
  const groups = sets.flatMap((set) => strangersOf(set, heldOutScores(cohorts)));
  const counts = groups.map(countsByParts);
  const tableWithout = (...left: readonly number[]) =>
    fmrTable(
      groups.map(({ partOfPerson }, i) => ({
        counts: sumWithout(counts[i]!, left),
        people: partOfPerson.filter((part) => !left.includes(part)).length,
      })),
    );
  const points = tableWithout();
  if (percents.length === 0) return { points, check: [] };
  // Of each two parts, the similarity that each percent stands for when these parts are left out.
  const thresholds: number[][] = Array.from({ length: heldOutFits }, () => []);
  for (let high = 0; high < parts; high++) {
    for (let low = 0; low <= high; low++) {
      const calibration = new Calibration(tableWithout(low, high));
      thresholds[partPair(low, high)] = percents.map((percent) =>
        calibration.similarityAt(promisedRate(percent)),
      );
    }
  }
  const check = groups.flatMap((group) =>
    percents.map((percent, column) => honestyOf(group, percent, (pair) => thresholds[pair]![column]!)),
  );
  return { points, check };
}

/**
 * How often the strangers of each group reach certain percents by a table that is there already, normalised with `cohorts`
 * or with the pack's own.
 */
export function promisesKept(
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts | undefined,
  calibration: Calibration,
  percents: readonly number[],
): Honesty[] {
  const scoreOf: CohortScore = cohorts ? heldOutScores(cohorts) : ({ cohort_score }) => cohort_score;
  return sets
    .flatMap((set) => strangersOf(set, scoreOf))
    .flatMap((group) =>
      percents.map((percent) => {
        const threshold = calibration.similarityAt(promisedRate(percent));
        return honestyOf(group, percent, () => threshold);
      }),
    );
}

function honestyOf(group: Strangers, percent: number, thresholdOf: (parts: number) => number): Honesty {
  const seen = new PairRate(group.partOfPerson.length);
  for (const [i, score] of group.scores.entries()) {
    seen.add(group.first[i]!, group.second[i]!, score >= thresholdOf(group.parts[i]!));
  }
  const { rate, interval, pairs } = seen;
  return { group: group.group, percent, promised: promisedRate(percent), observed: rate, interval, pairs };
}

/** The cohort score of a picture whose person is of part `own`, in a pair with one of part `other`. */
type CohortScore = (picture: LabelledPicture, own: number, other: number) => number;

function strangersOf({ pictures }: PeopleSet, scoreOf: CohortScore): Strangers[] {
  return [...new Set(pictures.flatMap(({ labels }) => labels))].map((group) => {
    const kept = pictures.filter(({ labels }) => labels.includes(group));
    const people = [...new Set(kept.map(({ person }) => person))];
    const numbers = new Map(people.map((person, number) => [person, number]));
    const partOfPerson = people.map((person) => partOf(person, parts));
    const most = (kept.length * (kept.length - 1)) / 2;
    const scores = new Float32Array(most);
    const first = new Uint16Array(most);
    const second = new Uint16Array(most);
    const pairParts = new Uint8Array(most);
    let count = 0;
    for (const [i, a] of kept.entries()) {
      const numberOfA = numbers.get(a.person)!;
      const partOfA = partOfPerson[numberOfA]!;
      for (let j = i + 1; j < kept.length; j++) {
        const b = kept[j]!;
        const numberOfB = numbers.get(b.person)!;
        if (numberOfA === numberOfB) continue;
        const partOfB = partOfPerson[numberOfB]!;
        const common = scoreOf(a, partOfA, partOfB) + scoreOf(b, partOfB, partOfA);
        scores[count] = dot(a.embedding, b.embedding) - common / 2;
        first[count] = numberOfA;
        second[count] = numberOfB;
        pairParts[count++] = partPair(partOfA, partOfB);
      }
    }
    return {
      group,
      scores: scores.subarray(0, count),
      first: first.subarray(0, count),
      second: second.subarray(0, count),
      parts: pairParts.subarray(0, count),
      partOfPerson,
    };
  });
}

/** Each is made once. Without cohorts the cosine stays as it is. */
function heldOutScores(cohorts: HeldOutCohorts | undefined): CohortScore {
  const made = new Map<LabelledPicture, Float64Array>();
  return (picture, own, other) => {
    if (!cohorts) return 0;
    let scores = made.get(picture);
    if (!scores) {
      scores = Float64Array.from({ length: parts }, (_, part) => cohorts.score(picture.embedding, own, part));
      made.set(picture, scores);
    }
    return scores[other]!;
  };
}

/** Of each two parts, how many pairs have which score. */
function countsByParts({ scores, parts: pairParts }: Strangers): Uint32Array[] {
  const counts = Array.from({ length: heldOutFits }, () => new Uint32Array(bins));
  for (const [i, score] of scores.entries()) counts[pairParts[i]!]![binOf(score)]!++;
  return counts;
}

function sumWithout(counts: readonly Uint32Array[], left: readonly number[]): Float64Array {
  const sum = new Float64Array(bins);
  for (let high = 0; high < parts; high++) {
    for (let low = 0; low <= high; low++) {
      if (left.includes(low) || left.includes(high)) continue;
      const some = counts[partPair(low, high)]!;
      for (let bin = 0; bin < bins; bin++) sum[bin]! += some[bin]!;
    }
  }
  return sum;
}
