import type { Analysis, Face, Failure, ImageReport, NativeFailure, StageTimings } from '../engine/addon.ts';
import { cosine } from '../engine/cosine.ts';

/** Compares the faces of two analysed images, pair by pair. */

export type ImageField = 'image1' | 'image2';

export interface Pair {
  image1_face_index: number;
  image2_face_index: number;
  /** Cosine of the two embeddings, -1..1. */
  similarity: number;
  /** The input of the calibration table. */
  normalised_similarity: number;
}

/** Which faces are compared; -1 is automatic choice. */
export interface FaceChoice {
  image1_face_index: number;
  image2_face_index: number;
  auto_pair_best: boolean;
}

export interface Comparison {
  image1: ImageReport;
  image2: ImageReport;
  /** Every pair that was compared, best first; at least one. */
  pairs: Pair[];
  /** Both images together; 0 for one that was in the embedding cache. */
  timings_ms: StageTimings;
}

/** What is wrong with one image of a request. */
export type ImageFault = { field: string } & (
  | Exclude<Failure, { code: 'internal_error' }>
  | { code: 'no_face_found'; look_cut_short?: true | undefined }
  | { code: 'face_index_out_of_range'; faces_found: number; index: number }
);

/** Compares two images, or returns their faults in the form's order. Throws an Error for an internal failure. */
export function compare(
  outcomes: readonly [Analysis | NativeFailure, Analysis | NativeFailure],
  choice: FaceChoice,
): Comparison | ImageFault[] {
  const [first, second] = outcomes;
  const faults = [
    ...faultsOf('image1', first, choice.image1_face_index),
    ...faultsOf('image2', second, choice.image2_face_index),
  ];
  if (faults.length > 0 || !first.ok || !second.ok) return faults;
  const pairs: Pair[] = [];
  for (const a of chosen(first.image, choice.image1_face_index, choice.auto_pair_best)) {
    for (const b of chosen(second.image, choice.image2_face_index, choice.auto_pair_best)) {
      pairs.push(pairOf(a, b));
    }
  }
  pairs.sort((a, b) => b.normalised_similarity - a.normalised_similarity);
  return {
    image1: first.image,
    image2: second.image,
    pairs,
    timings_ms: sum(first.timings_ms, second.timings_ms),
  };
}

/** The fault of an image whose face `index` is wanted (-1: any); at most one. Throws an Error for an internal failure. */
export function faultsOf(field: string, outcome: Analysis | NativeFailure, index: number): ImageFault[] {
  if (!outcome.ok) {
    if (outcome.code === 'internal_error') throw new Error(outcome.message);
    const { ok: _, ...failure } = outcome;
    return [{ ...failure, field }];
  }
  const { faces, look_cut_short } = outcome.image;
  if (faces.length === 0) return [{ field, code: 'no_face_found', look_cut_short }];
  if (index >= faces.length)
    return [{ field, code: 'face_index_out_of_range', faces_found: faces.length, index }];
  return [];
}

/** Automatic choice takes all faces, or without auto_pair_best the largest. */
function chosen({ faces }: ImageReport, index: number, auto_pair_best: boolean): Face[] {
  if (index >= 0) return [faces[index]!];
  return auto_pair_best ? faces : faces.slice(0, 1);
}

function pairOf(a: Face, b: Face): Pair {
  const similarity = cosine(a.embedding, b.embedding);
  return {
    image1_face_index: a.index,
    image2_face_index: b.index,
    similarity,
    normalised_similarity: similarity - (a.cohort_score + b.cohort_score) / 2,
  };
}

export function sum(a: StageTimings, b: StageTimings): StageTimings {
  return {
    decode: a.decode + b.decode,
    detect: a.detect + b.detect,
    align: a.align + b.align,
    embed: a.embed + b.embed,
  };
}
