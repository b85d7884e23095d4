import { withThreads } from '../engine/pool.ts';
import { cohortScore, dot, type LabelledEmbedding } from './cohort.ts';
import { partOf } from './people.ts';

/**
 * People are dealt into this many parts. A pair's cohort goes without two of them: with fewer parts it would lack people
 * that the service's cohort has, with more there would be more cohorts to make.
 */
export const parts = 10;

/** For each two parts, and for each part alone, its number. */
export function partPair(first: number, second: number): number {
  const [low, high] = first < second ? [first, second] : [second, first];
  return (high * (high + 1)) / 2 + low;
}

/** How many cohorts are made. */
export const heldOutFits = (parts * (parts + 1)) / 2;

type Person = Pick<LabelledEmbedding, 'person' | 'embedding'>;

/** Makes the centres of a cohort; empty when there are too few people. */
type FitCentres = (pictures: readonly LabelledEmbedding[]) => Promise<Float32Array[]>;

/**
 * Cohorts for judging the very people that cohorts are made of: a pair is normalised with centres that neither its people
 * nor anybody else of their parts had a share in.
 */
export class HeldOutCohorts {
  readonly #centres: readonly Float32Array[][];

  private constructor(centres: readonly Float32Array[][]) {
    this.#centres = centres;
  }

  /** Calls `centresFor` heldOutFits times. Rejects with an Error with a message for people when there are too few people. */
  static async make(pictures: readonly LabelledEmbedding[], centresFor: FitCentres): Promise<HeldOutCohorts> {
    const partOfPicture = pictures.map(({ person }) => partOf(person, parts));
    const made = Array.from({ length: parts }, (_, high) => high).flatMap((high) =>
      Array.from({ length: high + 1 }, async (_, low) => {
        const others = pictures.filter((_, i) => partOfPicture[i] !== low && partOfPicture[i] !== high);
        const centres = await centresFor(others);
        if (centres.length > 0) return centres;
        throw new Error('There are too few people to make a cohort without those of a pair.');
      }),
    );
    return new HeldOutCohorts(await Promise.all(made));
  }

  /** Cosine of a pair minus the mean of both faces' cohort scores. */
  normalised(a: Person, b: Person): number {
    const [first, second] = [partOf(a.person, parts), partOf(b.person, parts)];
    const common = this.score(a.embedding, first, second) + this.score(b.embedding, first, second);
    return dot(a.embedding, b.embedding) - common / 2;
  }

  /** A face's cohort score without the people of two parts. */
  score(embedding: Float32Array, first: number, second: number): number {
    return cohortScore(embedding, this.#centres[partPair(first, second)]!);
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
    work(async (pictures) => {
      const centres = await run(pictures);
      onFit();
      return centres;
    }),
  );
}
