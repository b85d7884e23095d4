import { z } from 'zod';
import type { Face as Found, FoundBy, ImageFormat, ImageReport } from '../engine/addon.ts';
import { count, listOf, object, optional, share, some, word } from './schema.ts';

/** An image and its faces, as answers have them. */

/** The limit in native/core/types.h. */
export const maxFaces = 100;

const formats: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const foundBy: Record<FoundBy, string> = {
  primary: 'the first one, on the whole image',
  tiled: 'on overlapping tiles, for small faces',
  rotated: 'on the rotated image',
  padded: 'with a border around the image, for faces larger than the frame',
  enhanced: 'with the contrast raised, or the dots of a print merged',
};

export const live_score = share.describe(
  'How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone',
);
const degrees = z.number().min(-180).max(180);
const point = (what: string) =>
  z.tuple([z.number().describe('x'), z.number().describe('y')]).describe(`${what}, pixels`);

export const Face = object(
  'A face. Coordinates are pixels of the upright image, that is after its EXIF orientation; the origin is top left.',
  {
    index: count.describe('Position in the list; what a face index in the form counts'),
    box: object('Where the face is, pixels', {
      x: z.number().describe('Left edge; negative when the face begins outside the image'),
      y: z.number().describe('Upper edge; negative when the face begins outside the image'),
      width: z.number().positive().describe('Width'),
      height: z.number().positive().describe('Height'),
    }),
    landmarks: object("Five points; left and right are the person's own", {
      right_eye: point('Middle of the right eye'),
      left_eye: point('Middle of the left eye'),
      nose: point('Tip of the nose'),
      mouth_right: point('Right corner of the mouth'),
      mouth_left: point('Left corner of the mouth'),
    }),
    detection_score: share.describe(
      'How sure the detector is that this is a face; for a face that the first detection step did not find, in an enlarged crop',
    ),
    found_by: word(foundBy, 'Which detection step found the face:'),
    human_score: optional(
      z.number(),
      "How certainly this is a human face: faces below the pack's threshold are dropped, see `human.bar` in GET models",
    ),
    occlusion_score: optional(
      z.number(),
      'Above 0 nose and mouth are covered, as by a mask; absent when the pack cannot tell',
    ),
    live_score: live_score
      .describe(
        `${live_score.description}. Only where \`detect_presentation_attack\` or \`reject_presentation_attack\` asks for it`,
      )
      .exactOptional(),
    pose: object('How the head is turned, degrees; all zero is straight into the camera', {
      yaw: degrees.describe('Positive: the person looks to their own left'),
      pitch: degrees.describe('Positive: upwards'),
      roll: degrees.describe('Positive: the head leans towards their own left shoulder'),
    }),
    quality: object('Measured quality of the image of the face', {
      sharpness: share.describe(
        'How much detail a further blur would remove (Crete et al. 2007), independent of size, contrast and brightness: ' +
          '0.6 to 0.7 is a sharp photo, below 0.5 is clearly blurred',
      ),
      brightness: share.describe('Mean luma of the face: 0 is black, 1 is white'),
      face_pixels: count.describe('Side of the aligned face, in pixels of the image'),
      dot_pitch: z
        .number()
        .min(0)
        .describe(
          'Of a print, fax or photocopy, pixels of the image from dot to dot, about; 0 for any other',
        ),
      stretch: z
        .number()
        .min(1)
        .describe(
          'By how much the image seems stretched along one axis: 1 is not at all. Measured too large where the head is turned beyond 45 degrees',
        ),
    }),
  },
);

const component = (description: string) => z.int().min(0).max(100).describe(description);

export const DetectedFace = Face.extend({
  quality_components: object(
    'Quality by the names and mappings of ISO/IEC 29794-5 (OFIQ 1.0.3), 100 is best; not conformant, because OFIQ has other landmarks',
    {
      inter_eye_distance: component(
        'Pixels between the eyes, as if the face looked straight: 50 at 70 pixels',
      ),
      head_pose_yaw: component('cos² of the yaw: 50 at 45 degrees'),
      head_pose_roll: component('cos² of the roll: 50 at 45 degrees'),
    },
  ),
}).describe('A face with its quality components.');

