import type { NativeFailure } from '../engine/addon.ts';
import { Problem, type ProblemExtras } from '../errors.ts';

/**
 * A failure that came out of the addon as data → the problem that the client is told. `name` stands for the picture in
 * `detail`; without it the form's field does.
 */
export function nativeProblem(failure: NativeFailure, name?: string): Problem {
  const { ok: _, code, ...extras } = failure;
  // The native message is for the log.
  if (code === 'internal_error') return new Problem(code);
  return new Problem(code, { detail: detailOf(failure, name), ...(extras as ProblemExtras) });
}

function detailOf(failure: Exclude<NativeFailure, { code: 'internal_error' }>, name?: string): string {
  switch (failure.code) {
    case 'unsupported_image_format':
      return `Send ${name ?? failure.field} as JPEG, PNG or WebP; this one looks like ${failure.detected}.`;
    case 'image_decode_failed':
      return `Send ${name ?? failure.field} again: the picture is damaged or cut short.`;
    case 'image_dimensions':
      return (
        `Scale ${name ?? failure.field}: ${failure.width} × ${failure.height} pixels are out of range; at most ` +
        `${failure.limit_pixels} pixels in all are taken, and a shortest side that still shows a face.`
      );
    case 'no_face_found':
      return `Send a picture in which the face is clearly visible as ${failure.errors.map(({ field }) => field).join(' and ')}.`;
    case 'face_index_out_of_range':
      return `Choose a face of ${failure.field} from 0 to ${failure.faces_found - 1}, or -1 for automatic choice.`;
  }
}
