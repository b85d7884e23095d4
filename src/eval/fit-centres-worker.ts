import { cohortCentres, dequantise, type LabelledEmbedding, quantise } from './cohort.ts';

/** The centres as the native core reads them. Takes seconds on one core for some thousand images. */
export default function fitCentres(images: readonly LabelledEmbedding[]): Float32Array[] {
  return dequantise(quantise(cohortCentres(images)), images[0]?.embedding.length ?? 0);
}
