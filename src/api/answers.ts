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

/** As native/core/types.h bounds them. */
const mostFaces = 20;

const formats: Record<ImageFormat, string> = { jpeg: 'JPEG', png: 'PNG', webp: 'WebP' };

const foundBy: Record<FoundBy, string> = {
  primary: 'the ordinary look at the whole picture',
  tiled: 'a look at overlapping tiles, for small faces',
  rotated: 'a look at the picture turned',
  padded: 'a look with a border around it, for faces larger than the frame',
  enhanced: 'a look at the picture with its contrast raised',
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
      'How sure the detector is that this is a face; of one that was not found by the ordinary look, in a close-up of it',
    ),
    found_by: word(foundBy, 'Which look found the face:'),
    human_score: z
      .number()
      .exactOptional()
      .describe("How surely this is a human face: faces below the pack's bar are dropped, see GET models"),
    pose: object('How the head is turned, degrees; all zero is straight into the camera', {
      yaw: degrees.describe('Positive: the person looks to their own left'),
      pitch: degrees.describe('Positive: upwards'),
      roll: degrees.describe('Positive: the head leans towards their own left shoulder'),
    }),
    quality: object('What the picture of the face is good for', {
      sharpness: share.describe(
        'How much of the detail a further blur would take away (Crete et al. 2007), whatever the size, contrast and brightness: ' +
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
    .describe('Of the faces that were asked for: numbers as the answer’s own `embedding` says'),
}).describe('A face, and what it is recognised by.');

const picture = {
  width: z.int().min(1).describe('Of the upright picture, pixels'),
  height: z.int().min(1).describe('Of the upright picture, pixels'),
  format: word(formats, 'As recognised by content.'),
  orientation: z.int().min(1).max(8).describe('EXIF orientation as found; 1 when the picture says nothing'),
};
const facesOf = <Shape extends z.ZodType>(face: Shape) =>
  z
    .array(face)
    .max(mostFaces)
    .describe(`Largest first (area of the box × detection score), at most ${mostFaces}`);

const Image = object('What was seen in a picture.', {
  ...picture,
  faces: facesOf(Face).min(1),
  face_index: count.describe('The face that the answer is about'),
});

const Pair = object('Two faces that were compared.', {
  image1_face_index: count.describe('A face of image1'),
  image2_face_index: count.describe('A face of image2'),
  similarity: cosine.describe('As in the answer, for this pair'),
  confidence_percent: percent.describe('As in the answer, for this pair'),
});

/** What each reason means, and where it begins to hold, in the members' own names. */
const qualityReasons = qualityLimits.map(({ reason, member, least, most }) => {
  const limit = least === undefined ? `beyond ${most}` : `below ${least}`;
  return [reason, `${qualityWords[reason]} (${member} ${limit})`] as const;
});

const Warning = object(
  'Something that was let pass, and may not be what you meant. It never changes the verdict.',
  {
    code: word(
      {
        unknown_field: 'the endpoint does not know the field, and ignored it',
        look_cut_short:
          'looking for faces took longer than a picture may take, and there may be more of them',
        low_quality_face: 'the compared face is so poor that the same person is recognised less often',
        best_of_many:
          'several pictures match: whoever takes the best of them has to reckon with their number',
      },
      'What it is about.',
    ),
    field: text(
      'Name of the field; with `look_cut_short` and `low_quality_face`, the picture, whose `face_index` names the face',
    ),
    reason: word(
      Object.fromEntries(qualityReasons),
      'With `low_quality_face` only, what the face is.',
    ).exactOptional(),
    detail: text('What happened and what to do about it, for people'),
  },
);

/** What every answer about pictures ends with. */
const rest = {
  model: object('What the answer rests on; GET models tells more', {
    pack: text('Name of the model pack'),
    version: text('Its version'),
  }),
  warnings: z.array(Warning).describe('Empty when there is nothing to say'),
  timings_ms: object('Where the time went; in the Server-Timing header as well', {
    queue: milliseconds('Waiting for a worker'),
    decode: milliseconds('Decoding the pictures'),
    detect: milliseconds('Finding faces, by further looks too'),
    align: milliseconds(
      'Finding their landmarks, making sure that they are faces, and cutting them out upright',
    ),
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
      'How sure it is that both are the same person: 30 + 10 × −log10 of the false-match rate from 40 on, so that ten points ' +
        'more are ten times fewer false matches',
    ),
    threshold_percent: percent.describe('The threshold that was applied'),
    similarity: cosine.describe(
      'Cosine of the two embeddings as the net gave them; not comparable between model packs',
    ),
    false_match_rate: share.describe(
      'How often two different people would come out at least this alike, all pairs that were tried taken into account; ' +
        "of each pair never below the floor of the pack's table, see GET models",
    ),
    extrapolated: z
      .boolean()
      .describe(
        "true when the score lies beyond what the pack's people could show: false_match_rate is then an upper bound, the floor times the number of pairs, " +
          'and confidence_percent goes on in the form of the tail',
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
  index: count.describe('Its place among those sent'),
  filename: text('Its name, as sent').exactOptional(),
};

const Compared = object('A picture that was compared with image1.', {
  ...target,
  ...verdict,
  image1_face_index: count.describe('The face of image1 that it is most alike to'),
  image2: Image,
  pairs_compared: Match.shape.pairs_compared,
  warnings: z.array(Warning).describe('What is to be said of this picture'),
});

const { detected, height, limit_bytes, limit_pixels, width } = extraSchemas;
const Uncompared = object('A picture that could not be compared.', {
  ...target,
  problem: object('What is wrong with it, in the words of the problem that a match would be answered with', {
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
  searched: z.int().min(1).describe('By which each false_match_rate is multiplied'),
  results: z
    .array(object('A candidate.', { id: text('As sent'), ...verdict }))
    .max(mostCandidates)
    .describe('Best first: at most `limit`, and none below `min_percent`'),
  matches: count.describe('How many candidates match, those included that `limit` leaves out'),
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
  image: object('What was seen in the picture.', { ...picture, faces: facesOf(Face) }),
  ...rest,
});

const Embed = Detect.extend({
  image: object('What was seen in the picture.', { ...picture, faces: facesOf(EmbeddedFace).min(1) }),
  embedding: object(
    'What it takes to compare the embeddings: only those of one pack, version and mode can be',
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
 * By the names of their components. The compiler keeps schemas and answers equal, but for warnings: only those of one code
 * have a `reason`, which the schema says in words.
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
