import { z } from 'zod';
import { accuracyModes, type FoundBy, type ImageFormat } from '../engine/addon.ts';
import { maxTargets } from '../engine/match-options.ts';
import { type Detected, kinds } from '../engine/not-an-image.ts';
import type { ErrorCode } from '../errors.ts';
import { type QualityReason, qualityLimits } from './face-quality.ts';

/** The 200 answers about images as zod schemas, and the types that follow from them. */

/** Shorthands; each schema has a description. */
export const object = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description);
export const text = (description: string) => z.string().describe(description);
const flag = (description: string) => z.boolean().describe(description);
const optional = <Schema extends z.ZodType>(schema: Schema, description: string) =>
  schema.exactOptional().describe(description);

/** One of the words, each with its meaning. */
export function word<Word extends string>(words: Readonly<Record<Word, string>>, description: string) {
  const meanings = Object.entries(words).map(([value, meaning]) => `\`${value}\`: ${meaning}`);
  return z.enum(Object.keys(words) as Word[]).describe(`${description} ${meanings.join('; ')}.`);
}

export const qualityReasonNames = qualityLimits.map(({ reason }) => reason);

const meaningOf = Object.fromEntries(
  Object.entries(kinds).map(([name, { meaning }]) => [name, meaning]),
) as Record<Detected, string>;

/** Members of problems. */
export const extraSchemas = {
  expected: z.string().describe('What the field takes'),
  position: z.int().min(0).describe('The character at which the JSON is wrong, counted from 0'),
  given: z.string().describe('What was sent'),
  required_scope: z.string().describe('The scope that the key lacks'),
  limit: z.int().min(1).describe('The most images that are accepted'),
  limit_bytes: z.int().min(1).describe('The most bytes that are accepted'),
  limit_pixels: z.int().min(1).describe('The most pixels, width × height, that are accepted'),
  width: z.int().min(0).describe('Width that the image declares, pixels'),
  height: z.int().min(0).describe('Height that the image declares, pixels'),
  detected: word(meaningOf, 'What the bytes look like.'),
  jpeg_position: z
    .int()
    .min(1)
    .describe('With `unsupported_image_format` only: the byte at which a JPEG begins, counted from 0'),
  faces_found: z.int().min(0).describe('How many faces were found in the image'),
};

/** Problems of a single image; two images may have one each. */
export const imageFaults = [
  'unsupported_image_format',
  'image_decode_failed',
  'image_dimensions',
  'image_too_complex',
  'no_face_found',
  'face_index_out_of_range',
] as const satisfies readonly ErrorCode[];

/** The problems that one of several images may have. */
const targetFaults = [
  'missing_field',
  'image_too_large',
  ...imageFaults.filter((code) => code !== 'face_index_out_of_range'),
  'low_quality_face',
  'presentation_attack',
] as const;

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

export const count = z.int().min(0);
export const share = z.number().min(0).max(1);
export const percent = z.number().min(0).max(100);
export const cosine = z.number().min(-1).max(1);
export const live_score = share.describe(
  'How likely the face stands before the camera itself, rather than on a photo or a screen: a hint, never a verdict alone',
);
const degrees = z.number().min(-180).max(180);
export const milliseconds = (what: string) => z.number().min(0).describe(`${what}, milliseconds`);
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

