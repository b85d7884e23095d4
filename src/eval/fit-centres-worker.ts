import type { LabelledEmbedding } from './cohort.ts';
import { centresOf } from './cohort-fits.ts';

/** Seconds of one core for some thousand pictures. */
export default function fitCentres(pictures: readonly LabelledEmbedding[]): Float32Array[] {
  return centresOf(pictures);
}
