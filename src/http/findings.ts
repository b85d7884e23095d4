import type { NativeFailure } from '../engine/addon.ts';
import type { Findings } from '../telemetry/telemetry.ts';
import type { ImageBody, MatchBody } from './match-result.ts';

/** What is counted of a match: numbers and words of tables, nothing of the faces themselves. */

export function matchFindings({
  accuracy_mode,
  match,
  confidence_percent,
  image1,
  image2,
}: MatchBody): Findings {
  return {
    verdict: { accuracy_mode, match, confidence_percent },
    images: [imageFindings(image1), imageFindings(image2)],
  };
}

/** Of a failure: the pictures without a face. What the other picture had is not told. */
export function facelessFindings(failure: NativeFailure): Findings | undefined {
  if (failure.code !== 'no_face_found') return undefined;
  return { verdict: undefined, images: failure.errors.map(() => ({ faces: 0, found_by: 'none' })) };
}

function imageFindings({ faces }: ImageBody): Findings['images'][number] {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}
