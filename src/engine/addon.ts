import { createRequire } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { addonFile, silenceOnnxRuntime } from '../config.ts';
import { productPath } from '../paths.ts';

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
  /** A unit vector. */
  embedding: Float32Array;
  /** What normalisation subtracts: the normalised similarity is the cosine less the mean of two of these. */
  cohort_score: number;
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

/** Milliseconds spent in each stage. */
export interface StageTimings {
  decode: number;
  detect: number;
  align: number;
  embed: number;
}

/** What there is to know about one picture. No face is not a failure. */
export interface Analysis {
  ok: true;
  image: ImageReport;
  timings_ms: StageTimings;
}

export type AccuracyMode = 'fast' | 'balance';
export interface ImageLimits {
  /** Most pixels (width × height as the header declares them) that are decoded. */
  max_pixels: number;
  /** Shortest side in pixels that is accepted. */
  min_side: number;
}

export interface AnalyseOptions extends ImageLimits {
  accuracy_mode: AccuracyMode;
  /** 0..1; faces below are dropped before anything else. */
  min_det_score: number;
  use_heuristic_fallback: boolean;
  /** CPU time in milliseconds that decoding and looking at one picture may take; default any. */
  picture_ms?: number;
}

interface DrawResult {
  ok: true;
  /** A whole file, of the upright picture's size. */
  png: Uint8Array<ArrayBuffer>;
}

/** Failures cross threads as data: structured clone would drop an error's class and code. */
export type NativeFailure = { ok: false } & Failure;

/** Why a picture has no analysis. */
export type Failure =
  | { code: 'unsupported_image_format'; detected: string }
  | { code: 'image_decode_failed' | 'image_too_complex' }
  | { code: 'image_dimensions'; width: number; height: number; limit_pixels: number }
  /** `message` is for the log, never for the client. */
  | { code: 'internal_error'; message: string };

export interface Addon {
  /**
   * Loads a prepared pack (a directory with manifest.json and its nets) once for the process; a later call, from
   * any thread, with the same directory is free. Throws an Error with a message for people when it cannot.
   */
  loadPack(directory: string): void;
  /**
   * Finds the faces of one picture and embeds them. Synchronous and CPU-bound: call it from a worker thread. The picture may
   * lie in shared memory that nobody writes to meanwhile. `cancelled`: one byte of shared memory; once it is not 0 the call
   * ends within some milliseconds, with any outcome.
   */
  analyse(
    directory: string,
    image: Uint8Array,
    options: AnalyseOptions,
    cancelled?: Uint8Array,
  ): Analysis | NativeFailure;
  /**
   * The cohort score of each of several embeddings that lie one behind the other: what `analyse` would tell of their faces.
   * Throws a TypeError unless they are whole vectors. `cancelled` as above; the scores are of no use then.
   */
  cohortScores(directory: string, embeddings: Float32Array, cancelled?: Uint8Array): Float32Array;
  /** The upright picture with boxes, landmarks and labels of `faces`, which `analyse` found in it. */
  draw(image: Uint8Array, faces: readonly Face[], limits: ImageLimits): DrawResult | NativeFailure;
  /**
   * Overwrites memory with zeros; whole pages of it take no memory until they are written again. What is shared between threads
   * is freed only when the garbage collectors of all of them have been by.
   */
  discard(bytes: Uint8Array): void;
  /**
   * Where two sockets of this process listen on `port`, lets the kernel give every new connection to the one that came last
   * (native/core/reuseport.h says why). Answers false where the system cannot; throws a TypeError for what is no port.
   */
  preferNewestListener(port: number): boolean;
  versions(): { onnxruntime: string; opencv: string; libjpeg: string; libpng: string; libwebp: string };
}

/** Loads the addon. Throws an Error whose message says what to do when it is missing or does not load. */
export function loadAddon(): Addon {
  // In a worker it is the process's already.
  if (isMainThread) silenceOnnxRuntime();
  const file = addonFile() ?? productPath('build/addon/Release/facematch.node');
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
