import type { ByteRange, MatchOptions, MatchResult, NativeFailure } from './addon.ts';

/** What crosses between the threads. Types only. */

export interface MatchJob {
  /** Alone in its ArrayBuffer, which is moved to the worker: the sender's is detached. */
  body: Uint8Array<ArrayBuffer>;
  image1: ByteRange;
  image2: ByteRange;
  options: MatchOptions;
}

/** Failures are data: structured clone would drop an error's class and code. */
export type MatchOutcome = MatchResult | NativeFailure;

/** What a worker answers: the outcome, and the body's memory, wiped, where that is worth using again. */
export interface MatchAnswer {
  outcome: MatchOutcome;
  memory?: ArrayBuffer;
}

/** Given to each worker when it starts. */
export interface WorkerData {
  pack_directory: string;
  /** Pictures are hashed, so that the embedding cache can know them again. */
  embedding_cache: boolean;
}

/** Posted by a worker once it has loaded everything and done one real inference. */
export interface WorkerUp {
  worker_up: true;
}
