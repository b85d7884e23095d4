import type { Analysis, NativeFailure } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { comparePairs, type FaceChoice, type Pair, type Similarity } from '../scoring/similarity.ts';
import { accuracy_mode, threshold_percent } from './answer.ts';
import { round } from './face.ts';
import { faultsOf, type ImageFault } from './faults.ts';
import type { MatchOptions } from './options.ts';
import { cosine, flag, percent, share, some } from './schema.ts';

/** Two images that were compared, and what is said of the best of the pairs. */

export interface Comparison {
  analyses: readonly [Analysis, Analysis];
  /** Every pair that was compared, best first; at least one. */
  pairs: Pair[];
}

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
  return { analyses: [first, second], pairs: comparePairs(first.image, second.image, choice) };
}

export const verdict = {
  match: flag('Whether confidence_percent, before it is rounded, reaches threshold_percent'),
  confidence_percent: percent.describe(
    'Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points ' +
      'more are ten times fewer false matches',
  ),
  similarity: cosine.describe('Cosine of the two embeddings; not comparable between model packs'),
  false_match_rate: share.describe(
    'How often two different people score at least this high, corrected for the number of compared pairs; ' +
      "for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table",
  ),
  extrapolated: flag(
    "true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), " +
      'and confidence_percent is extrapolated. Always true when the pack is not calibrated',
  ),
};

const { match, confidence_percent, ...measured } = verdict;
/** What a match says first, of two images or of two persons. */
export const decision = { match, confidence_percent, threshold_percent, ...measured, accuracy_mode };

export function decisionOf(
  { match, confidence_percent, ...measured }: ReturnType<typeof assessPair>,
  { threshold_percent, accuracy_mode }: MatchOptions,
) {
  return { match, confidence_percent, threshold_percent, ...measured, accuracy_mode };
}

export const pairs_compared = some.describe('How many pairs of faces were compared');

/** What the means of `photos` photos on each side have in common, as the table takes it. */
export function shifted(
  { similarity, normalised_similarity }: Similarity,
  calibration: Calibration,
  ...photos: readonly number[]
): Similarity {
  return { similarity, normalised_similarity: normalised_similarity - calibration.shift(...photos) };
}

/** What the answer says of the best of `pairs` pairs, rounded. */
export function assessPair(
  { similarity, normalised_similarity }: Similarity,
  calibration: Calibration,
  pairs: number,
  threshold_percent: number,
) {
  // Where nothing was measured, the percent is of the similarity that the answer has.
  const verdict = calibration.assess(calibration.measured ? normalised_similarity : similarity, pairs);
  return {
    match: verdict.confidence_percent >= threshold_percent,
    confidence_percent: round(verdict.confidence_percent, 1),
    similarity: round(similarity, 4),
    false_match_rate: Number(verdict.false_match_rate.toPrecision(2)),
    extrapolated: verdict.extrapolated,
  };
}
