import { z } from 'zod';
import type { Analysis, Failure, NativeFailure } from '../engine/addon.ts';
import { type Detected, kinds, kindWords } from '../engine/file-kind.ts';
import { errorTable, Problem } from '../errors.ts';
import { count, some, text, word } from './schema.ts';

/** What is wrong with the images of a request. */

/** What a detail calls a photo: that of an index is one of several. `field`: a form's, or a pointer to a member (RFC 6901). */
export function photoName(field: string, index: number | undefined): string {
  if (index === undefined) return field;
  return field.startsWith('/') ? `${field}/${index}` : `${field}[${index}]`;
}

const meanings = Object.fromEntries(
  Object.entries(kinds).map(([name, { meaning }]) => [name, meaning]),
) as Record<Detected, string>;

/** What a client is told of an image, besides its field and the code; `detail` or the log alone says the rest. */
export const faultMembers = {
  detected: word(meanings, 'What the bytes look like.'),
  position: some.describe(
    'With `unsupported_image_format` only: the byte at which a JPEG begins, counted from 0',
  ),
  width: count.describe('Width that the image declares, pixels'),
  height: count.describe('Height that the image declares, pixels'),
  limit_pixels: some.describe('The most pixels, width × height, that are accepted'),
  limit_bytes: some.describe('The most bytes that are accepted'),
  faces_found: count.describe('How many faces were found in the image'),
};

/** What is wrong with one image of a request. */
export type ImageFault = {
  field: string;
  /** Among the photos of one person. */
  photo?: number;
} & (
  | Exclude<Failure, { code: 'internal_error' }>
  | { code: 'no_face_found'; search_timed_out?: true | undefined }
  | { code: 'face_index_out_of_range'; faces_found: number; index: number; last: number }
);

/**
 * The fault of an image whose face `index` is wanted (-1: any); at most one. `photo`: its position among the photos of one person. Throws
 * an Error for an internal failure.
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

/** Checked in this order, after everything else that can be wrong with an image. */
const stages: readonly ImageFault['code'][] = ['no_face_found', 'face_index_out_of_range'];

/** Names every image with a fault. Code and members are those of the first image that fails at the earliest stage. */
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

/** What a result has in place of a comparison, like the problem of a request; its schema has a code and further members. */
export const problemMembers = {
  status: z.int().describe('The HTTP status that stands for it'),
  title: text('What is wrong, the same text each time'),
  detail: text('What to do about it, for people'),
};

export function problemBody({ code, status, message }: Problem) {
  return { code, status, title: errorTable[code].title, detail: message };
}

/** The log is told what is wrong with the image as a file, and nothing of what it shows. */
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

const told = new Set(['field', 'code', ...Object.keys(faultMembers)]);

function membersOf(fault: ImageFault): Pick<ImageFault, 'field' | 'code'> {
  const members = Object.entries(fault).filter(([name, value]) => told.has(name) && value !== undefined);
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
    cut.length > 0 ? [`The search for faces in ${cut.join(' and ')} was stopped: it took too long.`] : [];
  return [...others, detailOf(first, fields), ...short].join(' ');
}

function detailOf(fault: ImageFault, image = photoName(fault.field, fault.photo)): string {
  const kind = fault.code === 'unsupported_image_format' ? kindWords(fault) : '';
  const words: Readonly<Record<string, unknown>> = { ...fault, image, kind };
  return errorTable[fault.code].ofImage.replaceAll(/\{(\w+)\}/g, (...[, name]) => String(words[name]));
}
