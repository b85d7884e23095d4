import { cohortCentres, dequantise, type LabelledEmbedding, quantise } from './cohort.ts';
import { partOf } from './parts.ts';

/** People are dealt into this many parts. */
export const parts = 5;

/** Cohorts made of all people or without those of some parts, as the native core reads them; each is made once. */
export class CohortFits {
  readonly #pictures: readonly LabelledEmbedding[];
  readonly #onMade: () => void;
  readonly #made = new Map<string, Float32Array[]>();

  /** `onMade` hears of each cohort that was made: making takes seconds. */
  constructor(pictures: readonly LabelledEmbedding[], onMade: () => void = () => {}) {
    this.#pictures = pictures;
    this.#onMade = onMade;
  }

  /** Centres without the people of these parts. */
  without(...left: readonly number[]): Float32Array[] {
    const key = [...left].sort().join();
    const known = this.#made.get(key);
    if (known) return known;
    const centres = centresOf(this.#pictures.filter(({ person }) => !left.includes(partOf(person, parts))));
    this.#made.set(key, centres);
    this.#onMade();
    return centres;
  }
}

export function centresOf(pictures: readonly LabelledEmbedding[]): Float32Array[] {
  return dequantise(quantise(cohortCentres(pictures)), pictures[0]?.embedding.length ?? 0);
}
