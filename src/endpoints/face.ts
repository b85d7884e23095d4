import { z } from 'zod';
import {
  type Face as Found,
  type FoundBy,
  type ImageFormat,
  type ImageReport,
  maxFaces,
} from '../engine/addon.ts';
import { count, listOf, object, optional, positive, share, word } from './schema.ts';

/** Schemas of images and faces in responses. */

const formats: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const foundBy: Record<FoundBy, string> = {
  primary: 'the first pass, on the whole image',
  tiled: 'overlapping tiles, for small faces',
  rotated: 'the rotated image',
  padded: 'the image with a border, for faces that extend beyond it',
  enhanced: 'the image with more contrast, or with the dots of a print merged',
};

export const live_score = share.describe(
  'Score of the liveness model: 1 for a live face, 0 for a face on a photo or a screen. The score is often wrong; never decide on it alone',
);
const degrees = z.number().min(-180).max(180);
const point = (what: string) =>
  z.tuple([z.number().describe('x'), z.number().describe('y')]).describe(`${what}, pixels`);

export const Face = object(
  'A face. Coordinates are in pixels of the upright image (after EXIF orientation); the origin is top left.',
  {
    index: count.describe(
      'Zero-based position in `faces`; use it as `image1_face_index`, `image2_face_index` or `face_index`',
    ),
    box: object('Bounding box in pixels', {
      x: z.number().describe('Left edge; may be negative'),
      y: z.number().describe('Upper edge; may be negative'),
      width: z.number().positive().describe('Width'),
      height: z.number().positive().describe('Height'),
    }),
    landmarks: object("Five facial landmarks; left and right are the person's own", {
      right_eye: point('Centre of the right eye'),
      left_eye: point('Centre of the left eye'),
      nose: point('Tip of the nose'),
      mouth_right: point('Right corner of the mouth'),
      mouth_left: point('Left corner of the mouth'),
    }),
    detection_score: share.describe(
      'Confidence of the detector. For a face of a later pass, it is measured in an enlarged crop',
    ),
    found_by: word(foundBy, 'Detection pass that found the face:'),
    human_score: optional(
      z.number(),
      'Score of the check for human faces. Faces below the threshold of the pack (`human.threshold` in GET models) are dropped',
    ),
    occlusion_score: optional(
      z.number(),
      'Above 0: nose and mouth are covered, as by a mask. Absent if the pack has no occlusion model',
    ),
    live_score: live_score
      .describe(
        `${live_score.description}. Present only with \`detect_presentation_attack\` or \`reject_presentation_attack\``,
      )
      .exactOptional(),
    pose: object('Head pose in degrees; all zero means looking straight into the camera', {
      yaw: degrees.describe('Positive: the person looks to their own left'),
      pitch: degrees.describe('Positive: the person looks up'),
      roll: degrees.describe('Positive: the head leans towards their own left shoulder'),
    }),
    quality: object('Measured quality of the face in the image', {
      sharpness: share.describe(
        'Share of detail that an additional blur would remove (Crete et al. 2007), independent of size, contrast and brightness: ' +
          '0.6 to 0.7 for a sharp photo, below 0.5 for a clearly blurred photo',
      ),
      brightness: share.describe('Mean luma of the face: 0 is black, 1 is white'),
      face_pixels: count.describe('Side length of the aligned face, in pixels of the image'),
      dot_pitch_px: z
        .number()
        .min(0)
        .describe(
          'Approximate distance between the dots of a print, fax or photocopy, in pixels; 0 otherwise',
        ),
      stretch_ratio: z
        .number()
        .min(1)
        .describe(
          'Estimated stretch of the image along one axis; 1 means none. Overestimated if the head is turned by more than 45 degrees',
        ),
    }),
  },
);

const component = (description: string) => z.int().min(0).max(100).describe(description);

