/** The native addon: every native signature. Names are the same from the C++ struct to the JSON response. */

import type { FaceErrorCode, ImageErrorCode } from '../errors.ts';
import type { Sniffed } from './file-kind.ts';
import type { Manifest } from './manifest.ts';

export type ImageFormat = 'jpeg' | 'png' | 'webp';
/** Detection passes, in the order in which they run. */
export const foundBy = ['primary', 'tiled', 'rotated', 'padded', 'enhanced'] as const;
export type FoundBy = (typeof foundBy)[number];
export type Point = [x: number, y: number];

/** Coordinates are pixels of the upright image, origin top left; left and right are the person's own. */
export interface Face {
  index: number;
  box: { x: number; y: number; width: number; height: number };
  landmarks: { right_eye: Point; left_eye: Point; nose: Point; mouth_right: Point; mouth_left: Point };
  /** 0..1 */
  detection_score: number;
  found_by: FoundBy;
  /** Probability that it is a human face; absent if the pack has no check. */
  human_score?: number;
  /** Above 0, nose and mouth are covered; absent if the pack has no such model. */
  occlusion_score?: number;
  /** 0..1, higher: more likely live; absent unless requested and supported by the pack. */
  live_score?: number;
  /** Angles in degrees. */
  pose: { yaw: number; pitch: number; roll: number };
  /**
   * sharpness and brightness: 0..1. face_pixels: side of the aligned face in pixels of the image. dot_pitch_px:
   * distance between the dots of a print in pixels, otherwise 0. stretch_ratio: factor, at least 1, by which the
   * image was stretched along one axis.
   */
  quality: {
    sharpness: number;
    brightness: number;
    face_pixels: number;
    dot_pitch_px: number;
    stretch_ratio: number;
  };
  /** A unit vector. */
  embedding: Float32Array;
  /** Normalised similarity is the cosine minus the mean of both faces' scores. */
  cohort_score: number;
}

export interface ImageReport {
  /** Size of the upright image in pixels. */
  width: number;
  height: number;
  format: ImageFormat;
  /** EXIF orientation 1..8 of the file; 1 if absent. */
  orientation: number;
  faces: Face[];
  /** Faces whose longer side is at least this many pixels were searched for in the whole image. */
  min_detectable_face_px: number;
  /** The rotations of a face that were searched for, in degrees clockwise; absent if all four were. */
  searched_rotations?: (0 | 90 | 180 | 270)[];
  /** Number of further faces, beyond `maxFaces`, that are not listed. */
  faces_omitted?: number;
  /** True if the image's time limit ended the search for faces early. */
  search_timed_out?: true;
}

/** Stages of an image's analysis, in order. */
export const stages = ['decode', 'detect', 'align', 'embed'] as const;
/** Milliseconds spent in each stage. */
export type StageTimings = Record<(typeof stages)[number], number>;

/** Result for one image. An image without a face is not an error. */
export interface Analysis {
  ok: true;
  image: ImageReport;
  timings_ms: StageTimings;
  /** CPU time of the analysis. */
  cpu_ms: number;
  /** Places with a weak response of the detector, for a further search. */
  candidates: readonly Candidate[];
  /**
   * After a further search: indexes of the earlier faces that a new one replaces, because they were found in a
   * wrong rotation.
   */
  replaced?: readonly number[];
}

export type Candidate = Face['box'] & { score: number };

/** Results of the first analysis of an image that a further search needs. */
export interface Earlier extends Pick<Analysis, 'candidates' | 'cpu_ms'> {
  faces: readonly Face['box'][];
}

/** Maximum number of faces of an image; kMaxFaces in native/core/types.h. */
export const maxFaces = 100;

export const accuracyModes = ['fast', 'balance'] as const;
export type AccuracyMode = (typeof accuracyModes)[number];

export interface AnalyseOptions {
  /** Maximum number of pixels (width × height in the header) that are decoded. */
  max_pixels: number;
  /** Minimum shorter side in pixels. */
  min_side: number;
  accuracy_mode: AccuracyMode;
  /** 0..1; faces with a lower score are dropped first. */
  min_det_score: number;
  use_heuristic_fallback: boolean;
  /** Adds live_score to every face, if the pack supports it. */
  detect_presentation_attack?: boolean;
  /** Refines the landmarks in either mode, for the pose of a moving head; balance always does. */
  refine_landmarks?: boolean;
  /** Maximum CPU time for decoding one image and finding its faces, in milliseconds; unlimited by default. */
  image_timeout_ms?: number;
}

/** Plain data, because structured clone between threads drops an error's class and code. */
export type NativeFailure = { ok: false } & Failure;

/** The reason why an image has no analysis. */
export type Failure =
  | ({ code: 'unsupported_image_format' } & Sniffed)
  /** `reason`: the decoder's message; for the log, never for the client. */
  | { code: 'image_decode_failed'; reason?: string }
  | { code: 'image_dimensions'; width: number; height: number; limit_pixels: number }
  | {
      code: Exclude<
        ImageErrorCode,
        'unsupported_image_format' | 'image_decode_failed' | 'image_dimensions' | FaceErrorCode
      >;
    }
  /** Also returned when memory runs out. `message` is for the log, never for the client. */
  | { code: 'internal_error'; message: string };

