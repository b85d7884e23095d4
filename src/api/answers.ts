import { z } from 'zod';
import type { FoundBy, ImageFormat } from '../engine/addon.ts';
import { embeddingsSchema, mostCandidates } from '../engine/embeddings.ts';
import type { detectBody, embedBody } from '../http/faces-result.ts';
import { fieldTable, mostTargets } from '../http/fields.ts';
import type { EmbeddingsBody, manyBody } from '../http/many-result.ts';
import type { matchBody } from '../http/match-result.ts';
import { qualityLimits, qualityWords } from '../matching/face-quality.ts';
import { object, text, word } from './json-schema.ts';
import { Calibration, Models, type ModelsBody } from './models-answer.ts';
import { extraSchemas, qualityReasonNames, targetFaults } from './problems.ts';

/** The 200 answers as zod schemas. */

export type MatchBody = ReturnType<typeof matchBody>;
export type ManyBody = ReturnType<typeof manyBody>;
export type { EmbeddingsBody };
export type DetectBody = ReturnType<typeof detectBody>;
export type EmbedBody = ReturnType<typeof embedBody>;

/** The limit in native/core/types.h. */
const mostFaces = 20;

const formats: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const foundBy: Record<FoundBy, string> = {
  primary: 'the first one, on the whole image',
  tiled: 'on overlapping tiles, for small faces',
  rotated: 'on the rotated image',
  padded: 'with a border around the image, for faces larger than the frame',
  enhanced: 'with the contrast raised',
};

const count = z.int().min(0);
const share = z.number().min(0).max(1);
const percent = z.number().min(0).max(100);
const cosine = z.number().min(-1).max(1);
const degrees = z.number().min(-180).max(180);
const milliseconds = (what: string) => z.number().min(0).describe(`${what}, milliseconds`);
const point = (what: string) =>
  z.tuple([z.number().describe('x'), z.number().describe('y')]).describe(`${what}, pixels`);

const Face = object(
  'A face. Coordinates are pixels of the upright picture, that is after its EXIF orientation; the origin is top left.',
  {
    index: count.describe('Position in the list; what a face index in the form counts'),
    box: object('Where the face is, pixels', {
      x: z.number().describe('Left edge; negative when the face begins outside the picture'),
      y: z.number().describe('Upper edge; negative when the face begins outside the picture'),
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
    human_score: z
      .number()
      .exactOptional()
      .describe(
        "How certainly this is a human face: faces below the pack's threshold are dropped, see `human.bar` in GET models",
      ),
    occlusion_score: z
      .number()
      .exactOptional()
      .describe('Above 0 nose and mouth are covered, as by a mask; absent when the pack cannot tell'),
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
      face_pixels: count.describe('Side of the aligned face, in pixels of the picture'),
    }),
  },
);

const EmbeddedFace = Face.extend({
  embedding: z
    .base64()
    .exactOptional()
    .describe(
      'Only for the faces that were asked for: numbers in the form that `embedding` of the answer describes',
    ),
}).describe('A face with its embedding.');

const image = {
  width: z.int().min(1).describe('Width of the upright image, pixels'),
  height: z.int().min(1).describe('Height of the upright image, pixels'),
  format: word(formats, 'As recognised by content.'),
  orientation: z.int().min(1).max(8).describe('EXIF orientation of the file; 1 when it has none'),
};
const facesOf = <Shape extends z.ZodType>(face: Shape) =>
  z
    .array(face)
    .max(mostFaces)
    .describe(`Largest first (area of the box × detection score), at most ${mostFaces}`);

const Image = object('An image and its faces.', {
  ...image,
  faces: facesOf(Face).min(1),
  face_index: count.describe('The face that the answer is about'),
});

const Pair = object('Two faces that were compared.', {
  image1_face_index: count.describe('A face of image1'),
  image2_face_index: count.describe('A face of image2'),
  similarity: cosine.describe('As in the answer, for this pair'),
  confidence_percent: percent.describe('As in the answer, for this pair'),
});

