import { z } from 'zod';
import { Problem } from '../errors.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { round } from './face.ts';
import { photoName } from './faults.ts';
import { optionRules } from './options.ts';
import { count, percent, text } from './schema.ts';
import type { Warning } from './warnings.ts';

/** Whether the photos of one person agree with each other. */

/** The percent of each photo with the mean of the others, which are one fewer than `agreements`. */
export function agreementPercents(agreements: readonly number[], calibration: Calibration): number[] {
  const shift = calibration.shift(1, Math.max(1, agreements.length - 1));
  return agreements.map((agreement) => round(calibration.assess(agreement - shift, 1).confidence_percent, 1));
}

const Disagreement = z.object({
  field: text('Name of the form field; with embeddings, a pointer to the list (RFC 6901)'),
  index: count.describe('The photo, or embedding, among those of its field'),
  agreement_percent: percent.describe('With the mean of the others of its side'),
  face_index: count
    .describe('A face of the photo that agrees better than its largest, which counts')
    .exactOptional(),
});

/** A photo that may be of somebody else. */
type Disagreement = z.infer<typeof Disagreement>;
export const disagreements = z.array(Disagreement).min(1);

/** The photos of one person: a field, the percents of its photos, null for one that is alone, and the face of each that agrees best. */
type Side = readonly [field: string, percents: readonly (number | null)[], best_faces?: readonly number[]];

/** Those that agree less than `least_percent`. Without a table no percent says what agrees. */
function disagreeing(sides: readonly Side[], least_percent: number, { measured }: Calibration) {
  return sides.flatMap(([field, percents, best_faces]) =>
    percents.flatMap((agreement_percent, index): Disagreement[] => {
      if (!measured || agreement_percent === null || agreement_percent >= least_percent) return [];
      const face_index = best_faces?.[index] || undefined;
      return [{ field, index, agreement_percent, ...(face_index && { face_index }) }];
    }),
  );
}

function wordsOf({ field, index, agreement_percent, face_index }: Disagreement): string {
  const better = face_index === undefined ? '' : ` (its face ${face_index}, which is not the largest, more)`;
  return `${photoName(field, index)} agrees with the others at ${agreement_percent} percent${better}`;
}

/** The problem of photos that disagree; undefined where none do. */
export function disagreement(
  sides: readonly Side[],
  least_percent: number,
  calibration: Calibration,
): Problem | undefined {
  const errors = disagreeing(sides, least_percent, calibration);
  if (errors.length === 0) return undefined;
  const fields = [...new Set(errors.map(({ field }) => field))].join(' and ');
  return new Problem('photos_disagree', {
    detail: `Make sure that all photos of ${fields} show one person, alone or in front: ${errors.map(wordsOf).join(', ')}, below ${least_percent}.`,
    errors,
  });
}

/** For photos that the client lets pass, and that are refused unless it says so. */
export function disagreementWarnings(sides: readonly Side[], calibration: Calibration): Warning[] {
  return disagreeing(sides, optionRules.min_agreement_percent.default, calibration).map((one) => ({
    code: 'photos_disagree',
    field: one.field,
    index: one.index,
    detail: `${wordsOf(one)}: it may show somebody else, and is a part of the mean all the same.`,
  }));
}
