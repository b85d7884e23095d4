import type { Face } from '../engine/addon.ts';
import { Problem } from '../errors.ts';
import { photoName } from './faults.ts';
import type { MatchOptions } from './options.ts';

/** Warnings about faces of low quality, for which the FNMR is higher. They never change the verdict. */

interface LowQualityFace {
  code: 'low_quality_face';
  /** Form field of the image. Without `face_index`, the warning is about its compared face. */
  field: string;
  /** Index of the image among the photos of one person. */
  index?: number;
  /** Index of a face to embed. */
  face_index?: number;
  reason: QualityReason;
  /** The measured value and how to improve it. */
  detail: string;
}

type MeasuredFace = Pick<Face, 'pose' | 'quality' | 'occlusion_score'>;

interface QualityLimit {
  reason: string;
  /** Completes the sentence "the face is …". */
  words: string;
  /** Name of the response member with the measured value. */
  member: string;
  measured(face: MeasuredFace): number;
  /** Minimum or maximum value without a warning. */
  min?: number;
  max?: number;
  unit?: string;
  fix: string;
}

const maxYaw = 45;

/** Beyond each measured limit the FNMR is at least twice as high; docs/images.md has the figures. */
const limits = [
  {
    reason: 'small',
    words: 'too small',
    member: 'face_pixels',
    measured: ({ quality }) => quality.face_pixels,
    min: 36,
    unit: ' pixels',
    fix: 'Send a larger image, or move closer to the camera',
  },
  {
    reason: 'blurred',
    words: 'blurred',
    member: 'sharpness',
    measured: ({ quality }) => quality.sharpness,
    min: 0.55,
    fix: 'Send an image that is in focus, without motion blur, and not enlarged',
  },
  {
    reason: 'bright',
    words: 'overexposed',
    member: 'brightness',
    measured: ({ quality }) => quality.brightness,
    max: 0.8,
    fix: 'Send an image with less light on the face, or a shorter exposure',
  },
  {
    reason: 'turned',
    words: 'turned to the side',
    member: 'yaw',
    measured: ({ pose }) => Math.abs(pose.yaw),
    max: maxYaw,
    unit: ' degrees',
    fix: 'Send an image in which the person looks into the camera',
  },
  {
    reason: 'occluded',
    words: 'covered over nose and mouth',
    member: 'occlusion_score',
    measured: ({ occlusion_score }) => occlusion_score ?? 0,
    max: 0,
    fix: 'Send an image without a mask, a scarf or a hand over nose and mouth',
  },
  {
    reason: 'printed',
    words: 'a print with visible dots',
    member: 'dot_pitch_px',
    measured: ({ quality }) => quality.dot_pitch_px,
    max: 0,
    unit: ' pixels',
    fix: 'Send a photo of the person, not of a print, a fax or a photocopy',
  },
  {
    reason: 'distorted',
    words: 'squeezed or stretched',
    member: 'stretch_ratio',
    // Unreliable at larger angles, where the face gets the warning `turned`.
    measured: ({ pose, quality }) => (Math.abs(pose.yaw) > maxYaw ? 1 : quality.stretch_ratio),
    max: 1.25,
    fix: 'Send the image with its original aspect ratio',
  },
] as const satisfies readonly QualityLimit[];

export type QualityReason = (typeof limits)[number]['reason'];
export const qualityLimits: readonly (QualityLimit & { reason: QualityReason })[] = limits;
export const qualityReasonNames = qualityLimits.map(({ reason }) => reason);

/**
 * Returns one warning for each value of a compared face that is beyond its limit. `face` must have the rounded numbers
 * of the response, so that clients can repeat the check. `index`: index of the image among the photos of one person.
 */
export function lowQuality(field: string, face: MeasuredFace, index?: number): LowQualityFace[] {
  const place = index === undefined ? { field } : { field, index };
  return warningsAt(place, `The face compared in ${photoName(field, index)}`, face);
}

/** Does the same for a face to embed, of which an image may have several. */
export function lowQualityToEmbed(field: string, face: MeasuredFace & { index: number }): LowQualityFace[] {
  return warningsAt({ field, face_index: face.index }, `Face ${face.index} of ${field}`, face);
}

type Place = Omit<LowQualityFace, 'code' | 'reason' | 'detail'>;

/** `subject`: name of the face in messages, at the start of a sentence. */
function warningsAt(place: Place, subject: string, face: MeasuredFace): LowQualityFace[] {
  return qualityLimits.flatMap(({ reason, words, member, measured, min, max, unit = '', fix }) => {
    const value = measured(face);
    const side =
      min !== undefined && value < min ? 'below' : max !== undefined && value > max ? 'beyond' : '';
    if (side === '') return [];
    const limit = `${side} ${min ?? max}${unit}`;
    const detail =
      `${subject} is ${words}: its ${member} is ${value}; ${limit} the same person is recognised less often. ` +
      `${fix}.`;
    return { code: 'low_quality_face', ...place, reason, detail };
  });
}

/** A compared face and its image. */
export interface CheckedFace {
  field: string;
  /** Index of the image among the photos of one person. */
  photo?: number;
  face: { index: number; live_score?: number };
}

/**
 * Returns the problem of low-quality faces, or else of likely presentation attacks, if the options reject them.
 * Returns undefined if all faces pass.
 */
export function rejectionOfFaces(
  options: Pick<MatchOptions, 'reject_low_quality' | 'reject_presentation_attack' | 'live_threshold'>,
  warnings: readonly { code: string }[],
  checkedFaces: readonly CheckedFace[],
): Problem | undefined {
  const lowQualityWarnings = warnings.filter(({ code }) => code === 'low_quality_face') as LowQualityFace[];
  if (options.reject_low_quality && lowQualityWarnings.length > 0)
    return lowQualityProblem(lowQualityWarnings);
  const { reject_presentation_attack, live_threshold } = options;
  const attacks = checkedFaces.flatMap(({ field, photo, face: { index, live_score } }) =>
    live_score !== undefined && live_score < live_threshold
      ? [{ field, ...(photo === undefined ? {} : { index: photo }), face_index: index, live_score }]
      : [],
  );
  if (!reject_presentation_attack || attacks.length === 0) return undefined;
  const fields = [...new Set(attacks.map(({ field }) => field))].join(' and ');
  return new Problem('presentation_attack', {
    detail: `Take a new photo of the person for ${fields}. The face may be on a photo or a screen: its live_score is below ${live_threshold}.`,
    errors: attacks,
  });
}

function lowQualityProblem(warnings: readonly LowQualityFace[]): Problem {
  const reasons = new Map<string, { place: Place; reasons: QualityReason[] }>();
  for (const { code: _code, reason, detail: _detail, ...place } of warnings) {
    const key = JSON.stringify(place);
    reasons.set(key, { place, reasons: [...(reasons.get(key)?.reasons ?? []), reason] });
  }
  return new Problem('low_quality_face', {
    detail: warnings.map(({ detail }) => detail).join(' '),
    errors: [...reasons.values()].map(({ place, reasons }) => ({ ...place, reasons })),
  });
}
