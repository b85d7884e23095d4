import type { EndpointId } from '../config/config.ts';
import type { Decision, FieldRule, Fields, HandlerResult, ImageCounts, ImageRule } from './endpoint.ts';
import type { Image } from './face.ts';
import { type CheckedFace, rejectionOfFaces } from './face-quality.ts';
import { type ImageFault, problemOf } from './faults.ts';
import { type MatchOptions, optionEntries, type ValueRule } from './options.ts';
import type { Timings } from './response-members.ts';
import type { Warning } from './warnings.ts';

/** Shared parts of the endpoints that accept images: fields, counts and rejections. */

/** `what`: a noun phrase that begins the description, such as "The first image". */
export const imageRule = (what: string): ImageRule => ({
  kind: 'image',
  description: `${what}: JPEG, PNG or WebP, detected from the content`,
});

export const optionsOf = (id: EndpointId): Readonly<Record<string, ValueRule>> =>
  Object.fromEntries(optionEntries.filter(([, { endpoints }]) => endpoints.includes(id)));

/** Returns the rule of a field, or undefined if the endpoint has no such field. */
export function ruleOf(name: string, fields: Fields): FieldRule | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Returns the names of the required fields: the images and the token. */
export function requiredFields(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => ['image', 'token'].includes(fields[name]!.kind));
}

/** Returns the names of the image fields, in the order in which they are checked. All are required. */
export function imageFields(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.kind === 'image');
}

export const maxOf = (rule: FieldRule | undefined): number => (rule?.kind === 'image' ? (rule.max ?? 1) : 1);

export const minOf = (rule: FieldRule | undefined): number => (rule?.kind === 'image' ? (rule.min ?? 1) : 1);

export function imageCounts({ faces }: Pick<Image, 'faces'>): ImageCounts {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}

/** Returns the compared face of an image. */
export function checkedFace(field: string, { faces, face_index }: Image): CheckedFace {
  return { field, face: faces[face_index]! };
}

/** Rejects images with errors. Counts only the images without a face. */
export function rejectionOf(faults: readonly ImageFault[]): HandlerResult {
  const faceless = faults.filter(({ code }) => code === 'no_face_found');
  return { rejection: problemOf(faults), counts: faceless.map(() => imageCounts({ faces: [] })) };
}

/** Returns the response, or a rejection if the options reject a checked face. */
export function responseUnlessRejected(
  body: { warnings: readonly Warning[]; timings_ms: Timings },
  options: MatchOptions,
  checkedFaces: readonly CheckedFace[],
  counts: readonly ImageCounts[],
  decisions: readonly Decision[],
): HandlerResult {
  const rejection = rejectionOfFaces(options, body.warnings, checkedFaces);
  if (rejection === undefined) return { body, counts, decisions };
  return { rejection, counts, timings_ms: body.timings_ms };
}
