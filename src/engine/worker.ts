import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type ByteRange, loadAddon, type MatchOptions } from './addon.ts';
import { recyclable } from './body-memory.ts';
import type { MatchAnswer, MatchJob, WorkerData, WorkerUp } from './messages.ts';
import { warmUp } from './warmup.ts';

/** Runs in a worker thread: one synchronous native call for each job. */

const { pack_directory, embedding_cache } = workerData as WorkerData;
const addon = loadAddon();
addon.loadPack(pack_directory);
warmUp(addon, pack_directory);
parentPort?.postMessage({ worker_up: true } satisfies WorkerUp);

export default function match(job: MatchJob) {
  const memory = job.body.buffer;
  const returns = recyclable(memory);
  try {
    const options = embedding_cache ? withDigests(job) : job.options;
    const outcome = addon.match(pack_directory, job.body, job.image1, job.image2, options);
    return returns ? moved({ outcome, memory }, memory) : ({ outcome } satisfies MatchAnswer);
  } finally {
    // The next request's body comes into the same memory, and must find nothing of this one's.
    if (returns) job.body.fill(0);
    // A worker makes so little garbage of its own that dozens of bodies would wait for its collector.
    else addon.release(job.body);
  }
}

/** Piscina's way to move a part of what is returned. */
function moved(answer: MatchAnswer, memory: ArrayBuffer) {
  return move({ [transferableSymbol]: memory, [valueSymbol]: answer });
}

/** Here and not on the main thread, which has all requests to serve. */
function withDigests({ body, image1, image2, options }: MatchJob): MatchOptions {
  const sha256 = ({ start, end }: ByteRange) =>
    createHash('sha256').update(body.subarray(start, end)).digest();
  return { ...options, image1_sha256: sha256(image1), image2_sha256: sha256(image2) };
}
