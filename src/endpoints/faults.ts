import type { Analysis, Failure, NativeFailure } from '../engine/addon.ts';
import { kindWords } from '../engine/file-kind.ts';
import { type ErrorCode, Problem } from '../errors.ts';

/** What is wrong with the images of a request. */

/** Problems of a single image; two images may have one each. */
export const imageFaults = [
  'unsupported_image_format',
  'image_decode_failed',
  'image_dimensions',
  'image_too_complex',
  'no_face_found',
  'face_index_out_of_range',
] as const satisfies readonly ErrorCode[];

/** What is wrong with one image of a request. */
export type ImageFault = { field: string } & (
  | Exclude<Failure, { code: 'internal_error' }>
  | { code: 'no_face_found'; look_cut_short?: true | undefined }
  | { code: 'face_index_out_of_range'; faces_found: number; index: number }
);

/** The fault of an image whose face `index` is wanted (-1: any); at most one. Throws an Error for an internal failure. */
export function faultsOf(field: string, outcome: Analysis | NativeFailure, index: number): ImageFault[] {
  if (!outcome.ok) {
    if (outcome.code === 'internal_error') throw new Error(outcome.message);
    const { ok: _, ...failure } = outcome;
    return [{ ...failure, field }];
  }
  const { faces, look_cut_short } = outcome.image;
  if (faces.length === 0) return [{ field, code: 'no_face_found', look_cut_short }];
  if (index >= faces.length)
    return [{ field, code: 'face_index_out_of_range', faces_found: faces.length, index }];
  return [];
}

/** Checked in this order, after everything else that can be wrong with an image. */
const stages: readonly ImageFault['code'][] = ['no_face_found', 'face_index_out_of_range'];

/**
 * Names every image with a fault. Code and members are those of the first image that fails at the earliest stage. `name`
 * is what `detail` calls the image; by default the form's field.
 */
export function problemOf(faults: readonly ImageFault[], name?: string): Problem {
  const stage = (fault: ImageFault) => stages.indexOf(fault.code);
  const [main] = faults.toSorted((a, b) => stage(a) - stage(b));
  const errors = faults.map(membersOf);
  const detail = detailsOf(faults, name);
  const { code, ...members } = membersOf(main!);
  const reason = reasonOf(main!);
  if (code === 'no_face_found') return new Problem(code, { detail, errors }, reason);
  return new Problem(code, { detail, ...members, ...(faults.length > 1 ? { errors } : {}) }, reason);
}

/** For the log: what is wrong with the image as a file, and nothing of what it shows. */
function reasonOf(fault: ImageFault): string | undefined {
  switch (fault.code) {
    case 'unsupported_image_format':
      return fault.detected;
    case 'image_decode_failed':
      return fault.reason;
    case 'image_dimensions':
      return `${fault.width} × ${fault.height} pixels`;
    case 'no_face_found':
      return fault.look_cut_short && 'the search was stopped';
    default:
      return undefined;
  }
}

/** What `detail` or the log alone says. */
const inWords = { look_cut_short: undefined, beginning: undefined, index: undefined, reason: undefined };

function membersOf(fault: ImageFault) {
  const { look_cut_short: _, beginning: __, index: ___, reason: ____, ...members } = { ...inWords, ...fault };
  return members;
}

function detailsOf(faults: readonly ImageFault[], name: string | undefined): string {
  const faceless = faults.filter((fault) => fault.code === 'no_face_found');
  const others = faults
    .filter((fault) => fault.code !== 'no_face_found')
    .map((fault) => detailOf(fault, name));
  if (faceless.length === 0) return others.join(' ');
  const fields = faceless.map(({ field }) => field).join(' and ');
  const cut = faceless.filter(({ look_cut_short }) => look_cut_short).map(({ field }) => field);
  const short =
    cut.length > 0 ? [`The search for faces in ${cut.join(' and ')} was stopped: it took too long.`] : [];
  return [...others, `Send an image in which the face is clearly visible as ${fields}.`, ...short].join(' ');
}

function detailOf(fault: Exclude<ImageFault, { code: 'no_face_found' }>, name = fault.field): string {
  switch (fault.code) {
    case 'unsupported_image_format':
      return `Send ${name} as JPEG, PNG or WebP; this one ${kindWords(fault)}`;
    case 'image_decode_failed':
      return `Send ${name} again: the image is damaged or cut short.`;
    case 'image_dimensions':
      return (
        `Scale ${name}: ${fault.width} × ${fault.height} pixels are out of range; at most ` +
        `${fault.limit_pixels} pixels in all are taken, 65535 on a side, and a shortest side that still shows a face.`
      );
    case 'image_too_complex':
      return `Save ${name} again, as an ordinary JPEG or with fewer pixels: decoding it takes too long.`;
    case 'face_index_out_of_range':
      return `Choose a face of ${name} from 0 to ${fault.faces_found - 1}, or -1 for automatic choice; there is no face ${fault.index}.`;
  }
}