/** Each reason with its limit, by the member's name. */
const qualityReasons = qualityLimits.map(({ reason, member, least, most }) => {
  const limit = least === undefined ? `beyond ${most}` : `below ${least}`;
  return [reason, `${qualityWords[reason]} (${member} ${limit})`] as const;
});

const Warning = object(
  'Something that was accepted but may not be what you meant. It never changes the verdict.',
  {
    code: word(
      {
        unknown_field: 'the endpoint does not know the field, and ignored it',
        look_cut_short: 'the search for faces took too long and was stopped; there may be more faces',
        low_quality_face: 'the compared face is so poor that the same person is recognised less often',
        best_of_many: 'several images match: if you take only the best, the number of images counts',
        pack_not_calibrated:
          'nobody measured how often strangers score this high with the model pack: the percent is 40 × the similarity and cannot pass 40',
      },
      'What it is about.',
    ),
    field: text(
      'Name of the field; with `look_cut_short` and `low_quality_face`, the picture, whose `face_index` names the face; with ' +
        '`pack_not_calibrated`, `model`',
    ),
    reason: word(
      Object.fromEntries(qualityReasons),
      'With `low_quality_face` only, what the face is.',
    ).exactOptional(),
    detail: text('What happened and what to do about it, for people'),
  },
);

/** The end of every answer about images. */
const rest = {
  model: object('The model pack of the answer; see GET models', {
    pack: text('Name of the model pack'),
    version: text('Its version'),
  }),
  warnings: z.array(Warning).describe('Empty when there is nothing to say'),
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    decode: milliseconds('Decoding the pictures'),
    detect: milliseconds('Finding faces, with all detection steps'),
    align: milliseconds('Finding landmarks, checking the faces, and aligning them'),
    embed: milliseconds('Turning each face into a vector'),
    total: milliseconds('From the last byte of the request to the answer'),
  }),
};

const Match = object(
  'Whether the two pictures show the same person. A non-match is an answer like any other, not an error.',
  {
    request_id: text('The same as in the X-Request-Id header'),
    match: z
      .boolean()
      .describe('Whether confidence_percent, before it is rounded, reaches threshold_percent'),
    confidence_percent: percent.describe(
      'Confidence that both are the same person. From 40 on: 30 + 10 × −log10 of the false-match rate, so that ten points ' +
        'more are ten times fewer false matches',
    ),
    threshold_percent: percent.describe('The threshold that was applied'),
    similarity: cosine.describe('Cosine of the two embeddings; not comparable between model packs'),
    false_match_rate: share.describe(
      'How often two different people score at least this high, corrected for the number of compared pairs; ' +
        "for each pair never below the floor of the pack's table, see GET models; 1 when the pack has no table",
    ),
    extrapolated: z
      .boolean()
      .describe(
        "true when the score is beyond what the pack's people can show: false_match_rate is then an upper bound (the floor times the number of pairs), " +
          'and confidence_percent is extrapolated. Always true when the pack is not calibrated',
      ),
    accuracy_mode: z.enum(fieldTable.accuracy_mode.values).describe('The mode that was used'),
    image1: Image,
    image2: Image,
    pairs_compared: z.int().min(1).describe('How many pairs of faces were compared'),
    pairs: z.array(Pair).min(1).describe('Every pair that was compared, best first'),
    ...rest,
  },
);

const verdict = {
  match: Match.shape.match,
  confidence_percent: Match.shape.confidence_percent,
  similarity: Match.shape.similarity,
  false_match_rate: Match.shape.false_match_rate,
  extrapolated: Match.shape.extrapolated,
};

const target = {
  index: count.describe('Its position among those sent'),
  filename: text('Its name, as sent').exactOptional(),
};

const Compared = object('A picture that was compared with image1.', {
  ...target,
  ...verdict,
  image1_face_index: count.describe('The face of image1 that it is most similar to'),
  image2: Image,
  pairs_compared: Match.shape.pairs_compared,
  warnings: z.array(Warning).describe('Warnings about this image'),
});

