import type { z } from 'zod';
import { type ImageReport, maxFaces } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { ImageField } from '../scoring/similarity.ts';
import { betterFaceText, notLargestText } from '../words/faces.ts';
import { type Face, type Image, round } from './face.ts';
import { lowQuality, type QualityReason, qualityLimits } from './face-quality.ts';
import { photoName } from './faults.ts';
import { count, object, positive, text, word } from './schema.ts';

/** Warnings about accepted requests that may differ from the client's intention. */

/** Description of each reason, with the response member and its limit. */
export const qualityReasons = Object.fromEntries(
  qualityLimits.map(({ reason, words, member, min, max, unit = '' }) => {
    const limit = min !== undefined ? `below ${min}` : `${member === 'yaw' ? 'beyond' : 'above'} ${max}`;
    return [reason, `${words} (${member} ${limit}${unit})`];
  }),
) as Record<QualityReason, string>;

export const warningCodes = {
  unknown_field: 'The field is unknown to this endpoint and was ignored',
  query_parameter_ignored: 'A request field was sent as a query parameter and ignored; send it in the body',
  threshold_below_one:
    '`threshold_percent` is between 0 and 1; it may be a fraction (0.7) instead of a percentage (70)',
  search_timed_out: 'The search for faces reached its limit and was stopped; there may be more faces',
  faces_omitted: `The list of faces is incomplete: there are more than ${maxFaces}, or the search was stopped`,
  not_the_largest_face:
    'The compared face is not the largest of its image and was not selected by index. In match_person and match_live, ' +
    'which compare the largest face of each photo, another face agrees better with the other photos',
  photos_disagree: 'A photo does not agree with the others on its side and may show someone else',
  multi_photo_uncalibrated: 'The pack has no multi-photo calibration; the rate is a conservative estimate',
  low_quality_face:
    'The quality of the compared or embedded face is low; the same person is recognised less often',
  multiple_comparisons:
    'More than one image matched; if you use only the best, multiply its `false_match_rate` by the number of images',
  uncalibrated:
    'The pack is not calibrated: `confidence_percent` is 40 × `similarity`, whatever the number of pairs',
};

export const Warning = object(
  'A warning about an accepted request that may not be what you intended. It never changes the verdict.',
  {
    code: word(warningCodes, 'Code of the warning.'),
    field: text(
      'Name of the field. With `search_timed_out`, `faces_omitted`, `not_the_largest_face` and `low_quality_face`: the image. ' +
        'With `uncalibrated` and `multi_photo_uncalibrated`: `model`',
    ),
    index: count
      .describe(
        'In match_person, match_live and match_embeddings: zero-based index of the photo or embedding within its field',
      )
      .exactOptional(),
    face_index: count
      .describe(
        'With `not_the_largest_face`: the compared face; in match_person and match_live, the face that agrees better. ' +
          'With `low_quality_face` in embed: the face',
      )
      .exactOptional(),
    faces_omitted: positive
      .describe('With `faces_omitted` only: number of omitted faces; absent if the search was stopped')
      .exactOptional(),
    reason: word(qualityReasons, 'With `low_quality_face` only: the reason.').exactOptional(),
    detail: text('Explanation: the cause and how to fix it'),
  },
);
export type Warning = z.infer<typeof Warning>;

/** Returns the warnings that do not depend on the faces. `photos`: number of photos on the larger side. */
export function requestWarnings(
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

/** Warns if the pack has no calibration table. */
function uncalibrated({ measured }: Calibration, { pack }: { pack: string }): Warning[] {
  if (measured) return [];
  const detail =
    `The pack ${pack} is not calibrated: its false match rate is unknown. ` +
    'confidence_percent is 40 × similarity, whatever the number of pairs; facematch calibrate measures a table.';
  return [{ code: 'uncalibrated', field: 'model', detail }];
}

/** Warns if the list of faces is, or may be, incomplete. */
export function incomplete(
  field: string,
  { search_timed_out, faces_omitted }: ImageReport,
  index?: number,
): Warning[] {
  const name = photoName(field, index);
  const place = index === undefined ? { field } : { field, index };
  if (search_timed_out) {
    const detail = `The search for faces in ${name} reached its limit and was stopped: faces may be missing from the list. Send a smaller image.`;
    return [
      { code: 'search_timed_out', ...place, detail },
      {
        code: 'faces_omitted',
        ...place,
        detail: `The list of faces in ${name} may be incomplete: the search was stopped.`,
      },
    ];
  }
  if (faces_omitted === undefined) return [];
  const detail =
    `Only the ${maxFaces} largest faces of ${name} are listed, and ${faces_omitted} are omitted. ` +
    'Crop the image into parts to get all faces.';
  return [{ code: 'faces_omitted', ...place, faces_omitted, detail }];
}

/** Warns if the threshold looks like a fraction of 1, which other services expect. */
function thresholdBelowOne(threshold_percent: number): Warning[] {
  if (threshold_percent <= 0 || threshold_percent >= 1) return [];
  const detail =
    `The threshold is ${threshold_percent} %, which nearly all pairs of different people reach. The range is 0 to 100: ` +
    `did you send a fraction instead of a percentage (${round(100 * threshold_percent, 4)})?`;
  return [{ code: 'threshold_below_one', field: 'threshold_percent', detail }];
}

const area = ({ box }: Face) => box.width * box.height;

/**
 * Warns if the compared face was selected automatically and the image has a face with a larger box. `chosen`: the
 * index in the request, or -1.
 */
export function notTheLargest(field: ImageField, { faces, face_index }: Image, chosen: number): Warning[] {
  const compared = area(faces[face_index]!);
  if (chosen >= 0 || faces.every((face) => area(face) <= compared)) return [];
  const detail = `${notLargestText(field)} To compare only the largest face of each image, send auto_pair_best=false to the advanced endpoint.`;
  return [{ code: 'not_the_largest_face', field, face_index, detail }];
}

/** Warns in match_person and match_live if another face of a photo agrees better than the compared face, the largest. */
export function betterFace(field: string, index: number, best_face: number): Warning[] {
  if (best_face === 0) return [];
  const detail = betterFaceText(photoName(field, index), `face ${best_face}`);
  return [{ code: 'not_the_largest_face', field, index, face_index: best_face, detail }];
}

/**
 * Warns if several photos are compared with a pack that was calibrated for single photos. `photos`: number of
 * photos on the larger side.
 */
function photosUnmeasured(
  { measured, photosMeasured }: Calibration,
  { pack }: { pack: string },
  photos: number,
): Warning[] {
  if (!measured || photosMeasured || photos === 1) return [];
  const detail = `The pack ${pack} was calibrated for single photos. For several photos the percent is a conservative estimate; facematch calibrate measures the exact scale.`;
  return [{ code: 'multi_photo_uncalibrated', field: 'model', detail }];
}

/** Warns about the compared face. `chosen`: the index in the request, or -1. */
export function comparedFace(field: ImageField, image: Image, chosen: number): Warning[] {
  return [...notTheLargest(field, image, chosen), ...lowQuality(field, image.faces[image.face_index]!)];
}

export function bestOfMany(targets: number): Warning {
  const detail =
    'Each result is for one comparison. If you use only the best of them, multiply its false_match_rate by ' +
    `${targets}, because each comparison is a chance of a false match.`;
  return { code: 'multiple_comparisons', field: 'image2', detail };
}
