import type { Analysis, Face, Failure, ImageReport, NativeFailure, StageTimings } from '../engine/addon.ts';
import { cosine } from '../engine/cosine.ts';
import { kindWords } from '../engine/not-an-image.ts';
import { Problem } from '../errors.ts';

/** Compares the faces of two analysed images, pair by pair, or says what is wrong with the images. */

export type ImageField = 'image1' | 'image2';

export interface Pair {
  image1_face_index: number;
  image2_face_index: number;
  /** Cosine of the two embeddings, -1..1. */
  similarity: number;
  /** The input of the calibration table. */
  normalised_similarity: number;
}

/** Which faces are compared; -1 is automatic choice. */
export interface FaceChoice {
  image1_face_index: number;
  image2_face_index: number;
  auto_pair_best: boolean;
}

export interface Comparison {
  image1: ImageReport;
  image2: ImageReport;
  /** Every pair that was compared, best first; at least one. */
  pairs: Pair[];
  /** Both images together; 0 for one that was in the embedding cache. */
  timings_ms: StageTimings;
}

/** What is wrong with one image of a request. */
export type ImageFault = { field: string } & (
  | Exclude<Failure, { code: 'internal_error' }>
  | { code: 'no_face_found'; look_cut_short?: true | undefined }
  | { code: 'face_index_out_of_range'; faces_found: number; index: number }
);

/** Compares two images, or returns their faults in the form's order. Throws an Error for an internal failure. */
export function compare(
  outcomes: readonly [Analysis | NativeFailure, Analysis | NativeFailure],
  choice: FaceChoice,
): Comparison | ImageFault[] {
  const [first, second] = outcomes;
  const faults = [
    ...faultsOf('image1', first, choice.image1_face_index),
    ...faultsOf('image2', second, choice.image2_face_index),
  ];
  if (faults.length > 0 || !first.ok || !second.ok) return faults;
  const pairs: Pair[] = [];
  for (const a of chosen(first.image, choice.image1_face_index, choice.auto_pair_best)) {
    for (const b of chosen(second.image, choice.image2_face_index, choice.auto_pair_best)) {
      const similarity = cosine(a.embedding, b.embedding);
      pairs.push({
        image1_face_index: a.index,
        image2_face_index: b.index,
        similarity,
        normalised_similarity: similarity - (a.cohort_score + b.cohort_score) / 2,
      });
    }
  }
  pairs.sort((a, b) => b.normalised_similarity - a.normalised_similarity);
  return {
    image1: first.image,
    image2: second.image,
    pairs,
    timings_ms: sum(first.timings_ms, second.timings_ms),
  };
}

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

/** Automatic choice takes all faces, or without auto_pair_best the largest. */
function chosen({ faces }: ImageReport, index: number, auto_pair_best: boolean): Face[] {
  if (index >= 0) return [faces[index]!];
  return auto_pair_best ? faces : faces.slice(0, 1);
}

export function sum(a: StageTimings, b: StageTimings): StageTimings {
  return {
    decode: a.decode + b.decode,
    detect: a.detect + b.detect,
    align: a.align + b.align,
    embed: a.embed + b.embed,
  };
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
