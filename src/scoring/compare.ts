import { type Face, type ImageReport, type StageTimings, stages } from '../engine/addon.ts';
import { type Similarity, similarityOf } from './similarity.ts';

/** Compares the faces of two images, pair by pair. */

export type ImageField = 'image1' | 'image2';

export interface Pair extends Similarity {
  image1_face_index: number;
  image2_face_index: number;
}

/** Which faces are compared; -1 is automatic choice. */
export interface FaceChoice {
  image1_face_index: number;
  image2_face_index: number;
  auto_pair_best: boolean;
}

/** The faces of two images that are to be compared, each with each, the most alike first. */
export function comparePairs(first: ImageReport, second: ImageReport, choice: FaceChoice): Pair[] {
  const pairs: Pair[] = [];
  for (const a of chosen(first, choice.image1_face_index, choice.auto_pair_best)) {
    for (const b of chosen(second, choice.image2_face_index, choice.auto_pair_best)) {
      pairs.push({ image1_face_index: a.index, image2_face_index: b.index, ...similarityOf(a, b) });
    }
  }
  return pairs.sort((a, b) => b.normalised_similarity - a.normalised_similarity);
}

/** Automatic choice takes all faces, or without auto_pair_best the largest. */
function chosen({ faces }: ImageReport, index: number, auto_pair_best: boolean): Face[] {
  if (index >= 0) return [faces[index]!];
  return auto_pair_best ? faces : faces.slice(0, 1);
}

export function sum(a: StageTimings, b: StageTimings): StageTimings {
  return Object.fromEntries(stages.map((stage) => [stage, a[stage] + b[stage]])) as StageTimings;
}
