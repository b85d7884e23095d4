import type { ErrorCode, ProblemExtras } from '../errors.ts';
import type { AnalyseOptions, Analysis, Earlier, NativeFailure } from './addon.ts';

/** Messages between the main thread and the worker threads. */

/** Failures are plain data, because structured clone drops the class and the code of an error. */
export type Outcome = Analysis | NativeFailure;

export interface AnalyseInput {
  /** In shared memory, so that the images are not copied. They must not change until the job has ended. */
  images: readonly Uint8Array[];
  options: AnalyseOptions;
  /** The first analysis of each image; only in a second search. */
  earlier?: readonly Earlier[];
}

/** Functions that a job gets besides its input. A job throws a Problem if its input is invalid. */
export interface WorkerTools {
  /** Returns the cohort scores of vectors that are concatenated in one array. */
  cohortScores(embeddings: Float32Array): Float32Array;
  /** Throws if the result is no longer needed. */
  check(): void;
}

/** Runs in a worker thread. Input and output are plain data or shared memory. */
// biome-ignore lint/suspicious/noExplicitAny: each job has its own type of input; see InputOf
type Job = (input: any, tools: WorkerTools) => unknown;

/**
 * Calculations of worker threads besides the analysis of images, by name. src/endpoints/worker-jobs.ts
 * implements them.
 */
export type Jobs = Readonly<Record<string, Job>>;
export type NameOf<J extends Jobs> = keyof J & string;
export type InputOf<J extends Jobs, Name extends NameOf<J>> = Parameters<J[Name]>[0];
export type OutputOf<J extends Jobs, Name extends NameOf<J>> = Awaited<ReturnType<J[Name]>>;

/** A message to a worker. */
export type Request = { analyse: AnalyseInput } | { name: string; input: unknown };

/** A reply of a worker, with the CPU time of the job. */
export type Response<Output> = { cpu_ms: number } & (
  | { ok: true; output: Output }
  /** The Problem that the job threw. */
  | { ok: false; code: ErrorCode; extras: ProblemExtras }
  /** Any other error that the job threw. */
  | { ok: false; error: unknown }
);

/** First message of a worker, sent when it has run its first inference. */
export const up = 'up';

export interface WorkerData {
  pack_directory: string;
  /** One byte of shared memory; nonzero if the output is no longer needed. */
  cancelled: Uint8Array;
}
