import { createRequire } from 'node:module';
import { addonFile } from '../config.ts';
import { projectPath } from '../paths.ts';

/**
 * The one typed hole to the native addon: every native signature stands here, and no other file loads the `.node`.
 * Field names are the wire's own (snake_case), the same word from the C++ struct to the JSON answer.
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
  /** The picture's time was spent before all was looked at. */
  look_cut_short?: true;
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

export type AccuracyMode = 'fast' | 'balance';
export type ImageField = 'image1' | 'image2';

/** Where an image lies within a body: bytes from `start` up to, not including, `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ImageLimits {
  /** Most pixels (width × height as the header declares them) that are decoded. */
  max_pixels: number;
  /** Shortest side in pixels that is accepted. */
  min_side: number;
}

export interface DetectOptions extends ImageLimits {
  accuracy_mode: AccuracyMode;
  /** 0..1; faces below are dropped before anything else. */
  min_det_score: number;
  use_heuristic_fallback: boolean;
  /** CPU time in milliseconds that decoding and looking at one picture may take; default any. */
  picture_ms?: number;
}

export interface MatchOptions extends DetectOptions {
  /** Position in the list of faces, or -1 for automatic choice. */
  image1_face_index: number;
  image2_face_index: number;
  auto_pair_best: boolean;
  /** The two pictures on two threads, for when cores are idle; default false. The answer is the same. */
  parallel?: boolean;
  /**
   * SHA-256 of each picture's bytes (32 bytes). With it the picture is looked for in the embedding cache, and kept there
   * once all of its faces are embedded. The answer is the same but for the times.
   */
  image1_sha256?: Uint8Array;
  image2_sha256?: Uint8Array;
}

export interface DrawResult {
  ok: true;
  /** A whole file, of the upright picture's size. */
  png: Uint8Array<ArrayBuffer>;
}

export interface EmbeddingCacheCounts {
  /** Pictures that were looked for since the process began, and were there or were not. */
  hits: number;
  misses: number;
  /** Kept now. */
  pictures: number;
}

/** Failures cross threads as data: structured clone would drop an error's class and code. */
export type NativeFailure = { ok: false } & (
  | { code: 'unsupported_image_format'; field: ImageField; detected: string }
  | { code: 'image_decode_failed' | 'image_too_complex'; field: ImageField }
  | { code: 'image_dimensions'; field: ImageField; width: number; height: number; limit_pixels: number }
  | { code: 'no_face_found'; errors: { field: ImageField; code: 'no_face_found'; look_cut_short?: true }[] }
  | { code: 'face_index_out_of_range'; field: ImageField; faces_found: number }
  /** `message` is for the log, never for the client. */
  | { code: 'internal_error'; message: string }
);

export interface Addon {
  /**
   * Loads a prepared pack (a directory with manifest.json and its nets) once for the process; a later call, from
   * any thread, with the same directory is free. Throws an Error with a message for people when it cannot.
   */
  loadPack(directory: string): void;
  /**
   * Compares two pictures lying in one body. Synchronous and CPU-bound: call it from a worker thread.
   * Single-image failures of `detect`, `embed` and `draw` name the field `image1`.
   */
  match(
    directory: string,
    body: Uint8Array,
    image1: ByteRange,
    image2: ByteRange,
    options: MatchOptions,
  ): MatchResult | NativeFailure;
  detect(directory: string, image: Uint8Array, options: DetectOptions): DetectResult | NativeFailure;
  embed(directory: string, image: Uint8Array, options: DetectOptions): EmbedResult | NativeFailure;
  /** The upright picture with boxes, landmarks and labels of `faces`, which `detect` found in it. */
  draw(image: Uint8Array, faces: readonly Face[], limits: ImageLimits): DrawResult | NativeFailure;
  /**
   * Sets of how many pictures the process keeps faces and embeddings in memory, the least recently used going first.
   * 0, as at the start, keeps none.
   */
  keepEmbeddings(pictures: number): void;
  embeddingCache(): EmbeddingCacheCounts;
  /** Frees the memory behind `body` at once; every view of it is empty afterwards. */
  release(body: Uint8Array): void;
  /**
   * Where two sockets of this process listen on `port`, lets the kernel give every new connection to the one that came last
   * (native/core/reuseport.h says why). Answers false where the system cannot; throws a TypeError for what is no port.
   */
  preferNewestListener(port: number): boolean;
  versions(): { onnxruntime: string; opencv: string; libjpeg: string; libpng: string; libwebp: string };
}

/** Loads the addon. Throws an Error whose message says what to do when it is missing or does not load. */
export function loadAddon(): Addon {
  const file = addonFile() ?? projectPath('build/addon/Release/facematch.node');
  try {
    return createRequire(import.meta.url)(file) as Addon;
  } catch (error) {
    throw new Error(
      // Node puts the list of requiring files below the first line.
      `The native addon did not load from ${file}: ${(error as Error).message.split('\n')[0]}\nBuild it with: npm run setup`,
      { cause: error },
    );
  }
}