/** The ONNX Runtime of this process. Providers are named without "ExecutionProvider", in lower case. */
export interface OnnxRuntime {
  version: string;
  /** Providers in use, in order of preference. */
  providers: string[];
  /** Providers that the library supports. */
  available: string[];
}

/** An input or output of a model; sides that the file leaves open are -1. */
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
  /** Member of the manifest that names it. */
  member: string;
  /** 0 for an output that covers all strides. */
  stride: number;
  /** 0 for any number. */
  rows: number;
  columns: number;
}

export interface Addon {
  /**
   * Chooses the library and its execution providers once for the process, before anything is loaded. Throws
   * an Error whose message is meant for the user if they are unavailable, or others are in use.
   */
  useOnnxRuntime(providers: readonly string[], library: string): void;
  onnxRuntime(): OnnxRuntime;
  /**
   * Returns inputs and outputs of an ONNX file. Outputs are as the file declares them or, given a shape for
   * its only input, as a run on zeros returns them. Throws an Error whose message is meant for the user.
   */
  describeNet(file: string, inputShape?: readonly number[]): NetFacts;
  /**
   * Loads the models of a prepared pack once for the process; later calls with the same directory, from any
   * thread, do nothing. Only manifest.ts validates manifests, so this one must come from it. Throws an Error
   * whose message is meant for the user.
   */
  loadPack(directory: string, manifest: Manifest): void;
  /**
   * Returns the outputs that a detector must have, in the order of the manifest's members. Throws an Error
   * for an unknown family.
   */
  detectorOutputs(detector: { family: string; width: number; height: number }): OutputShape[];
  /**
   * Finds the faces of one image and embeds them. Synchronous and CPU-bound, so call it from a worker thread.
   * The image may be in shared memory, which must not change meanwhile. `cancelled`: one byte of shared
   * memory; once it is not 0, the call ends within some milliseconds, with any outcome. A pack that is not
   * loaded is an `internal_error`.
   */
  analyse(
    directory: string,
    image: Uint8Array,
    options: AnalyseOptions,
    cancelled?: Uint8Array,
    earlier?: Earlier,
  ): Analysis | NativeFailure;
  /**
   * Returns the cohort scores of embeddings that are concatenated in one array, the same as `analyse` returns.
   * Throws a TypeError unless they are whole vectors. `cancelled`: as for `analyse`; once it is set, the
   * returned scores are invalid.
   */
  cohortScores(directory: string, embeddings: Float32Array, cancelled?: Uint8Array): Float32Array;
  /** Returns the CPU time of the calling thread since it started, in milliseconds. */
  threadCpu(): number;
  /** Makes the system use huge pages of 2 MiB, if it has them, for memory that is written from now on. */
  useHugePages(bytes: Uint8Array): void;
  /**
   * Copies `from` into shared memory at `at`, faster than JavaScript does. Throws a TypeError unless it fits.
   */
  copyBytes(to: Uint8Array, at: number, from: Uint8Array): void;
  /**
   * Overwrites the first `count` bytes of shared memory with zeros. Throws a TypeError if the memory is
   * smaller.
   */
  wipe(bytes: Uint8Array, count: number): void;
  /**
   * Decodes base64 with JSON escapes in place, up to the first incomplete group of four characters: at the end,
   * at padding or at an error. Returns the number of characters read, and of bytes written from the start of
   * `text`.
   */
  decodeBase64(text: Uint8Array): { read: number; written: number };
  /**
   * Overwrites the first `written` bytes with zeros and returns all whole pages to the system, because shared
   * memory is otherwise freed only after garbage collection in every thread. Throws a TypeError unless
   * `written` is within the memory.
   */
  discard(bytes: Uint8Array, written: number): void;
  /**
   * Makes the kernel drop new connection requests on `port` of this process, so that pending ones can be
   * accepted before the socket closes. Returns false if the system does not support it; throws a TypeError
   * for an invalid port.
   */
  dropNewConnections(port: number): boolean;
  /**
   * Sends SIGTERM to this process when its parent, with that pid, ends, or at once if it has ended; 0 cancels
   * that. Returns false if the system does not support it; throws a TypeError for an invalid pid.
   */
  endWithParent(parent: number): boolean;
  /**
   * Ends the process with this exit code at once. process.exit() would wait for native calls, and for a write
   * to a pipe that has no reader. Throws a TypeError for an invalid exit code.
   */
  endNow(code: number): never;
  /**
   * `libjpeg` is libjpeg-turbo's version. It and `opencv` are the versions at compile time, the others those
   * that are loaded.
   */
  versions(): { onnxruntime: string; opencv: string; libjpeg: string; libpng: string; libwebp: string };
}
