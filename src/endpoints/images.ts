import type { EndpointId } from '../config/config.ts';
import type { Timings } from './answer.ts';
import type { Answered, Decision, FieldRule, Fields, ImageCounts, ImageRule } from './endpoint.ts';
import type { Image } from './face.ts';
import { type AskedFace, refusalOfFaces } from './face-quality.ts';
import { type ImageFault, problemOf } from './faults.ts';
import { type MatchOptions, optionEntries, type ValueRule } from './options.ts';
import type { Warning } from './warnings.ts';

/** What endpoints that take images have in common: their fields, and what is counted and refused. */

export const imageRule = (which: string): ImageRule => ({
  kind: 'image',
  description: `${which} image: JPEG, PNG or WebP, recognised by content`,
});

export const optionsOf = (id: EndpointId): Readonly<Record<string, ValueRule>> =>
  Object.fromEntries(optionEntries.filter(([, { endpoints }]) => endpoints.includes(id)));

/** The rule of a field by its name; undefined when there is none. */
export function ruleOf(name: string, fields: Fields): FieldRule | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The fields that have to be sent: images, and what the server itself issued. */
export function requiredFields(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => ['image', 'token'].includes(fields[name]!.kind));
}

/** The image fields, all required, in the order in which they are checked. */
export function imageFields(fields: Fields): string[] {
  return Object.keys(fields).filter((name) => fields[name]!.kind === 'image');
}

export const mostOf = (rule: FieldRule | undefined): number =>
  rule?.kind === 'image' ? (rule.most ?? 1) : 1;

export const leastOf = (rule: FieldRule | undefined): number =>
  rule?.kind === 'image' ? (rule.least ?? 1) : 1;

export function imageCounts({ faces }: Pick<Image, 'faces'>): ImageCounts {
  return { faces: faces.length, found_by: faces[0]?.found_by ?? 'none' };
}

/** The face of an image that an answer is about. */
export function askedFace(field: string, { faces, face_index }: Image): AskedFace {
  return { field, face: faces[face_index]! };
}

/** Refuses faulty images. Those without a face are counted; nothing is known of the others. */
export function refusalOf(faults: readonly ImageFault[]): Answered {
  const faceless = faults.filter(({ code }) => code === 'no_face_found');
  return { refusal: problemOf(faults), counts: faceless.map(() => imageCounts({ faces: [] })) };
}

/** The answer, or a refusal of its faces where the client asked for that: then no comparison counts, for the client gets none. */
export function answerUnlessRefused(
  body: { warnings: readonly Warning[]; timings_ms: Timings },
  options: MatchOptions,
  asked: readonly AskedFace[],
  counts: readonly ImageCounts[],
  decisions: readonly Decision[],
): Answered {
  const refusal = refusalOfFaces(options, body.warnings, asked);
  if (refusal === undefined) return { body, counts, decisions };
  return { refusal, counts, timings_ms: body.timings_ms };
}
