import { Calibration, type CalibrationPoint, promisedRate } from '../calibration.ts';
import { cohortScore, dot, type LabelledEmbedding } from './cohort.ts';
import { type CohortFits, parts } from './cohort-fits.ts';
import { fmrTable, type ImpostorScores } from './fmr-table.ts';
import { PairRate } from './pair-rate.ts';
import { partOf } from './parts.ts';
import type { Interval } from './wilson.ts';

/** A set of labelled people, and how much it counts in the table beside the others. */
export interface PeopleSet {
  name: string;
  weight: number;
  pictures: readonly LabelledEmbedding[];
}

/**
 * Similarity → false-match rate for people who are not in the cohort: each face is normalised with centres that its
 * own part of the people had no share in. `cohort` is made of the same people as `sets`; without it the cosine itself
 * is judged.
 */
export function fitTable(sets: readonly PeopleSet[], cohort: CohortFits | undefined): CalibrationPoint[] {
  return fitWithout([], sets, cohort);
}

/** As fitTable(), and the people of these parts have no share in anything. */
function fitWithout(
  left: readonly number[],
  sets: readonly PeopleSet[],
  cohort: CohortFits | undefined,
): CalibrationPoint[] {
  const scores = sets.map(({ pictures, weight }): ImpostorScores => {
    const kept = pictures.filter(({ person }) => !left.includes(partOf(person, parts)));
    const cohortScores = kept.map(({ person, embedding }) =>
      cohortScore(embedding, cohort?.without(...left, partOf(person, parts)) ?? []),
    );
    return { weight, scores: Float64Array.from(strangers(kept, cohortScores), ({ score }) => score) };
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

/**
 * Cross-validates over people: fits on all parts but one and looks at the pairs of that one. `onPart` hears of each part
 * that is done.
 */
export function honesty(
  sets: readonly PeopleSet[],
  cohort: CohortFits | undefined,
  percents: readonly number[],
  onPart: () => void = () => {},
): Honesty[] {
  const seen = sets.map(() => percents.map(() => new PairRate()));
  for (let part = 0; part < parts; part++) {
    const calibration = new Calibration(fitWithout([part], sets, cohort));
    const centres = cohort?.without(part) ?? [];
    for (const [index, set] of sets.entries()) {
      const pictures = set.pictures.filter(({ person }) => partOf(person, parts) === part);
      const cohortScores = pictures.map(({ embedding }) => cohortScore(embedding, centres));
      for (const { first, second, score } of strangers(pictures, cohortScores)) {
        const { confidence_percent } = calibration.judge(score, 1);
        for (const [column, percent] of percents.entries()) {
          seen[index]![column]!.add(first, second, confidence_percent >= percent);
        }
      }
    }
    onPart();
  }
  return sets.flatMap(({ name }, index) =>
    percents.map((percent, column) => {
      const { rate, interval, pairs } = seen[index]![column]!;
      return { set: name, percent, promised: promisedRate(percent), observed: rate, interval, pairs };
    }),
  );
}

/** All pairs of different people with their normalised similarity. `cohortScores` are the pictures' own. */
function* strangers(pictures: readonly LabelledEmbedding[], cohortScores: readonly number[]) {
  for (const [i, { person: first, embedding }] of pictures.entries()) {
    for (let j = i + 1; j < pictures.length; j++) {
      const { person: second, embedding: other } = pictures[j]!;
      if (first === second) continue;
      yield { first, second, score: dot(embedding, other) - (cohortScores[i]! + cohortScores[j]!) / 2 };
    }
  }
}