const DetectedFace = Face.extend({
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
  width: z.int().min(1).describe('Width of the upright image, pixels'),
  height: z.int().min(1).describe('Height of the upright image, pixels'),
  format: word(formats, 'As recognised by content.'),
  orientation: z.int().min(1).max(8).describe('EXIF orientation of the file; 1 when it has none'),
  smallest_face: z
    .int()
    .min(1)
    .describe(
      'Faces were looked for in all of the image whose box has a longer side of at least as many pixels; of smaller ones only some are found',
    ),
};
export const facesOf = <Shape extends z.ZodType>(face: Shape) =>
  z
    .array(face)
    .max(maxFaces)
    .describe(`Largest first (area of the box × detection score), at most ${maxFaces}`);

export const Image = object('An image and its faces.', {
  ...image,
  faces: facesOf(Face).min(1),
  face_index: count.describe('The face that the answer is about'),
});

export const Pair = object('Two faces that were compared.', {
  image1_face_index: count.describe('A face of image1'),
  image2_face_index: count.describe('A face of image2'),
  similarity: cosine.describe('As in the answer, for this pair'),
  confidence_percent: percent.describe('As in the answer, for this pair'),
});

/** Each reason with its limit, by the member's name. */
const qualityReasons = Object.fromEntries(
  qualityLimits.map(({ reason, words, member, min, max }) => {
    const limit = min === undefined ? `beyond ${max}` : `below ${min}`;
    return [reason, `${words} (${member} ${limit})`];
  }),
) as Record<QualityReason, string>;

export const Warning = object(
  'Something that was accepted but may not be what you meant. It never changes the verdict.',
  {
    code: word(
      {
        unknown_field: 'the endpoint does not know the field, and ignored it',
        query_ignored:
          'a field of the endpoint stands in the query of the address, where it counts for nothing',
        threshold_below_one: 'the threshold is above 0 and below 1 percent: a share of 1 may be meant',
        look_cut_short: 'the search for faces took too long and was stopped; there may be more faces',
        faces_left_out: `the list of faces is not complete: there are more than ${maxFaces}, or time ran out`,
        not_the_largest_face:
          'the compared face is not the one with the largest box of its image, and was not chosen by its index',
        low_quality_face: 'the compared face is so poor that the same person is recognised less often',
        best_of_many: 'several images match: if you take only the best, the number of images counts',
        pack_not_calibrated:
          'nobody measured how often strangers score this high with the model pack: the percent is 40 × the similarity and cannot pass 40',
      },
      'What it is about.',
    ),
    field: text(
      'Name of the field; with `look_cut_short`, `faces_left_out`, `not_the_largest_face` and `low_quality_face`, the image, whose `face_index` ' +
        'names the face; with `pack_not_calibrated`, `model`',
    ),
    face_index: count.describe('With `not_the_largest_face` only, the compared face').exactOptional(),
    faces_left_out: z
      .int()
      .min(1)
      .describe('With `faces_left_out` only, how many faces; absent where time ran out')
      .exactOptional(),
    reason: word(qualityReasons, 'With `low_quality_face` only, what the face is.').exactOptional(),
    detail: text('What happened and what to do about it, for people'),
  },
);

export const request_id = text('The same as in the X-Request-Id header');
export const threshold_percent = percent.describe('The threshold that was applied');
export const accuracy_mode = z.enum(accuracyModes).describe('The mode that was used');

/** What is said of the best of the compared pairs. */
export const verdict = {
  match: flag('Whether confidence_percent, before it is rounded, reaches threshold_percent'),
  confidence_percent: percent.describe(
    'Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points ' +
      'more are ten times fewer false matches',
  ),
  similarity: cosine.describe('Cosine of the two embeddings; not comparable between model packs'),
  false_match_rate: share.describe(
    'How often two different people score at least this high, corrected for the number of compared pairs; ' +
      "for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table",
  ),
  extrapolated: flag(
    "true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), " +
      'and confidence_percent is extrapolated. Always true when the pack is not calibrated',
  ),
};

/** The end of every answer about images. */
export const rest = {
  model: object('The model pack of the answer; see GET models', {
    pack: text('Name of the model pack'),
    version: text('Its version'),
  }),
  warnings: z.array(Warning).describe('Empty when there is nothing to say'),
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    decode: milliseconds('Decoding the images'),
    detect: milliseconds('Finding faces, with all detection steps'),
    align: milliseconds('Finding landmarks, checking the faces, and aligning them'),
    embed: milliseconds('Turning each face into a vector, and telling live ones where asked for'),
    total: milliseconds('From the last byte of the request to the answer'),
  }),
};

export const Calibration = object('The table from similarity to false-match rate.', {
  fitted_on: text('The pairs of images that the table was made from'),
  points: z
    .array(
      z
        .tuple([
          z.number().describe('Similarity, normalised as the model pack does it'),
          z.number().positive().max(1).describe('False-match rate'),
        ])
        .describe('A similarity, and how often two different people score at least this high'),
    )
    .min(2)
    .describe('Rising similarities, falling rates; between points the logarithm of the rate is linear'),
  floor: z
    .number()
    .positive()
    .max(0.1)
    .describe(
      'The lowest false-match rate that the people of the fit can show; below it an answer is `extrapolated`',
    ),
});

