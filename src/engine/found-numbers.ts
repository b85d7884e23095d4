/**
 * What the addon finds. It answers one array of numbers, because to make an object of a hundred members in C++ costs many
 * times as much. The order is that of native/binding/values.cpp, `Numbers`.
 */

export type ImageFormat = 'jpeg' | 'png' | 'webp';
export type FoundBy = 'primary' | 'tiled' | 'rotated' | 'padded' | 'enhanced';
export type Point = [x: number, y: number];

/** Coordinates are pixels of the upright picture, origin top left; left and right are the person's own. */
export interface Face {
  index: number;
  box: { x: number; y: number; width: number; height: number };
  landmarks: { right_eye: Point; left_eye: Point; nose: Point; mouth_right: Point; mouth_left: Point };
  /** 0..1 */
  detection_score: number;
  found_by: FoundBy;
  /** How surely it is a human face; none where the pack has no check. */
  human_score?: number | undefined;
  /** Degrees. */
  pose: { yaw: number; pitch: number; roll: number };
  /** sharpness and brightness 0..1; face_pixels is the chip's side measured in source pixels. */
  quality: { sharpness: number; brightness: number; face_pixels: number };
}

export interface ImageReport {
  /** Of the upright picture. */
  width: number;
  height: number;
  format: ImageFormat;
  /** EXIF orientation 1..8 as found, 1 when there is none. */
  orientation: number;
  faces: Face[];
}

export interface Pair {
  image1_face_index: number;
  image2_face_index: number;
  /** Cosine of the two embeddings, -1..1. */
  similarity: number;
  /** What the calibration table is indexed by. */
  normalised_similarity: number;
}

/** Milliseconds spent in each stage, both images together; 0 for what the embedding cache spared. */
export interface StageTimings {
  decode: number;
  detect: number;
  align: number;
  embed: number;
}

export interface MatchResult {
  ok: true;
  image1: ImageReport;
  image2: ImageReport;
  /** Every pair that was compared, best first. */
  pairs: Pair[];
  timings_ms: StageTimings;
}

export interface DetectResult {
  ok: true;
  image: ImageReport;
  timings_ms: StageTimings;
}

/** As DetectResult; `embeddings` holds one unit vector for each face, in the order of `image.faces`. */
export interface EmbedResult extends DetectResult {
  embeddings: Float32Array[];
  /** Of each face, what normalisation subtracts: the normalised similarity is the cosine less the mean of two of these. */
  cohort_scores: number[];
}

/** In the order of native/core/types.h. */
const formats: readonly ImageFormat[] = ['jpeg', 'png', 'webp'];
const foundBy: readonly FoundBy[] = ['primary', 'tiled', 'rotated', 'padded', 'enhanced'];

/** How many numbers each takes; of a report those before its faces. */
const timingsLength = 4;
const reportLength = 5;
const faceLength = 23;
const pairLength = 4;

/** Throws a RangeError when the two sides do not agree. */
export function readMatch(n: Float64Array): MatchResult {
  const image1 = reportAt(n, timingsLength);
  const at2 = timingsLength + lengthOf(image1);
  const image2 = reportAt(n, at2);
  const atPairs = at2 + lengthOf(image2);
  const count = n[atPairs]!;
  requireLength(n, atPairs + 1 + count * pairLength);
  const pairs: Pair[] = [];
  for (let i = 0; i < count; i++) pairs.push(pairAt(n, atPairs + 1 + i * pairLength));
  return { ok: true, image1, image2, pairs, timings_ms: timingsOf(n) };
}

/** As readMatch. */
export function readDetect(n: Float64Array): DetectResult {
  const image = reportAt(n, timingsLength);
  requireLength(n, timingsLength + lengthOf(image));
  return { ok: true, image, timings_ms: timingsOf(n) };
}

function requireLength({ length }: Float64Array, expected: number): void {
  if (length === expected) return;
  throw new RangeError(`The addon answered ${length} numbers where ${expected} were expected`);
}

function timingsOf(n: Float64Array) {
  return { decode: n[0]!, detect: n[1]!, align: n[2]!, embed: n[3]! };
}

function lengthOf({ faces }: ImageReport): number {
  return reportLength + faces.length * faceLength;
}

function reportAt(n: Float64Array, at: number): ImageReport {
  const faces: Face[] = [];
  const count = n[at + 4]!;
  for (let i = 0; i < count; i++) faces.push(faceAt(n, at + reportLength + i * faceLength, i));
  const format = formats[n[at + 2]!]!;
  return { width: n[at]!, height: n[at + 1]!, format, orientation: n[at + 3]!, faces };
}

function faceAt(n: Float64Array, at: number, index: number): Face {
  return {
    index,
    box: { x: n[at]!, y: n[at + 1]!, width: n[at + 2]!, height: n[at + 3]! },
    landmarks: {
      right_eye: [n[at + 4]!, n[at + 5]!],
      left_eye: [n[at + 6]!, n[at + 7]!],
      nose: [n[at + 8]!, n[at + 9]!],
      mouth_right: [n[at + 10]!, n[at + 11]!],
      mouth_left: [n[at + 12]!, n[at + 13]!],
    },
    detection_score: n[at + 14]!,
    found_by: foundBy[n[at + 15]!]!,
    human_score: Number.isNaN(n[at + 22]!) ? undefined : n[at + 22]!,
    pose: { yaw: n[at + 16]!, pitch: n[at + 17]!, roll: n[at + 18]! },
    quality: { sharpness: n[at + 19]!, brightness: n[at + 20]!, face_pixels: n[at + 21]! },
  };
}

function pairAt(n: Float64Array, at: number): Pair {
  return {
    image1_face_index: n[at]!,
    image2_face_index: n[at + 1]!,
    similarity: n[at + 2]!,
    normalised_similarity: n[at + 3]!,
  };
}
