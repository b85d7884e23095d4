import type { Analysis } from '../engine/addon.ts';
import type { Outcome } from '../engine/jobs.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { comparePairs, type FaceChoice, type Pairs, type Similarity } from '../scoring/similarity.ts';
import { round } from './face.ts';
import { faultsOf, type ImageFault } from './faults.ts';
import type { MatchOptions } from './options.ts';
import { accuracy_mode, threshold_percent } from './response-members.ts';
import { cosine, flag, percent, positive, share } from './schema.ts';

/** Compares the faces of two images, and assesses the best pair. */

export interface Comparison {
  analyses: readonly [Analysis, Analysis];
  pairs: Pairs;
}

/**
 * The comparisons of one request. Keeps their results, because the response needs the same comparisons as the decision
 * about a second search. A comparison of 100 faces with 100 others takes about 10 ms.
 */
export class Comparisons {
  readonly #known = new Map<Outcome, Map<Outcome, Comparison | ImageFault[]>>();

  /**
   * Compares two images, or returns their errors in the order of the form. `choice` must be the same in every call.
   * Throws an Error for an internal failure.
   */
  of(first: Outcome, second: Outcome, choice: FaceChoice): Comparison | ImageFault[] {
    const known = this.#known.get(first)?.get(second);
    if (known) return known;
    const result = compare(first, second, choice);
    const others = this.#known.get(first) ?? new Map();
    this.#known.set(first, others.set(second, result));
    return result;
  }
}

function compare(first: Outcome, second: Outcome, choice: FaceChoice): Comparison | ImageFault[] {
  const faults = [
    ...faultsOf('image1', first, choice.image1_face_index),
    ...faultsOf('image2', second, choice.image2_face_index),
  ];
  if (faults.length > 0 || !first.ok || !second.ok) return faults;
  return { analyses: [first, second], pairs: comparePairs(first.image, second.image, choice) };
}

export const verdict = {
  match: flag('True if `confidence_percent`, before rounding, is at least `threshold_percent`'),
  confidence_percent: percent.describe(
    'Log scale of the false match rate (FMR): 30 − 10 × log10(FMR) from 40 upwards, so 10 points more mean 10 times fewer ' +
      'false matches. Not the probability that both images show the same person',
  ),
  similarity: cosine.describe('Cosine similarity of the two embeddings; not comparable between model packs'),
  false_match_rate: share.describe(
    'Rate at which pairs of different people score at least this high, corrected for `pairs_compared` or, with embeddings, `searched`. ' +
      'Never below the floor of the pack (see GET models); 1 if the pack is not calibrated',
  ),
  extrapolated: flag(
    'True if the score is beyond the measured range: `false_match_rate` is then an upper bound (the floor, corrected in the same way), ' +
      'and `confidence_percent` is extrapolated. Always true if the pack is not calibrated',
  ),
};

const { match, confidence_percent, ...measured } = verdict;
/** Members of every response that compares two images or two persons. */
export const decision = { match, confidence_percent, threshold_percent, ...measured, accuracy_mode };

export function decisionOf(
  { match, confidence_percent, ...measured }: ReturnType<typeof assessPair>,
  { threshold_percent, accuracy_mode }: MatchOptions,
) {
  return { match, confidence_percent, threshold_percent, ...measured, accuracy_mode };
}

export const pairs_compared = positive.describe('Number of face pairs that were compared');

/** Shifts a similarity of mean embeddings to the scale of single photos. `photos`: number of photos on each side. */
export function shifted(
  { similarity, normalised_similarity }: Similarity,
  calibration: Calibration,
  ...photos: readonly number[]
): Similarity {
  return { similarity, normalised_similarity: normalised_similarity - calibration.shift(...photos) };
}

/** Returns the verdict on the best of `pairs` pairs, rounded as in the response. */
export function assessPair(
  { similarity, normalised_similarity }: Similarity,
  calibration: Calibration,
  pairs: number,
  threshold_percent: number,
) {
  // Without a calibration, the percent is computed from the returned similarity.
  const verdict = calibration.assess(calibration.measured ? normalised_similarity : similarity, pairs);
  return {
    match: verdict.confidence_percent >= threshold_percent,
    confidence_percent: round(verdict.confidence_percent, 1),
    similarity: round(similarity, 4),
    false_match_rate: Number(verdict.false_match_rate.toPrecision(2)),
    extrapolated: verdict.extrapolated,
  };
}
