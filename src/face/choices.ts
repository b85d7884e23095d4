import type { AccuracyMode } from '../engine/addon.ts';

/** What a caller may choose about a comparison or a look at a picture: the form's fields, and the command line's options. */
export interface Choices {
  threshold_percent: number;
  image1_face_index: number;
  image2_face_index: number;
  face_index: number;
  accuracy_mode: AccuracyMode;
  use_heuristic_fallback: boolean;
  min_det_score: number;
  auto_pair_best: boolean;
  reject_low_quality: boolean;
}

/** What is chosen unless the caller says otherwise; `min_det_score` is the pack's own. */
export const usual = {
  threshold_percent: 70,
  image1_face_index: -1,
  image2_face_index: -1,
  face_index: -1,
  accuracy_mode: 'balance',
  use_heuristic_fallback: true,
  auto_pair_best: true,
  reject_low_quality: false,
} as const satisfies Omit<Choices, 'min_det_score'>;

/** All choices, where a caller has made some. */
export function choicesOf(made: Partial<Choices>, pack: { min_det_score: number }): Choices {
  return { ...usual, min_det_score: pack.min_det_score, ...made };
}

/** Most images that one image is compared with at once. */
export const mostTargets = 16;
