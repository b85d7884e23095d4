// The server that most peers stand behind: one process, with a pool of worker threads.
import { Piscina } from 'piscina';
import { announce, asked, listen } from './app.mjs';
import { Fifo } from './fifo.mjs';

/**
 * Serves until it is told to end. The worker's default export is `recognise` as in app.mjs; `tasksPerWorker` is how many
 * pictures a worker has at once.
 */
export async function serve({ worker, workerData = {}, tasksPerWorker, compare }) {
  const pool = new Piscina({
    filename: worker.href,
    workerData: { ...workerData, variant: asked.variant },
    minThreads: asked.workers,
    maxThreads: asked.workers,
    concurrentTasksPerWorker: tasksPerWorker,
    idleTimeout: Number.POSITIVE_INFINITY,
  });
  const queue = new Fifo(asked.workers * tasksPerWorker, (task) => pool.run(task));
  announce(await listen({ recognise: (task) => queue.push(task), compare }));
}
