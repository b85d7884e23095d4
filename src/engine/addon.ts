/** Types of the native addon, which native/binding implements. */

import type { FaceErrorCode, ImageErrorCode } from '../errors.ts';
import type { Sniffed } from './file-kind.ts';
import type { Manifest } from './manifest.ts';

export type ImageFormat = 'jpeg' | 'png' | 'webp';
/** Names of the detection passes. */
export const foundBy = ['primary', 'tiled', 'rotated', 'padded', 'enhanced'] as const;
export type FoundBy = (typeof foundBy)[number];
export type Point = [x: number, y: number];

/** Coordinates are in pixels of the upright image, with the origin top left. Left and right are the person's own. */
export interface Face {
  index: number;
  box: { x: number; y: number; width: number; height: number };
  landmarks: { right_eye: Point; left_eye: Point; nose: Point; mouth_right: Point; mouth_left: Point };
  /** From 0 to 1. */
  detection_score: number;
  found_by: FoundBy;
  /**
   * Score of the check for human faces, compared with `human.threshold` of the pack; absent if the pack has no
   * check.
   */
  human_score?: number;
  /** Above 0: nose and mouth are covered; absent if the pack has no occlusion model. */
  occlusion_score?: number;
  /** From 0 (attack) to 1 (live); absent unless requested and supported by the pack. */
  live_score?: number;
  /** Angles in degrees. */
  pose: { yaw: number; pitch: number; roll: number };
  /**
   * `sharpness` and `brightness`: from 0 to 1. `face_pixels`: side of the aligned face in pixels of the image.
   * `dot_pitch_px`: distance between the dots of a print in pixels; 0 if there are none. `stretch_ratio`: factor,
   * at least 1, by which the image was stretched along one axis.
   */
  quality: {
    sharpness: number;
    brightness: number;
    face_pixels: number;
    dot_pitch_px: number;
    stretch_ratio: number;
  };
  /** Vector of length 1. */
  embedding: Float32Array;
  /** The normalised similarity of two faces is their cosine minus the mean of their cohort scores. */
  cohort_score: number;
}

export interface ImageReport {
  /** Size of the upright image in pixels. */
  width: number;
  height: number;
  format: ImageFormat;
  /** EXIF orientation of the file, 1 to 8; 1 if absent. */
  orientation: number;
  faces: Face[];
  /** The whole image was searched for faces whose longer box side has at least this many pixels. */
  min_detectable_face_px: number;
  /** Face rotations that were searched, in degrees clockwise; absent if all four were searched. */
  searched_rotations?: (0 | 90 | 180 | 270)[];
  /** Number of faces that are not listed, because of `maxFaces` or the time limit. */
  faces_omitted?: number;
  /** True if the limit on CPU time or detector runs ended the search for faces early. */
  search_timed_out?: true;
}

/** Stages of an image's analysis, in order. */
export const stages = ['decode', 'detect', 'align', 'embed'] as const;
/** Time of each stage in milliseconds. */
export type StageTimings = Record<(typeof stages)[number], number>;

/** Result for one image. An image without a face is not an error. */
export interface Analysis {
  ok: true;
  image: ImageReport;
  timings_ms: StageTimings;
  /** CPU time of the analysis. */
  cpu_ms: number;
  /** Places where a face, or the rotation of a face, is uncertain, for a second search. */
  candidates: readonly Candidate[];
  /**
   * Set by a second search: indices of the faces of the first search that new faces replace, because they were found
   * in a wrong rotation.
   */
  replaced?: readonly number[];
}

export type Candidate = Face['box'] & { score: number };

/** The parts of an image's first analysis that the second search needs. */
export interface Earlier extends Pick<Analysis, 'candidates' | 'cpu_ms'> {
  faces: readonly Face['box'][];
}

/** Maximum number of faces of an image. It must equal kMaxFaces in native/core/types.h. */
export const maxFaces = 100;

export const accuracyModes = ['fast', 'balance'] as const;
export type AccuracyMode = (typeof accuracyModes)[number];

export interface AnalyseOptions {
  /** Maximum number of pixels (width × height in the header) that are decoded. */
  max_pixels: number;
  /** Minimum shorter side in pixels. */
  min_side: number;
  accuracy_mode: AccuracyMode;
  /** From 0 to 1. Faces with a lower score are dropped. */
  min_det_score: number;
  use_heuristic_fallback: boolean;
  /** Adds live_score to every face, if the pack supports it. */
  detect_presentation_attack?: boolean;
  /** Also refines the landmarks in mode fast, for the pose of a moving head. Mode balance always refines them. */
  refine_landmarks?: boolean;
  /** Maximum CPU time for one image, in milliseconds; unlimited by default. */
  image_timeout_ms?: number;
}

/** Plain data, because structured clone between threads drops the class and the code of an error. */
export type NativeFailure = { ok: false } & Failure;

/** The reason why an image has no analysis. */
export type Failure =
  | ({ code: 'unsupported_image_format' } & Sniffed)
  /** `reason`: the decoder's message, for the log only. */
  | { code: 'image_decode_failed'; reason?: string }
  | { code: 'image_dimensions'; width: number; height: number; limit_pixels: number }
  | {
      code: Exclude<
        ImageErrorCode,
        'unsupported_image_format' | 'image_decode_failed' | 'image_dimensions' | FaceErrorCode
      >;
    }
  /** Also returned when memory runs out. `message` is for the log only. */
  | { code: 'internal_error'; message: string };

