import { withThreads } from '../engine/pool.ts';
import { cohortScore, dot, type LabelledEmbedding } from './cohort.ts';
import { foldOf } from './people.ts';

/**
 * People are divided into this many folds, and a pair's cohort leaves out the folds of its two people. Fewer folds would leave
 * out more people than necessary; more folds need more cohorts.
 */
export const folds = 10;

/** The index of an unordered pair of folds, which may be the same. */
export function foldPair(first: number, second: number): number {
  const [low, high] = first < second ? [first, second] : [second, first];
  return (high * (high + 1)) / 2 + low;
}

/** The number of cohorts: one for each pair of folds. */
export const heldOutFits = (folds * (folds + 1)) / 2;

type Person = Pick<LabelledEmbedding, 'person' | 'embedding'>;

/** Makes the centres of a cohort; empty when there are too few people. */
type FitCentres = (images: readonly LabelledEmbedding[]) => Promise<Float32Array[]>;

/**
 * Cohorts for evaluating the people that cohorts are made of: each pair is normalised with centres that were made without the
 * folds of its two people.
 */
export class HeldOutCohorts {
  readonly #centres: readonly Float32Array[][];

  private constructor(centres: readonly Float32Array[][]) {
    this.#centres = centres;
  }

  /** Calls `centresFor` heldOutFits times. Rejects with an Error with a message for people when there are too few people. */
  static async make(images: readonly LabelledEmbedding[], centresFor: FitCentres): Promise<HeldOutCohorts> {
    const foldOfImage = images.map(({ person }) => foldOf(person, folds));
    const made = Array.from({ length: folds }, (_, high) => high).flatMap((high) =>
      Array.from({ length: high + 1 }, async (_, low) => {
        const others = images.filter((_, i) => foldOfImage[i] !== low && foldOfImage[i] !== high);
        const centres = await centresFor(others);
        if (centres.length > 0) return centres;
        throw new Error('There are too few people to make a cohort without those of a pair.');
      }),
    );
    return new HeldOutCohorts(await Promise.all(made));
  }

  /** Cosine of a pair minus the mean of both faces' cohort scores. */
  normalised(a: Person, b: Person): number {
    const [first, second] = [foldOf(a.person, folds), foldOf(b.person, folds)];
    const common = this.score(a.embedding, first, second) + this.score(b.embedding, first, second);
    return dot(a.embedding, b.embedding) - common / 2;
  }

  /** A face's cohort score without the people of two folds. */
  score(embedding: Float32Array, first: number, second: number): number {
    return cohortScore(embedding, this.#centres[foldPair(first, second)]!);
  }
}

/** Runs `work` with a function that makes the centres of a cohort on one of `workers` threads. */
export function withFitCentres<T>(
  workers: number,
  onFit: () => void,
  work: (fit: FitCentres) => Promise<T>,
): Promise<T> {
  const file = new URL('./fit-centres-worker.js', import.meta.url);
  return withThreads<readonly LabelledEmbedding[], Float32Array[], T>(file, workers, (run) =>
    work(async (images) => {
      const centres = await run(images);
      onFit();
      return centres;
    }),
  );
}
