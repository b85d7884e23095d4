import { cohortScore, dot, type LabelledEmbedding } from './cohort.ts';
import { partOf } from './parts.ts';

/**
 * People are dealt into this many parts. A pair's cohort goes without two of them: with fewer parts it would lack people
 * that the service's cohort has, with more there would be more cohorts to make.
 */
const parts = 10;

/** How many cohorts are made: one for each two parts, and one for each part alone. */
export const heldOutFits = (parts * (parts + 1)) / 2;

/** Makes a cohort's centres; none when there are too few people. */
export type FitCentres = (pictures: readonly LabelledEmbedding[]) => Promise<Float32Array[]>;

/**
 * Cohorts for judging the very people that cohorts are made of: a pair is normalised with centres that neither its people
 * nor anybody else of their parts had a share in.
 */
export class HeldOutCohorts {
  readonly #centres: ReadonlyMap<string, Float32Array[]>;

  private constructor(centres: ReadonlyMap<string, Float32Array[]>) {
    this.#centres = centres;
  }

  /** Calls `centresFor` heldOutFits times. Throws an Error with a message for people when there are too few of them. */
  static async make(pictures: readonly LabelledEmbedding[], centresFor: FitCentres): Promise<HeldOutCohorts> {
    const partOfPicture = pictures.map(({ person }) => partOf(person, parts));
    const pairs = Array.from({ length: parts }, (_, first) => first).flatMap((first) =>
      Array.from({ length: parts - first }, (_, more) => [first, first + more] as const),
    );
    const entries = pairs.map(async ([first, second]) => {
      const others = pictures.filter((_, i) => partOfPicture[i] !== first && partOfPicture[i] !== second);
      const centres = await centresFor(others);
      if (centres.length > 0) return [keyOf(first, second), centres] as const;
      throw new Error('There are too few people to make a cohort without those who are judged.');
    });
    return new HeldOutCohorts(new Map(await Promise.all(entries)));
  }

  /** Cosine of a pair less the mean of the two faces' cohort scores. */
  normalised(a: LabelledEmbedding, b: LabelledEmbedding): number {
    const centres = this.#centres.get(keyOf(partOf(a.person, parts), partOf(b.person, parts)))!;
    const common = cohortScore(a.embedding, centres) + cohortScore(b.embedding, centres);
    return dot(a.embedding, b.embedding) - common / 2;
  }
}

function keyOf(first: number, second: number): string {
  return first < second ? `${first} ${second}` : `${second} ${first}`;
}
