import { z } from 'zod';
import type { Analysis, Failure, NativeFailure } from '../engine/addon.ts';
import { type Detected, kinds, kindText } from '../engine/file-kind.ts';
import { errorTable, Problem } from '../errors.ts';
import { count, positive, text, word } from './schema.ts';

/** Errors of the images of a request. */

/**
 * Name of a photo in messages. `field`: a form field, or a JSON pointer (RFC 6901); `index`: set for one of
 * several photos.
 */
export function photoName(field: string, index: number | undefined): string {
  if (index === undefined) return field;
  return field.startsWith('/') ? `${field}/${index}` : `${field}[${index}]`;
}

const meanings = Object.fromEntries(
  Object.entries(kinds).map(([name, { meaning }]) => [name, meaning]),
) as Record<Detected, string>;

/** Members of an image error besides field and code. Other facts are in `detail` or only in the log. */
export const faultMembers = {
  detected: word(meanings, 'Detected kind of file.'),
  position: positive.describe(
    'With `unsupported_image_format` only: zero-based byte offset at which a JPEG begins',
  ),
  width: count.describe('Declared width in pixels'),
  height: count.describe('Declared height in pixels'),
  limit_pixels: positive.describe('Maximum number of pixels (width × height)'),
  limit_bytes: positive.describe('Maximum size in bytes'),
  faces_found: count.describe('Number of faces found in the image'),
};

/** An error of one image of a request. */
export type ImageFault = {
  field: string;
  /** Index among the photos of one person. */
  photo?: number;
} & (
  | Exclude<Failure, { code: 'internal_error' }>
  | { code: 'no_face_found'; search_timed_out?: true | undefined }
  | { code: 'face_index_out_of_range'; faces_found: number; index: number; last: number }
);

/**
 * Returns the error of an image, or an empty list. `index`: the requested face, or -1 for any. `photo`: position
 * among the photos of one person. Throws an Error for an internal failure.
 */
export function faultsOf(
  field: string,
  outcome: Analysis | NativeFailure,
  index: number,
  photo?: number,
): ImageFault[] {
  const place = photo === undefined ? { field } : { field, photo };
  if (!outcome.ok) {
    if (outcome.code === 'internal_error') throw new Error(outcome.message);
    return [{ ...outcome, ...place }];
  }
  const { faces, search_timed_out } = outcome.image;
  if (faces.length === 0) return [{ ...place, code: 'no_face_found', search_timed_out }];
  const faces_found = faces.length;
  if (index < faces_found) return [];
  return [{ field, code: 'face_index_out_of_range', faces_found, index, last: faces_found - 1 }];
}

/** Codes that are checked last, in this order. */
const stages: readonly ImageFault['code'][] = ['no_face_found', 'face_index_out_of_range'];

/**
 * Builds the problem that lists every image with an error. Code and members are those of the first image that
 * fails at the earliest stage.
 */
export function problemOf(faults: readonly ImageFault[]): Problem {
  const stage = (fault: ImageFault) => stages.indexOf(fault.code);
  const [main] = faults.toSorted((a, b) => stage(a) - stage(b));
  const errors = faults.map((fault) => ({
    ...membersOf(fault),
    ...(fault.photo === undefined ? {} : { index: fault.photo }),
  }));
  const isOfSeveral = faults.length > 1 || faults.some(({ photo }) => photo !== undefined);
  const detail = detailsOf(faults);
  const { code, ...members } = membersOf(main!);
  const reason = reasonOf(main!);
  if (code === 'no_face_found') return new Problem(code, { detail, errors }, reason);
  return new Problem(code, { detail, ...members, ...(isOfSeveral ? { errors } : {}) }, reason);
}

/** Members of a problem inside a result. The result's schema adds a code and further members. */
export const problemMembers = {
  status: z.int().describe('HTTP status that the error would have as a response'),
  title: text('Short summary, the same for every occurrence'),
  detail: text('Explanation of the error and how to fix it'),
};

export function problemBody({ code, status, message }: Problem) {
  return { code, status, title: errorTable[code].title, detail: message };
}

/** Returns the reason for the log, which never reveals the content of the image. */
function reasonOf(fault: ImageFault): string | undefined {
  switch (fault.code) {
    case 'unsupported_image_format':
      return fault.detected;
    case 'image_decode_failed':
      return fault.reason;
    case 'image_dimensions':
      return `${fault.width} × ${fault.height} pixels`;
    case 'no_face_found':
      return fault.search_timed_out && 'the search was stopped';
    default:
      return undefined;
  }
}

const shownMembers = new Set(['field', 'code', ...Object.keys(faultMembers)]);

function membersOf(fault: ImageFault): Pick<ImageFault, 'field' | 'code'> {
  const members = Object.entries(fault).filter(
    ([name, value]) => shownMembers.has(name) && value !== undefined,
  );
  return Object.fromEntries(members) as unknown as Pick<ImageFault, 'field' | 'code'>;
}

function detailsOf(faults: readonly ImageFault[]): string {
  const faceless = faults.filter((fault) => fault.code === 'no_face_found');
  const others = faults.filter((fault) => fault.code !== 'no_face_found').map((fault) => detailOf(fault));
  const [first] = faceless;
  if (first === undefined) return others.join(' ');
  const nameOf = ({ field, photo }: ImageFault) => photoName(field, photo);
  const fields = faceless.map(nameOf).join(' and ');
  const cut = faceless.filter(({ search_timed_out }) => search_timed_out).map(nameOf);
  const short =
    cut.length > 0 ? [`The search for faces in ${cut.join(' and ')} reached its limit and was stopped.`] : [];
  return [...others, detailOf(first, fields), ...short].join(' ');
}

function detailOf(fault: ImageFault, image = photoName(fault.field, fault.photo)): string {
  const kind = fault.code === 'unsupported_image_format' ? kindText(fault) : '';
  const words: Readonly<Record<string, unknown>> = { ...fault, image, kind };
  return errorTable[fault.code].ofImage.replaceAll(/\{(\w+)\}/g, (...[, name]) => String(words[name]));
}
