/** The native addon: every native signature. Names are the same from the C++ struct to the JSON answer. */

import type { FaceErrorCode, ImageErrorCode } from '../errors.ts';
import type { Sniffed } from './file-kind.ts';
import type { Manifest } from './manifest.ts';

export type ImageFormat = 'jpeg' | 'png' | 'webp';
/** The detection steps in their order. */
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
  /** How certainly it is a human face; absent when the pack has no check. */
  human_score?: number;
  /** Above 0 nose and mouth are covered; absent when the pack cannot tell. */
  occlusion_score?: number;
  /** 0..1, higher: more likely live; absent unless it was asked for and the pack can tell. */
  live_score?: number;
  /** Degrees. */
  pose: { yaw: number; pitch: number; roll: number };
  /**
   * sharpness and brightness 0..1; face_pixels is the side of the aligned face in pixels of the image; dot_pitch, of a print, its pixels
   * from dot to dot, else 0; stretch, 1 or more, by how much the image was stretched along one axis.
   */
  quality: {
    sharpness: number;
    brightness: number;
    face_pixels: number;
    dot_pitch: number;
    stretch: number;
  };
  /** A unit vector. */
  embedding: Float32Array;
  /** The normalised similarity is the cosine minus the mean of both faces' scores. */
  cohort_score: number;
}

export interface ImageReport {
  /** Pixels of the upright image. */
  width: number;
  height: number;
  format: ImageFormat;
  /** EXIF orientation 1..8 of the file, 1 when there is none. */
  orientation: number;
  faces: Face[];
  /** The longer side of a face, in pixels of the image, from which faces were looked for in all of it. */
  min_detectable_face_px: number;
  /** How many faces were found beyond the most that are listed. */
  faces_omitted?: number;
  /** The image's time limit ended the search for faces early. */
  search_timed_out?: true;
}

/** The stages of an image, in their order. */
export const stages = ['decode', 'detect', 'align', 'embed'] as const;
/** Milliseconds spent in each stage. */
export type StageTimings = Record<(typeof stages)[number], number>;

/** The result for one image. No face is not a failure. */
export interface Analysis {
  ok: true;
  image: ImageReport;
  timings_ms: StageTimings;
}

export const accuracyModes = ['fast', 'balance'] as const;
export type AccuracyMode = (typeof accuracyModes)[number];

export interface AnalyseOptions {
  /** Most pixels (width × height as the header declares them) that are decoded. */
  max_pixels: number;
  /** Shortest side in pixels that is accepted. */
  min_side: number;
  accuracy_mode: AccuracyMode;
  /** 0..1; faces below are dropped before anything else. */
  min_det_score: number;
  use_heuristic_fallback: boolean;
  /** Gives every face its live_score, if the pack can. */
  detect_presentation_attack?: boolean;
  /** Refines the landmarks in either mode, for a pose that follows a moving head; balance always does. */
  refine_landmarks?: boolean;
  /** Most CPU time for decoding one image and finding its faces, in milliseconds; no limit by default. */
  image_timeout_ms?: number;
}

/** Plain data, because structured clone between threads drops an error's class and code. */
export type NativeFailure = { ok: false } & Failure;

/** Why an image has no analysis. */
export type Failure =
  | ({ code: 'unsupported_image_format' } & Sniffed)
  /** `reason`: what its decoder says; for the log, never for the client. */
  | { code: 'image_decode_failed'; reason?: string }
  | { code: 'image_dimensions'; width: number; height: number; limit_pixels: number }
  | {
      code: Exclude<
        ImageErrorCode,
        'unsupported_image_format' | 'image_decode_failed' | 'image_dimensions' | FaceErrorCode
      >;
    }
  /** Also where memory ran out. `message` is for the log, never for the client. */
  | { code: 'internal_error'; message: string };

/** ONNX Runtime as the process uses it. Providers are named without "ExecutionProvider", in lower case. */
export interface OnnxRuntime {
  version: string;
  /** Those in use, in order of preference. */
  providers: string[];
  /** Those that the library has. */
  available: string[];
}

