import type { MatchOptions } from '../engine/match-options.ts';
import type { Image, Timings, Warning } from '../scoring/answers.ts';
import type { ImageFault } from '../scoring/compare.ts';
import { type LowQualityFace, lowQualityProblem } from '../scoring/face-quality.ts';
import { problemOf } from '../scoring/faults.ts';
import { type AskedFace, presentationAttack } from '../scoring/presentation-attack.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Answered } from './endpoint.ts';

/** Answers and refusals of images, with what is counted of them. */

export function imageCounts({ faces }: Pick<Image, 'faces'>): MatchCounts['images'][number] {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}

/** The face of an image that an answer is about. */
export function askedFace(field: string, { faces, face_index }: Image): AskedFace {
  return { field, face: faces[face_index]! };
}

/** Refuses faulty images. Those without a face are counted; nothing is known of the others. */
export function refusalOf(faults: readonly ImageFault[]): Answered {
  const faceless = faults.filter(({ code }) => code === 'no_face_found');
  const images = faceless.map(() => ({ faces: 0, found_by: 'none' as const }));
  return { refusal: problemOf(faults), counts: images.length > 0 ? { comparisons: [], images } : undefined };
}

/**
 * The answer, or where the client asked for it the refusal of a face that is poor, or that looks like a presentation attack: then
 * no comparison is counted, for the client gets none. A poor face comes first: its live score says little.
 */
export function answerUnlessRefused(
  body: { warnings: readonly Warning[]; timings_ms: Timings },
  options: MatchOptions,
  asked: readonly AskedFace[],
  counts: MatchCounts,
  decisions: readonly Decision[],
): Answered {
  const poor = body.warnings.filter(({ code }) => code === 'low_quality_face') as LowQualityFace[];
  const refusal =
    (options.reject_low_quality ? lowQualityProblem(poor) : undefined) ?? presentationAttack(asked, options);
  if (refusal === undefined) return { body, counts, decisions };
  return { refusal, counts: { ...counts, comparisons: [] }, timings_ms: body.timings_ms };
}
