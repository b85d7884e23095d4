import { Calibration, type CalibrationPoint, promisedRate } from '../calibration.ts';
import { cohortCentres, cohortMean, dequantise, dot, type LabelledEmbedding, quantise } from './cohort.ts';
import { fmrTable, type ImpostorScores } from './fmr-table.ts';
import { PairRate } from './pair-rate.ts';
import type { Interval } from './wilson.ts';

/** A set of labelled people, and how much it counts in the table beside the others. */
export interface PeopleSet {
  name: string;
  weight: number;
  pictures: readonly LabelledEmbedding[];
}

/** People are dealt into this many parts. */
const parts = 5;

/**
 * Similarity → false-match rate for people who are not in the cohort: each face is normalised with centres that its
 * own part of the people had no share in. `cohort` holds the sets that centres are made of, the same people as `sets`;
 * without it the cosine itself is judged.
 */
export function fitTable(
  sets: readonly PeopleSet[],
  cohort: readonly PeopleSet[] | undefined,
): CalibrationPoint[] {
  const cohorts = Array.from({ length: parts }, (_, part) =>
    cohort ? centresOf(cohort.map((set) => without(set, part))) : [],
  );
  const scores = sets.map(({ pictures, weight }): ImpostorScores => {
    const means = pictures.map(({ person, embedding }) => cohortMean(embedding, cohorts[partOf(person)]!));
    return { weight, scores: Float64Array.from(strangers(pictures, means), ({ score }) => score) };
  });
  return fmrTable(scores);
}

/** What was seen of people who were neither in the cohort nor in the fit. */
export interface Honesty {
  set: string;
  percent: number;
  promised: number;
  observed: number;
  /** 95 % confidence interval of what was observed. */
  interval: Interval;
  pairs: number;
}

/** Cross-validates over people: fits on all parts but one and looks at the pairs of that one. */
export function honesty(
  sets: readonly PeopleSet[],
  cohort: readonly PeopleSet[] | undefined,
  percents: readonly number[],
): Honesty[] {
  const seen = sets.map(() => percents.map(() => new PairRate()));
  for (let part = 0; part < parts; part++) {
    // Another deal than fitTable()'s own, which deals what is left once more.
    const others = cohort?.map((set) => without(set, part, 'outer'));
    const points = fitTable(
      sets.map((set) => without(set, part, 'outer')),
      others,
    );
    const centres = others ? centresOf(others) : [];
    const calibration = new Calibration(points);
    for (const [index, set] of sets.entries()) {
      const pictures = set.pictures.filter(({ person }) => partOf(person, 'outer') === part);
      const means = pictures.map(({ embedding }) => cohortMean(embedding, centres));
      for (const { first, second, score } of strangers(pictures, means)) {
        const { confidence_percent } = calibration.judge(score, 1);
        for (const [column, percent] of percents.entries()) {
          seen[index]![column]!.add(first, second, confidence_percent >= percent);
        }
      }
    }
  }
  return sets.flatMap(({ name }, index) =>
    percents.map((percent, column) => {
      const { rate, interval, pairs } = seen[index]![column]!;
      return { set: name, percent, promised: promisedRate(percent), observed: rate, interval, pairs };
    }),
  );
}

export function centresOf(sets: readonly PeopleSet[]): Float32Array[] {
  const pictures = sets.flatMap((set) => set.pictures);
  const dimensions = pictures[0]?.embedding.length ?? 0;
  return dequantise(quantise(cohortCentres(pictures)), dimensions);
}

/** All pairs of different people with their normalised similarity. `means` are the pictures' cohort means. */
function* strangers(pictures: readonly LabelledEmbedding[], means: readonly number[]) {
  for (const [i, { person: first, embedding }] of pictures.entries()) {
    for (let j = i + 1; j < pictures.length; j++) {
      const { person: second, embedding: other } = pictures[j]!;
      if (first !== second)
        yield { first, second, score: dot(embedding, other) - (means[i]! + means[j]!) / 2 };
    }
  }
}

function without(set: PeopleSet, part: number, deal = ''): PeopleSet {
  return { ...set, pictures: set.pictures.filter(({ person }) => partOf(person, deal) !== part) };
}

/** A person's part, by a hash of the name (FNV-1a), so that it does not move when others come and go. */
export function partOf(person: string, deal = '', count = parts): number {
  let hash = 0x811c9dc5;
  for (const char of deal + person) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  // The last bits of this hash alone are uneven for short names.
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