export const EmbeddedFace = DetectedFace.extend({
  embedding: optional(
    z.base64(),
    'Only for the faces that were asked for: numbers in the form that `embedding` of the answer describes',
  ),
}).describe('A face with its embedding.');

export const image = {
  width: some.describe('Width of the upright image, pixels'),
  height: some.describe('Height of the upright image, pixels'),
  format: word(formats, 'As recognised by content.'),
  orientation: z.int().min(1).max(8).describe('EXIF orientation of the file; 1 when it has none'),
  min_detectable_face_px: some.describe(
    'Faces were looked for in all of the image whose box has a longer side of at least as many pixels; of smaller ones only some are found',
  ),
};
export const facesOf = <Shape extends z.ZodType>(face: Shape) =>
  listOf(face, `Largest first (area of the box × detection score), at most ${maxFaces}`).max(maxFaces);

export const Image = object('An image and its faces.', {
  ...image,
  faces: facesOf(Face).min(1),
  face_index: count.describe('The face that the answer is about'),
});

export type Face = z.infer<typeof Face>;
export type Image = z.infer<typeof Image>;

/** Decimals of the numbers in a face, by the member that they are, or are in. */
const decimals: Readonly<Record<string, number>> = {
  index: 0,
  box: 1,
  landmarks: 1,
  detection_score: 3,
  human_score: 1,
  occlusion_score: 1,
  live_score: 3,
  pose: 1,
  sharpness: 2,
  brightness: 2,
  face_pixels: 0,
  dot_pitch: 1,
  stretch: 2,
};

/** A value with all numbers in it rounded. */
export function rounded<T>(value: T, digits: number): T {
  if (typeof value === 'number') return round(value, digits) as T;
  if (Array.isArray(value)) return value.map((item) => rounded(item, digits)) as T;
  if (typeof value !== 'object') return value;
  const members: Record<string, unknown> = {};
  for (const name in value) members[name] = rounded(value[name], decimals[name] ?? digits);
  return members as T;
}

const membersOfFace = Object.keys(Face.shape) as (keyof Face)[];

/** The members that the schema has, rounded. */
function faceBody(face: Found): Face {
  const body: Record<string, unknown> = {};
  for (const name of membersOfFace) {
    if (face[name] !== undefined) body[name] = rounded(face[name], decimals[name] ?? 0);
  }
  return body as Face;
}

export function imageBody(report: ImageReport): Omit<Image, 'face_index'> {
  const { width, height, format, orientation, min_detectable_face_px, faces } = report;
  return { width, height, format, orientation, min_detectable_face_px, faces: faces.map(faceBody) };
}

export function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  // Adding 0 turns -0 into 0.
  return Math.round(value * scale) / scale + 0;
}

type Measured = Pick<Found, 'landmarks' | 'pose'>;

/**
 * Quality components of ISO/IEC 29794-5, 0 to 100, by the mappings of its reference implementation OFIQ 1.0.3. Not conformant: OFIQ has
 * other landmarks and pose. Why these of its 28: docs/images.md.
 */
export function qualityComponents({ landmarks, pose }: Measured) {
  const [[x1, y1], [x2, y2]] = [landmarks.right_eye, landmarks.left_eye];
  // A turned head foreshortens the distance; beyond some 85 degrees that says nothing any more.
  const distance = Math.hypot(x2 - x1, y2 - y1) / Math.max(0.1, Math.cos(radians(pose.yaw)));
  return {
    inter_eye_distance: Math.round(100 / (1 + Math.exp((70 - distance) / 20))),
    head_pose_yaw: straightness(pose.yaw),
    head_pose_roll: straightness(pose.roll),
  };
}

export function withQualityComponents<F extends Measured>(faces: readonly F[]) {
  return faces.map((face) => ({ ...face, quality_components: qualityComponents(face) }));
}

const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** OFIQ's cos² rises again beyond 90 degrees, to 100 for a face that is upside down; here it stays 0. */
const straightness = (degrees: number) => Math.round(100 * Math.max(0, Math.cos(radians(degrees))) ** 2);
