import type { AccuracyMode } from './addon.ts';
import type { PackDraft } from './manifest.ts';

/** What a caller may choose about a comparison or a look at a picture: the form's fields, and the command line's options. */
export interface MatchOptions {
  threshold_percent: number;
  image1_face_index: number;
  image2_face_index: number;
  face_index: number;
  accuracy_mode: AccuracyMode;
  use_heuristic_fallback: boolean;
  min_det_score: number;
  auto_pair_best: boolean;
  reject_low_quality: boolean;
  detect_presentation_attack: boolean;
  reject_presentation_attack: boolean;
  live_threshold: number;
}

/** What is chosen unless the caller says otherwise; `min_det_score` and `live_threshold` are the pack's own. */
export const defaults = {
  threshold_percent: 70,
  image1_face_index: -1,
  image2_face_index: -1,
  face_index: -1,
  accuracy_mode: 'balance',
  use_heuristic_fallback: true,
  auto_pair_best: true,
  reject_low_quality: false,
  detect_presentation_attack: false,
  reject_presentation_attack: false,
} as const satisfies Omit<MatchOptions, 'min_det_score' | 'live_threshold'>;

/** What the options depend on in a pack. */
export type PackDefaults = Pick<PackDraft, 'min_det_score' | 'liveness'>;

/** All options, where a caller has made some. */
export function completeOptions(made: Partial<MatchOptions>, pack: PackDefaults): MatchOptions {
  const { min_det_score, liveness } = pack;
  return { ...defaults, min_det_score, live_threshold: liveness?.live_threshold ?? 0.5, ...made };
}

/** Most images that one image is compared with at once. */
export const maxTargets = 16;
