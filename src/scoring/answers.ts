import { z } from 'zod';
import { maxTargets } from '../engine/match-options.ts';
import {
  accuracy_mode,
  accuracyModes,
  Calibration,
  count,
  DetectedFace,
  EmbeddedFace,
  extraSchemas,
  Face,
  facesOf,
  Image,
  image,
  judged,
  live_score,
  object,
  Pair,
  qualityReasonNames,
  request_id,
  rest,
  targetFaults,
  text,
  threshold_percent,
  Warning,
} from './answer-parts.ts';

export * from './answer-parts.ts';

/** The 200 answers about pictures as zod schemas, and the types that follow from them. */

export const Match = object(
  'Whether the two pictures show the same person. A non-match is an answer like any other, not an error.',
  {
    request_id,
    match: judged.match,
    confidence_percent: judged.confidence_percent,
    threshold_percent,
    similarity: judged.similarity,
    false_match_rate: judged.false_match_rate,
    extrapolated: judged.extrapolated,
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

export const Compared = object('A picture that was compared with image1.', {
  ...target,
  ...judged,
  image1_face_index: count.describe('The face of image1 that it is most similar to'),
  image2: Image,
  pairs_compared: Match.shape.pairs_compared,
  warnings: z.array(Warning).describe('Warnings about this image'),
});

const { detected, height, limit_bytes, limit_pixels, width } = extraSchemas;
export const Uncompared = object('A picture that could not be compared.', {
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
    face_index: count.describe('With `presentation_attack` only, the face').exactOptional(),
    live_score: live_score.exactOptional(),
  }),
});

export const Many = object(
  'One picture against several. `face_index` of image1 names the face of the best result.',
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

export const Detect = object('The faces of one picture.', {
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
}).describe('The faces of one picture, with embeddings.');

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
