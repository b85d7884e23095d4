import type { z } from 'zod';
import type { ImageReport } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { ImageField } from '../scoring/similarity.ts';
import { type Face, type Image, maxFaces, round } from './face.ts';
import { lowQuality, type QualityReason, qualityLimits } from './face-quality.ts';
import { photoName } from './faults.ts';
import { largestWords } from './options.ts';
import { count, object, some, text, word } from './schema.ts';

/** What was accepted but may not be what the client meant. */

/** Each reason with its limit, by the member's name. */
export const qualityReasons = Object.fromEntries(
  qualityLimits.map(({ reason, words, member, min, max }) => {
    const limit = min === undefined ? `beyond ${max}` : `below ${min}`;
    return [reason, `${words} (${member} ${limit})`];
  }),
) as Record<QualityReason, string>;

export const warningCodes = {
  unknown_field: 'the endpoint does not know the field, and ignored it',
  query_parameter_ignored:
    'a field of the endpoint stands in the query of the address, where it counts for nothing',
  threshold_below_one: 'the threshold is above 0 and below 1 percent: a share of 1 may be meant',
  search_timed_out: 'the search for faces took too long and was stopped; there may be more faces',
  faces_omitted: `the list of faces is not complete: there are more than ${maxFaces}, or time ran out`,
  not_the_largest_face:
    'the compared face is not the one with the largest box of its image, and was not chosen by its index; in a match of persons, ' +
    'where the largest is compared, another face of the photo agrees better',
  photos_disagree: 'a photo does not agree with the others of its side, and may show somebody else',
  multi_photo_uncalibrated:
    'nobody measured what several photos of a person change with the model pack: the rate is a careful guess',
  low_quality_face: 'the compared face is so poor that the same person is recognised less often',
  multiple_comparisons: 'several images match: if you take only the best, the number of images counts',
  uncalibrated:
    'nobody measured how often strangers score this high with the model pack: the percent is 40 × the similarity, whatever the number of pairs',
};

export const Warning = object(
  'Something that was accepted but may not be what you meant. It never changes the verdict.',
  {
    code: word(warningCodes, 'What it is about.'),
    field: text(
      'Name of the field; with `search_timed_out`, `faces_omitted`, `not_the_largest_face` and `low_quality_face`, the image, whose `face_index` ' +
        'names the face; with `uncalibrated`, `model`',
    ),
    index: count.describe('In a match of persons, the photo among those of its field').exactOptional(),
    face_index: count
      .describe(
        'With `not_the_largest_face` only, the compared face; in a match of persons, the one that agrees better',
      )
      .exactOptional(),
    faces_omitted: some
      .describe('With `faces_omitted` only, how many faces; absent where time ran out')
      .exactOptional(),
    reason: word(qualityReasons, 'With `low_quality_face` only, what the face is.').exactOptional(),
    detail: text('What happened and what to do about it, for people'),
  },
);
export type Warning = z.infer<typeof Warning>;

/** What is said of every question, whatever its faces. `photos`: of the larger side. */
export function questionWarnings(
  { warnings, model }: { warnings: readonly Warning[]; model: { pack: string } },
  threshold_percent: number,
  calibration: Calibration,
  photos = 1,
): Warning[] {
  return [
    ...warnings,
    ...thresholdBelowOne(threshold_percent),
    ...uncalibrated(calibration, model),
    ...photosUnmeasured(calibration, model, photos),
  ];
}

/** A warning when the pack has no table: the answer does not pretend to have one. */
function uncalibrated({ measured }: Calibration, { pack }: { pack: string }): Warning[] {
  if (measured) return [];
  const detail =
    `The pack ${pack} is not calibrated: how often strangers score this high is not known. ` +
    'confidence_percent is 40 × the similarity, whatever the number of pairs; facematch calibrate measures a table.';
  return [{ code: 'uncalibrated', field: 'model', detail }];
}

/** Warnings when there are, or may be, faces that are not listed. */
export function incomplete(
  field: string,
  { search_timed_out, faces_omitted }: ImageReport,
  index?: number,
): Warning[] {
  const name = photoName(field, index);
  const place = index === undefined ? { field } : { field, index };
  if (search_timed_out) {
    const detail = `The search for faces in ${name} took too long and was stopped: it may have faces that are not listed. Send a smaller image.`;
    return [
      { code: 'search_timed_out', ...place, detail },
      { code: 'faces_omitted', ...place, detail: `Not every face of ${name} may be listed: time ran out.` },
    ];
  }
  if (faces_omitted === undefined) return [];
  const detail =
    `${name} has ${faces_omitted} faces more than the ${maxFaces} largest, which are listed: ` +
    'send it in parts to have all of them.';
  return [{ code: 'faces_omitted', ...place, faces_omitted, detail }];
}

/** A warning when the threshold looks like a share of 1, as other services take it. */
function thresholdBelowOne(threshold_percent: number): Warning[] {
  if (threshold_percent <= 0 || threshold_percent >= 1) return [];
  const detail =
    `The threshold is ${threshold_percent} %, which nearly all strangers reach. It runs from 0 to 100: ` +
    `if you mean ${threshold_percent} of 1, it is ${round(100 * threshold_percent, 4)}.`;
  return [{ code: 'threshold_below_one', field: 'threshold_percent', detail }];
}

const area = ({ box }: Face) => box.width * box.height;

/** When a face with a larger box was passed over. `chosen` is the index that the caller gave, -1 for none. */
export function notTheLargest(field: ImageField, { faces, face_index }: Image, chosen: number): Warning[] {
  const compared = area(faces[face_index]!);
  if (chosen >= 0 || faces.every((face) => area(face) <= compared)) return [];
  const detail = `${largestWords(field)} auto_pair_best=false, of the advanced endpoint, compares the first face of each image alone.`;
  return [{ code: 'not_the_largest_face', field, face_index, detail }];
}

/** In a match of persons the largest face of each photo counts; a warning when another fits better. */
export function notInFront(field: string, index: number, best_face: number): Warning[] {
  if (best_face === 0) return [];
  const detail =
    `The largest face of ${photoName(field, index)} was compared, but face ${best_face} of it agrees better: the person you mean may ` +
    'stand behind somebody else. Send a photo in which they are alone or in front.';
  return [{ code: 'not_the_largest_face', field, index, face_index: best_face, detail }];
}

/** A warning when several photos are compared with a pack that has measured pairs alone. `photos`: of the larger side. */
function photosUnmeasured(
  { measured, photosMeasured }: Calibration,
  { pack }: { pack: string },
  photos: number,
): Warning[] {
  if (!measured || photosMeasured || photos === 1) return [];
  const detail = `The pack ${pack} was calibrated for single photos: the percent of several is a careful guess. facematch calibrate measures it.`;
  return [{ code: 'multi_photo_uncalibrated', field: 'model', detail }];
}

/** Warnings about the face that was compared; `chosen` is the index that the caller gave, -1 for none. */
export function comparedFace(field: ImageField, image: Image, chosen: number): Warning[] {
  return [...notTheLargest(field, image, chosen), ...lowQuality(field, image.faces[image.face_index]!)];
}

export function bestOfMany(targets: number): Warning {
  const detail =
    'Each result stands for one comparison. If you take only the best of them, multiply its false_match_rate by ' +
    `${targets}: there were several chances of a false match.`;
  return { code: 'multiple_comparisons', field: 'image2', detail };
}
