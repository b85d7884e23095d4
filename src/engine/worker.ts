import { parentPort, threadId, workerData } from 'node:worker_threads';
import { Problem } from '../errors.ts';
import { tellText } from './file-kind.ts';
import { loadAddon } from './load-addon.ts';
import type { ImagesJob, Outcome, WorkerData, WorkerTools, WorkerUp, WorkOutcome, WorkTask } from './pool.ts';

/** Runs in a worker thread: a synchronous native call for each image. */

/** A drawn face of 96 × 96 pixels (WebP). */
const drawnFace = Buffer.from(
  'UklGRiABAABXRUJQVlA4IBQBAACQDQCdASpgAGAAP3Gsy1i0rymjsBcZypAuCWUA02BRQ7Bl7CVV4O4ReFKW6ADAkSS++stZCsqacJK7uNxy' +
    'LeaVvaP72ywCgMAOqgGoGTiyN/1WVz+Ad3oJ94/DtKbm4MMWA+5urRMSDI9Oomleys8k36/2lgAA/twQlgHKBRxR9lIO2YRGZeBp6av6' +
    'Y8dSt+yAs6xqT5KX+D43WlFhGTkE6COlJj3FucyhmOQWV/K55EanRX471kX0J36Ztjsvm7uCnIYf+tYswahwEBv6nkPjsjvegKkbGuyf' +
    'ML6XSdGRyZMt0ixfaHOmjcYlD9yzl8w7+tNYW4lhdo2Jy9Idff97HniH+Z1d4tPv7bh5Osh8AAAAAAA=',
  'base64',
);

const { pack_directory, flags } = workerData as WorkerData;
const addon = loadAddon();
/** One real inference through every net: a pack that loads but does not run must fail here and not for a client. */
const first = addon.analyse(pack_directory, drawnFace, {
  accuracy_mode: 'balance',
  min_det_score: 0.5,
  use_heuristic_fallback: false,
  max_pixels: 96 * 96,
  min_side: 1,
});
if (!first.ok) throw new Error(`The first inference failed: ${JSON.stringify(first)}`);
parentPort?.postMessage({ worker_up: threadId } satisfies WorkerUp);

export default function run(task: ImagesJob | WorkTask): Outcome[] | Promise<WorkOutcome[]> {
  const cancelled = flags.subarray(task.slot, task.slot + 1);
  if ('module' in task) return calculate(task, cancelled);
  const { images, options } = task;
  return images.map((image) => tellText(addon.analyse(pack_directory, image, options, cancelled), image));
}

async function calculate({ module, input }: WorkTask, cancelled: Uint8Array): Promise<WorkOutcome[]> {
  const { work }: { work(input: unknown, tools: WorkerTools): unknown } = await import(module);
  const check = () => {
    // Nobody is told.
    if (Atomics.load(cancelled, 0) !== 0) throw new Problem('deadline_exceeded');
  };
  try {
    check();
    const cohortScores = (vectors: Float32Array) => addon.cohortScores(pack_directory, vectors, cancelled);
    return [{ ok: true, result: work(input, { cohortScores, check }) }];
  } catch (error) {
    if (error instanceof Problem) return [{ ok: false, code: error.code, extras: error.extras }];
    throw error;
  }
}