export const Match = object(
  'Whether the two images show the same person. A non-match is an answer like any other, not an error.',
  {
    request_id,
    match: verdict.match,
    confidence_percent: verdict.confidence_percent,
    threshold_percent,
    similarity: verdict.similarity,
    false_match_rate: verdict.false_match_rate,
    extrapolated: verdict.extrapolated,
    accuracy_mode,
    image1: Image,
    image2: Image,
    pairs_compared: z.int().min(1).describe('How many pairs of faces were compared'),
    pairs: z.array(Pair).min(1).describe('Every pair that was compared, best first'),
    ...rest,
  },
);

const target = {
  index: count.describe('Its position among those sent'),
  filename: text('Its name, as sent').exactOptional(),
};

export const Compared = object('An image that was compared with image1.', {
  ...target,
  ...verdict,
  image1_face_index: count.describe('The face of image1 that it is most similar to'),
  image2: Image,
  pairs_compared: Match.shape.pairs_compared,
  warnings: z.array(Warning).describe('Warnings about this image'),
});

const { detected, height, jpeg_position, limit_bytes, limit_pixels, width } = extraSchemas;
export const Uncompared = object('An image that could not be compared.', {
  ...target,
  problem: object('What is wrong with it, like the problem of a match', {
    code: z.enum(targetFaults).describe('For programs'),
    status: z.int().describe('The HTTP status that stands for it'),
    title: text('What is wrong, the same text each time'),
    detail: text('What to do about it, for people'),
    ...z.object({ detected, position: jpeg_position, width, height, limit_pixels, limit_bytes }).partial()
      .shape,
    reasons: optional(z.array(z.enum(qualityReasonNames)), 'With `low_quality_face` only, what the face is'),
    face_index: count.describe('With `presentation_attack` only, the face').exactOptional(),
    live_score: live_score.exactOptional(),
  }),
});

export const Many = object(
  'One image against several. `face_index` of image1 names the face of the best result.',
  {
    request_id,
    threshold_percent,
    accuracy_mode,
    image1: Image,
    results: z
      .array(z.xor([Compared, Uncompared]))
      .min(1)
      .max(maxTargets)
      .describe('One for each image2, in the order sent'),
    matches: count.describe('How many of them match'),
    ...rest,
  },
);

export const Detect = object('The faces of one image.', {
  request_id,
  accuracy_mode,
  image: object('The image and its faces.', { ...image, faces: facesOf(DetectedFace) }),
  ...rest,
});

export const Embed = Detect.extend({
  image: object('The image and its faces.', { ...image, faces: facesOf(EmbeddedFace).min(1) }),
  embedding: object(
    'What is needed to compare the embeddings: only those of the same pack, version and mode can be compared',
    {
      pack: text('Name of the model pack'),
      version: text('Its version'),
      accuracy_mode: z.enum(accuracyModes).describe('The mode that they were made in'),
      dimensions: z.int().min(1).describe('How many numbers each has'),
      encoding: z.literal('float32-le-base64').describe('Little-endian 32-bit floats, in base64'),
      normalised: z.literal(true).describe('Each is of length 1'),
    },
  ),
}).describe('The faces of one image, with embeddings.');

export type Face = z.infer<typeof Face>;
export type Image = z.infer<typeof Image>;
export type Warning = z.infer<typeof Warning>;
export type Timings = z.infer<typeof rest.timings_ms>;
export type Match = z.infer<typeof Match>;
export type Many = z.infer<typeof Many>;
export type Compared = z.infer<typeof Compared>;
export type Uncompared = z.infer<typeof Uncompared>;
export type Detect = z.infer<typeof Detect>;
export type Embed = z.infer<typeof Embed>;

/** Those that more than one answer has, by the names of their components. */
export const shared = {
  Compared,
  Uncompared,
  Image,
  Face,
  DetectedFace,
  EmbeddedFace,
  Pair,
  Warning,
  Calibration,
};
