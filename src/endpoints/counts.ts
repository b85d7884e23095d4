import type { Image, Timings, Warning } from '../face/answers.ts';
import type { ImageFault } from '../face/compare.ts';
import { type LowQualityFace, lowQualityProblem } from '../face/face-quality.ts';
import { problemOf } from '../face/faults.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Answered } from './endpoint.ts';

/** Answers and refusals of images, with what is counted of them. */

export function imageCounts({ faces }: Pick<Image, 'faces'>): MatchCounts['images'][number] {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}

/** Refuses faulty images. Those without a face are counted; nothing is known of the others. */
export function refusalOf(faults: readonly ImageFault[]): Answered {
  const faceless = faults.filter(({ code }) => code === 'no_face_found');
  const images = faceless.map(() => ({ faces: 0, found_by: 'none' as const }));
  return { refusal: problemOf(faults), counts: images.length > 0 ? { comparisons: [], images } : undefined };
}

/** The answer, or for `reject` the refusal that stands for its warnings: then no comparison is counted, for the client gets none. */
export function answerUnlessPoor(
  body: { warnings: readonly Warning[]; timings_ms: Timings },
  reject: boolean,
  counts: MatchCounts,
  decisions: readonly Decision[],
): Answered {
  const poor = body.warnings.filter(({ code }) => code === 'low_quality_face') as LowQualityFace[];
  const refusal = reject ? lowQualityProblem(poor) : undefined;
  if (refusal === undefined) return { body, counts, decisions };
  return { refusal, counts: { ...counts, comparisons: [] }, timings_ms: body.timings_ms };
}