export const DetectedFace = Face.extend({
  quality_components: object(
    'Quality components with the names and mappings of ISO/IEC 29794-5 (OFIQ 1.0.3), but other landmarks; not conformant. 100 is best',
    {
      inter_eye_distance: component(
        'From the distance between the eyes in pixels, corrected for yaw: 50 at 70 pixels',
      ),
      head_pose_yaw: component('cos² of the yaw: 50 at 45 degrees'),
      head_pose_roll: component('cos² of the roll: 50 at 45 degrees'),
    },
  ),
}).describe('A face with its quality components.');

export const EmbeddedFace = DetectedFace.extend({
  embedding: optional(
    z.base64(),
    'Embedding, encoded as the `embedding` member of the response describes; only for the requested faces',
  ),
}).describe('A face with its embedding.');

export const image = {
  width: positive.describe('Width of the upright image, pixels'),
  height: positive.describe('Height of the upright image, pixels'),
  format: word(formats, 'Format, detected from the content.'),
  orientation: z.int().min(1).max(8).describe('EXIF orientation of the file; 1 if it has none'),
  min_detectable_face_px: positive.describe(
    'Search limit, not a measurement: the whole image was searched for upright faces whose longer box side has at least this many pixels. Smaller faces, and rotated faces beside an upright face, may be missed',
  ),
  searched_rotations: optional(
    z.array(z.literal([0, 90, 180, 270])),
    'Face rotations that were searched, in degrees clockwise; 0 is upright. Absent if all four were searched, as in an image without an upright face, ' +
      'and after the search before a "no match"',
  ),
};
export const facesOf = <Shape extends z.ZodType>(face: Shape) =>
  listOf(face, `Largest first (area of the box × detection score), at most ${maxFaces}`).max(maxFaces);

export const Image = object('An image and its faces.', {
  ...image,
  faces: facesOf(Face).min(1),
  face_index: count.describe('Index of the face that was compared'),
});

export type Face = z.infer<typeof Face>;
export type Image = z.infer<typeof Image>;

/** Number of decimals by member. It also applies to nested members without an entry. */
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
  dot_pitch_px: 1,
  stretch_ratio: 2,
};

/** Rounds all numbers in a value. */
export function rounded<T>(value: T, digits: number): T {
  if (typeof value === 'number') return round(value, digits) as T;
  if (Array.isArray(value)) return value.map((item) => rounded(item, digits)) as T;
  if (typeof value !== 'object') return value;
  const members: Record<string, unknown> = {};
  for (const name in value) members[name] = rounded(value[name], decimals[name] ?? digits);
  return members as T;
}

const membersOfFace = Object.keys(Face.shape) as (keyof Face)[];

/** Returns the members of the schema, rounded. */
function faceBody(face: Found): Face {
  const body: Record<string, unknown> = {};
  for (const name of membersOfFace) {
    if (face[name] !== undefined) body[name] = rounded(face[name], decimals[name] ?? 0);
  }
  return body as Face;
}

export function imageBody(report: ImageReport): Omit<Image, 'face_index'> {
  const { width, height, format, orientation, min_detectable_face_px, searched_rotations, faces } = report;
  return {
    width,
    height,
    format,
    orientation,
    min_detectable_face_px,
    ...(searched_rotations && { searched_rotations }),
    faces: faces.map(faceBody),
  };
}

export function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  // Adding 0 turns -0 into 0.
  return Math.round(value * scale) / scale + 0;
}

type Measured = Pick<Found, 'landmarks' | 'pose'>;

/**
 * Returns three quality components of ISO/IEC 29794-5, from 0 to 100, with the mappings of its reference
 * implementation OFIQ 1.0.3. They are not conformant, because OFIQ uses other landmarks and poses.
 * docs/research/images.md explains the selection.
 */
export function qualityComponents({ landmarks, pose }: Measured) {
  const [[x1, y1], [x2, y2]] = [landmarks.right_eye, landmarks.left_eye];
  // A turned head shortens the distance in the image. The correction is limited to a factor of 10, at about 84 degrees.
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

/** Returns cos² of the angle in percent, and 0 beyond 90 degrees, where OFIQ's cos² increases again. */
const straightness = (degrees: number) => Math.round(100 * Math.max(0, Math.cos(radians(degrees))) ** 2);
