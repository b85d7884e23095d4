import type { MatchOptions, PackDefaults } from '../engine/match-options.ts';
import { Problem } from '../errors.ts';

/** A hint at presentation attacks (photos and screens before the camera), by the liveness nets of a pack that has them. */

/** The options that need the nets. */
const needing = ['detect_presentation_attack', 'reject_presentation_attack'] as const;

/** Whether live scores are wanted. */
export const wantsLiveScores = (options: MatchOptions): boolean => needing.some((name) => options[name]);

/** Throws Problem invalid_field when live scores are wanted of a pack without liveness nets. */
export function requireLiveness(options: MatchOptions, { liveness }: PackDefaults): void {
  const field = needing.find((name) => options[name]);
  if (field === undefined || liveness !== undefined) return;
  throw new Problem('invalid_field', {
    detail: `Send false as ${field}, or leave it out: the model pack of this server has no liveness nets.`,
    field,
    expected: 'false, because the model pack has no liveness nets',
  });
}

/** A face that an answer is about, and the image that it is in. */
export interface AskedFace {
  field: string;
  face: { index: number; live_score?: number };
}

/** The problem that refuses faces below the pack's threshold, by the rounded scores of the answer; undefined when there are none. */
export function presentationAttack(
  asked: readonly AskedFace[],
  { reject_presentation_attack, live_threshold: threshold }: MatchOptions,
): Problem | undefined {
  if (!reject_presentation_attack) return undefined;
  const errors = asked.flatMap(({ field, face: { index, live_score } }) =>
    live_score !== undefined && live_score < threshold ? [{ field, face_index: index, live_score }] : [],
  );
  if (errors.length === 0) return undefined;
  const fields = [...new Set(errors.map(({ field }) => field))].join(' and ');
  return new Problem('presentation_attack', {
    detail: `Take a new picture of the person for ${fields}: a face looks like one on a photo or a screen, with a live_score below ${threshold}.`,
    errors,
  });
}
