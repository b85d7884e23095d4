import type { Face, ImageField } from '../engine/addon.ts';
import { Problem } from '../errors.ts';

/**
 * When a compared face is so poor that the same person is recognised less often. A warning never changes the verdict:
 * poor pictures lower the confidence by themselves. Who enrols people may have such a match refused instead.
 */

export type QualityReason = 'small' | 'blurred' | 'dark' | 'bright' | 'turned';

export interface LowQualityFace {
  code: 'low_quality_face';
  /** The picture. The face is the one that its `face_index` names. */
  field: ImageField;
  reason: QualityReason;
  /** What was measured, and what to do about it. */
  detail: string;
}

type Judged = Pick<Face, 'pose' | 'quality'>;

interface QualityLimit {
  reason: QualityReason;
  /** The member of a face that is judged, in the answer's words. */
  member: string;
  measured(face: Judged): number;
  /** The least or the most that is let pass. */
  least?: number;
  most?: number;
  unit: string;
  advice: string;
}

const lookIntoCamera = 'Send a picture in which the person looks into the camera';

/**
 * A limit lies where at least twice as many same-person pairs as usual stay below 70 percent, the default threshold.
 * `node bench/face-quality.mjs` prints the tables; beside each limit stands the share of pairs of lfw-dev that still
 * reach 70 percent in the first step beyond it, mode balance. Of the photos as they are, 95 in 100 do.
 */
export const qualityLimits: readonly QualityLimit[] = [
  {
    reason: 'small',
    member: 'face_pixels',
    measured: ({ quality }) => quality.face_pixels,
    // 82 in 100 from 32 to 40 pixels; 39 at 24
    least: 40,
    unit: ' pixels',
    advice: 'Send a larger picture, or one taken from nearer',
  },
  {
    reason: 'blurred',
    member: 'sharpness',
    measured: ({ quality }) => quality.sharpness,
    // 50 in 100 from 0.50 to 0.55; 31 from 0.45 on
    least: 0.55,
    unit: '',
    advice: 'Send a picture that is in focus, not shaken, and not enlarged',
  },
  {
    reason: 'dark',
    member: 'brightness',
    measured: ({ quality }) => quality.brightness,
    // 86 in 100 from 0.08 to 0.12; below 0.08 many a face is no longer found
    least: 0.12,
    unit: '',
    advice: 'Send a picture with more light on the face',
  },
  {
    reason: 'bright',
    member: 'brightness',
    measured: ({ quality }) => quality.brightness,
    // 77 in 100 from 0.80 to 0.85; 56 from 0.90 on
    most: 0.8,
    unit: '',
    advice: 'Send a picture with less light on the face, or a shorter exposure',
  },
  {
    reason: 'turned',
    member: 'yaw',
    measured: ({ pose }) => Math.abs(pose.yaw),
    // 88 in 100 from 35 to 45 degrees; 98 from 30 to 35
    most: 35,
    unit: ' degrees',
    advice: lookIntoCamera,
  },
  {
    reason: 'turned',
    member: 'pitch',
    measured: ({ pose }) => Math.abs(pose.pitch),
    // 76 in 100 from 25 to 30 degrees; 90 from 20 on
    most: 25,
    unit: ' degrees',
    advice: lookIntoCamera,
  },
];

/** What such a face is, as the end of a sentence. */
export const qualityWords: Readonly<Record<QualityReason, string>> = {
  small: 'too small',
  blurred: 'blurred',
  dark: 'too dark',
  bright: 'overexposed',
  turned: 'turned away from the camera',
};

/**
 * Judges the compared face of one picture by the numbers that the answer tells, so that a client who checks them comes
 * to the same. One warning a reason, in the order of the table.
 */
export function lowQuality(field: ImageField, face: Judged): LowQualityFace[] {
  const warnings = new Map<QualityReason, LowQualityFace>();
  for (const { reason, member, measured, least, most, unit, advice } of qualityLimits) {
    const value = measured(face);
    const side =
      least !== undefined && value < least ? 'below' : most !== undefined && value > most ? 'beyond' : '';
    if (side === '' || warnings.has(reason)) continue;
    const limit = `${side} ${least ?? most}${unit}`;
    const detail =
      `The face compared in ${field} is ${qualityWords[reason]}: its ${member} is ${value}, and ${limit} the same ` +
      `person is recognised less often. ${advice}.`;
    warnings.set(reason, { code: 'low_quality_face', field, reason, detail });
  }
  return [...warnings.values()];
}

/** The refusal that stands for the warnings, for who wants none of them answered; undefined when there are none. */
export function lowQualityProblem(warnings: readonly LowQualityFace[]): Problem | undefined {
  if (warnings.length === 0) return undefined;
  const fields = [...new Set(warnings.map(({ field }) => field))];
  return new Problem('low_quality_face', {
    detail: warnings.map(({ detail }) => detail).join(' '),
    errors: fields.map((field) => ({
      field,
      reasons: warnings.filter((warning) => warning.field === field).map(({ reason }) => reason),
    })),
  });
}
