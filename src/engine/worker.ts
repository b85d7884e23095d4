import { parentPort, workerData } from 'node:worker_threads';
import { loadAddon } from './addon.ts';
import type { MatchJob, MatchOutcome, WorkerData, WorkerUp } from './messages.ts';
import { warmUp } from './warmup.ts';

/** Runs in a worker thread: one synchronous native call for each job. */

const { pack_directory } = workerData as WorkerData;
const addon = loadAddon();
addon.loadPack(pack_directory);
warmUp(addon, pack_directory);
parentPort?.postMessage({ worker_up: true } satisfies WorkerUp);

export default function match(job: MatchJob): MatchOutcome {
  try {
    return addon.match(pack_directory, job.body, job.image1, job.image2, job.options);
  } finally {
    // A worker makes so little garbage of its own that dozens of bodies would wait for its collector.
    addon.release(job.body);
  }
}