const { detected, height, limit_bytes, limit_pixels, width } = extraSchemas;
const Uncompared = object('A picture that could not be compared.', {
  ...target,
  problem: object('What is wrong with it, like the problem of a match', {
    code: z.enum(targetFaults).describe('For programs'),
    status: z.int().describe('The HTTP status that stands for it'),
    title: text('What is wrong, the same text each time'),
    detail: text('What to do about it, for people'),
    detected: detected.exactOptional(),
    width: width.exactOptional(),
    height: height.exactOptional(),
    limit_pixels: limit_pixels.exactOptional(),
    limit_bytes: limit_bytes.exactOptional(),
    reasons: z
      .array(z.enum(qualityReasonNames))
      .exactOptional()
      .describe('With `low_quality_face` only, what the face is'),
  }),
});

const Many = object(
  'One picture against several. `face_index` of image1 names the face of the best result.',
  {
    request_id: Match.shape.request_id,
    threshold_percent: Match.shape.threshold_percent,
    accuracy_mode: Match.shape.accuracy_mode,
    image1: Image,
    results: z
      .array(z.xor([Compared, Uncompared]))
      .min(1)
      .max(mostTargets)
      .describe('One for each image2, in the order sent'),
    matches: count.describe('How many of them match'),
    ...rest,
  },
);

const Embeddings = object('One embedding against many.', {
  request_id: Match.shape.request_id,
  threshold_percent: Match.shape.threshold_percent,
  accuracy_mode: Match.shape.accuracy_mode,
  searched: z.int().min(1).describe('The number that each false_match_rate is multiplied by'),
  results: z
    .array(object('A candidate.', { id: text('As sent'), ...verdict }))
    .max(mostCandidates)
    .describe('Best first: at most `limit`, and none below `min_percent`'),
  matches: count.describe('How many candidates match, including those that `limit` leaves out'),
  model: rest.model,
  warnings: rest.warnings,
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    total: milliseconds('From the last byte of the request to the answer'),
  }),
});

const Detect = object('The faces of one picture.', {
  request_id: text('The same as in the X-Request-Id header'),
  accuracy_mode: z.enum(fieldTable.accuracy_mode.values).describe('The mode that was used'),
  image: object('The image and its faces.', { ...image, faces: facesOf(Face) }),
  ...rest,
});

const Embed = Detect.extend({
  image: object('The image and its faces.', { ...image, faces: facesOf(EmbeddedFace).min(1) }),
  embedding: object(
    'What is needed to compare the embeddings: only those of the same pack, version and mode can be compared',
    {
      pack: text('Name of the model pack'),
      version: text('Its version'),
      accuracy_mode: z.enum(fieldTable.accuracy_mode.values).describe('The mode that they were made in'),
      dimensions: z.int().min(1).describe('How many numbers each has'),
      encoding: z.literal('float32-le-base64').describe('Little-endian 32-bit floats, in base64'),
      normalised: z.literal(true).describe('Each is of length 1'),
    },
  ),
}).describe('The faces of one picture, with embeddings.');

/**
 * The schemas by the names of their components. The compiler checks that schemas and answers agree, except for warnings: only one
 * code has a `reason`, which the schema says in words.
 */
export const answerSchemas = {
  Match,
  Many,
  Embeddings,
  EmbeddingsRequest: embeddingsSchema,
  Compared,
  Uncompared,
  Detect,
  Embed,
  Image,
  Face,
  EmbeddedFace,
  Pair,
  Warning,
  Models,
  Calibration,
} satisfies Record<string, z.ZodType> & {
  Match: z.ZodType<Omit<MatchBody, 'warnings'>>;
  Many: z.ZodType<Omit<ManyBody, 'warnings' | 'results'>>;
  Embeddings: z.ZodType<Omit<EmbeddingsBody, 'warnings'>>;
  Detect: z.ZodType<Omit<DetectBody, 'warnings'>>;
  Embed: z.ZodType<Omit<EmbedBody, 'warnings'>>;
  Models: z.ZodType<ModelsBody>;
};