/** An input or output of a net; sides that the file leaves open are -1. */
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
  /** The member of the manifest that names it. */
  member: string;
  /** It is 0 for an output of all strides. */
  stride: number;
  /** It is 0 for any number. */
  rows: number;
  columns: number;
}

export interface Addon {
  /**
   * Chooses the library and its execution providers once for the process, before anything is loaded. Throws an Error with a message for
   * people when they cannot be had, or others are in use.
   */
  useOnnxRuntime(providers: readonly string[], library: string): void;
  onnxRuntime(): OnnxRuntime;
  /**
   * Inputs and outputs of an ONNX file. Outputs are as the file declares them, or, with a shape for its only input, as a run on
   * zeros makes them. Throws an Error with a message for people.
   */
  describeNet(file: string, inputShape?: readonly number[]): NetFacts;
  /**
   * Loads the nets of a prepared pack once for the process; later calls with the same directory, from any thread, do nothing.
   * The manifest must be one that manifest.ts has read: only there it is judged. Throws an Error with a message for people.
   */
  loadPack(directory: string, manifest: Manifest): void;
  /** The outputs that a detector must have, in the order of the manifest's members. Throws an Error for an unknown family. */
  detectorOutputs(detector: { family: string; width: number; height: number }): OutputShape[];
  /**
   * Finds the faces of one image and embeds them. Synchronous and CPU-bound: call it from a worker thread. The image may be
   * in shared memory, which must not change meanwhile. `cancelled`: one byte of shared memory; once it is not 0, the call
   * ends within some milliseconds, with any outcome. A pack that is not loaded is an `internal_error`.
   */
  analyse(
    directory: string,
    image: Uint8Array,
    options: AnalyseOptions,
    cancelled?: Uint8Array,
  ): Analysis | NativeFailure;
  /**
   * The cohort scores of embeddings, which follow each other in one array; the same as `analyse` gives. Throws a TypeError
   * unless they are whole vectors. `cancelled` as above; the scores are then invalid.
   */
  cohortScores(directory: string, embeddings: Float32Array, cancelled?: Uint8Array): Float32Array;
  /** CPU time of the calling thread since it began, in milliseconds. */
  threadCpu(): number;
  /** Memory that is written from now on comes in huge pages, where the system has them: up to 2 MiB at once. */
  useHugePages(bytes: Uint8Array): void;
  /** Copies `from` into shared memory at `at`, as fast as memory goes. Throws a TypeError unless it fits. */
  copyBytes(to: Uint8Array, at: number, from: Uint8Array): void;
  /** Overwrites the first bytes of shared memory with zeros. Throws a TypeError unless there are as many. */
  wipe(bytes: Uint8Array, count: number): void;
  /**
   * Decodes base64 where it lies, with the escapes of JSON, up to the first group of four letters that is not whole: the end, padding or a
   * fault. Gives the bytes of text that were read, and those that were written from its start on.
   */
  decodeBase64(text: Uint8Array): { read: number; written: number };
  /**
   * Overwrites the first `written` bytes with zeros and returns all whole pages to the system: shared memory is otherwise freed only after
   * garbage collection in every thread. Throws a TypeError unless `written` lies within the memory.
   */
  discard(bytes: Uint8Array, written: number): void;
  /**
   * Makes the kernel drop requests for new connections on `port` of this process, so that those under way can be accepted before
   * the socket closes. Returns false when the system cannot; throws a TypeError for an invalid port.
   */
  dropNewConnections(port: number): boolean;
  /**
   * Sends SIGTERM to this process when its parent, of that number, ends, or at once if it has ended; 0 takes that back. Returns false when
   * the system cannot; throws a TypeError for what is no number of a process.
   */
  endWithParent(parent: number): boolean;
  /**
   * Ends the process with this exit code, whatever its threads do: process.exit() waits for a native call and for a write to a pipe that
   * nobody reads. Throws a TypeError for what is no exit code.
   */
  endNow(code: number): never;
  /** `libjpeg` is libjpeg-turbo's. It and `opencv` are what the addon was compiled with, the others what is loaded. */
  versions(): { onnxruntime: string; opencv: string; libjpeg: string; libpng: string; libwebp: string };
}
