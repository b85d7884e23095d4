import { z } from 'zod';
import { Problem } from '../errors.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { round } from './face.ts';
import { photoName } from './faults.ts';
import { optionRules } from './options.ts';
import { count, percent, text } from './schema.ts';
import type { Warning } from './warnings.ts';

/** Checks whether the photos of one side agree with each other. */

/** Returns the `confidence_percent` of each photo compared with the mean of the others. */
export function agreementPercents(agreements: readonly number[], calibration: Calibration): number[] {
  const shift = calibration.shift(1, Math.max(1, agreements.length - 1));
  return agreements.map((agreement) => round(calibration.assess(agreement - shift, 1).confidence_percent, 1));
}

const Disagreement = z.object({
  field: text('Name of the form field; with embeddings, a JSON pointer to the list (RFC 6901)'),
  index: count.describe('Zero-based index of the photo or embedding within its field'),
  agreement_percent: percent.describe(
    '`confidence_percent` compared with the mean of the others on its side',
  ),
  face_index: count
    .describe('Index of a face that agrees better than the compared face, which is the largest')
    .exactOptional(),
});

/** A photo that may show someone else. */
type Disagreement = z.infer<typeof Disagreement>;
export const disagreements = z.array(Disagreement).min(1);

/**
 * One side: the field, the agreement of each photo (null for a single photo), and for each photo the index of the
 * face that agrees best.
 */
type Side = readonly [field: string, percents: readonly (number | null)[], best_faces?: readonly number[]];

/**
 * Returns the photos whose agreement is below `min_agreement_percent`. Returns none without a calibration, because
 * an uncalibrated percent cannot show disagreement.
 */
function disagreeing(sides: readonly Side[], min_agreement_percent: number, { measured }: Calibration) {
  return sides.flatMap(([field, percents, best_faces]) =>
    percents.flatMap((agreement_percent, index): Disagreement[] => {
      if (!measured || agreement_percent === null || agreement_percent >= min_agreement_percent) return [];
      const face_index = best_faces?.[index] || undefined;
      return [{ field, index, agreement_percent, ...(face_index && { face_index }) }];
    }),
  );
}

function describeDisagreement({ field, index, agreement_percent, face_index }: Disagreement): string {
  const better =
    face_index === undefined ? '' : ` (face ${face_index}, which is not the largest, agrees better)`;
  return `${photoName(field, index)} agrees by ${agreement_percent} % with the others${better}`;
}

/** Returns the problem if photos disagree, otherwise undefined. */
export function disagreement(
  sides: readonly Side[],
  min_agreement_percent: number,
  calibration: Calibration,
): Problem | undefined {
  const errors = disagreeing(sides, min_agreement_percent, calibration);
  if (errors.length === 0) return undefined;
  const fields = [...new Set(errors.map(({ field }) => field))].join(', and in all photos of ');
  return new Problem('photos_disagree', {
    detail: `Check that the largest face is the same person in all photos of ${fields}: ${errors.map(describeDisagreement).join(', ')}. The minimum is ${min_agreement_percent} %.`,
    errors,
  });
}

/** Warns about photos below the default minimum if the request set a lower minimum. */
export function disagreementWarnings(sides: readonly Side[], calibration: Calibration): Warning[] {
  return disagreeing(sides, optionRules.min_agreement_percent.default, calibration).map((one) => ({
    code: 'photos_disagree',
    field: one.field,
    index: one.index,
    detail: `${describeDisagreement(one)}. It may show someone else, but it is included in the mean.`,
  }));
}