/** The ONNX Runtime of this process. Names of providers are in lower case, without "ExecutionProvider". */
export interface OnnxRuntime {
  version: string;
  /** Providers in use, in order of preference. */
  providers: string[];
  /** Providers that the library supports. */
  available: string[];
}

/** An input or output of a model. Dimensions that the file does not fix are -1. */
export interface TensorFacts {
  name: string;
  type: 'float' | 'float16' | 'other';
  shape: number[];
}

export interface NetFacts {
  inputs: TensorFacts[];
  outputs: TensorFacts[];
}

/** See native/core/find/families/family.h. */
interface OutputShape {
  /** Member of the manifest with the name of the output. */
  member: string;
  /** 0 for an output that covers all strides. */
  stride: number;
  /** 0 if any number is allowed. */
  rows: number;
  columns: number;
}

export interface Addon {
  /**
   * Selects the library and its execution providers once for the process, before any model is loaded. Throws
   * an Error whose message is meant for the user if they are unavailable, or if others are already in use.
   */
  useOnnxRuntime(providers: readonly string[], library: string): void;
  onnxRuntime(): OnnxRuntime;
  /**
   * Returns inputs and outputs of an ONNX file. With `inputShape`, the outputs are those of a run on zeros;
   * otherwise those that the file declares. Throws an Error whose message is meant for the user.
   */
  describeNet(file: string, inputShape?: readonly number[]): NetFacts;
  /**
   * Loads the models of a prepared pack once for the process; later calls with the same directory, from any
   * thread, do nothing. The manifest must come from manifest.ts, because the addon does not validate it. Throws
   * an Error whose message is meant for the user.
   */
  loadPack(directory: string, manifest: Manifest): void;
  /**
   * Returns the outputs that a detector must have, in the order of the manifest's members. Throws an Error
   * for an unknown family.
   */
  detectorOutputs(detector: { family: string; width: number; height: number }): OutputShape[];
  /**
   * Finds the faces of one image and computes their embeddings. It is synchronous and CPU-bound, so call it from a
   * worker thread. The image may be in shared memory, which must not change during the call. `cancelled`: one byte
   * of shared memory; if it becomes nonzero, the call ends within a few milliseconds with an arbitrary outcome. If
   * the pack is not loaded, the outcome is `internal_error`.
   */
  analyse(
    directory: string,
    image: Uint8Array,
    options: AnalyseOptions,
    cancelled?: Uint8Array,
    earlier?: Earlier,
  ): Analysis | NativeFailure;
  /**
   * Returns the cohort scores of embeddings that are concatenated in one array. Throws an Error if the pack is not
   * loaded, and a TypeError unless the length is a multiple of the dimensions. `cancelled`: as for `analyse`; once it
   * is set, the returned scores are invalid.
   */
  cohortScores(directory: string, embeddings: Float32Array, cancelled?: Uint8Array): Float32Array;
  /** Returns the CPU time of the calling thread since it started, in milliseconds. */
  threadCpu(): number;
  /** Makes the system use huge pages of 2 MiB, if available, for pages that are first written after this call. */
  useHugePages(bytes: Uint8Array): void;
  /** Copies `from` into shared memory at `at`, faster than JavaScript. Throws a TypeError unless it fits. */
  copyBytes(to: Uint8Array, at: number, from: Uint8Array): void;
  /**
   * Overwrites the first `count` bytes of shared memory with zeros. Throws a TypeError if the memory is
   * smaller.
   */
  wipe(bytes: Uint8Array, count: number): void;
  /**
   * Decodes base64 with JSON escapes in place, up to the first incomplete group of four characters: at the end, at
   * padding or at an error. Returns the number of bytes read and the number of bytes written, both from the start
   * of `text`.
   */
  decodeBase64(text: Uint8Array): { read: number; written: number };
  /**
   * Overwrites the first `written` bytes with zeros and returns all whole pages to the system. Otherwise shared
   * memory is freed only after garbage collection in every thread. Throws a TypeError if `written` exceeds the
   * memory.
   */
  discard(bytes: Uint8Array, written: number): void;
  /**
   * Makes the kernel drop new connection requests on `port` of this process, so that pending connections can be
   * accepted before the socket closes. Returns false if nothing listens on the port or the system does not allow the
   * change; throws a TypeError for an invalid port.
   */
  dropNewConnections(port: number): boolean;
  /**
   * Sends SIGTERM to this process when its parent process ends, or at once if the parent has ended. `parent`: pid of
   * the parent; 0 cancels. Returns false if the system does not support it; throws a TypeError for an invalid pid.
   */
  endWithParent(parent: number): boolean;
  /**
   * Ends the process with this exit code at once, whereas process.exit() waits for native calls and for a write to
   * a pipe that nobody reads. Throws a TypeError for an invalid exit code.
   */
  endNow(code: number): never;
  /**
   * Returns the versions of the libraries. `libjpeg` (libjpeg-turbo) and `opencv` are versions at compile time; the
   * others are versions at run time.
   */
  versions(): { onnxruntime: string; opencv: string; libjpeg: string; libpng: string; libwebp: string };
}
