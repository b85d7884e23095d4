import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { type ByteRange, loadAddon, type MatchOptions } from './addon.ts';
import { recyclable } from './body-memory.ts';
import type { MatchAnswer, MatchJob, WorkerData, WorkerUp } from './pool.ts';

/** Runs in a worker thread: one synchronous native call for each job. */

/** A drawn face of 96 × 96 pixels (WebP). */
const picture = Buffer.from(
  'UklGRiABAABXRUJQVlA4IBQBAACQDQCdASpgAGAAP3Gsy1i0rymjsBcZypAuCWUA02BRQ7Bl7CVV4O4ReFKW6ADAkSS++stZCsqacJK7uNxy' +
    'LeaVvaP72ywCgMAOqgGoGTiyN/1WVz+Ad3oJ94/DtKbm4MMWA+5urRMSDI9Oomleys8k36/2lgAA/twQlgHKBRxR9lIO2YRGZeBp6av6' +
    'Y8dSt+yAs6xqT5KX+D43WlFhGTkE6COlJj3FucyhmOQWV/K55EanRX471kX0J36Ztjsvm7uCnIYf+tYswahwEBv6nkPjsjvegKkbGuyf' +
    'ML6XSdGRyZMt0ixfaHOmjcYlD9yzl8w7+tNYW4lhdo2Jy9Idff97HniH+Z1d4tPv7bh5Osh8AAAAAAA=',
  'base64',
);

const { pack_directory, embedding_cache } = workerData as WorkerData;
const addon = loadAddon();
addon.loadPack(pack_directory);
warmUp();
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

/**
 * One real inference through every net: the first run of a session allocates its buffers and touches its weights, and a
 * pack that loads but does not run must be found out before a client does.
 */
function warmUp(): void {
  const range = { start: 0, end: picture.length };
  const outcome = addon.match(pack_directory, picture, range, range, {
    accuracy_mode: 'balance',
    min_det_score: 0.5,
    use_heuristic_fallback: false,
    image1_face_index: -1,
    image2_face_index: -1,
    auto_pair_best: false,
    max_pixels: 96 * 96,
    min_side: 1,
  });
  // A pack of somebody else's may find no face in a drawing; the packs here do.
  if (!outcome.ok && outcome.code !== 'no_face_found') {
    throw new Error(`The first inference failed: ${JSON.stringify(outcome)}`);
  }
}
