// For a library that only one thread of a process can load: processes that share a port, each of which answers by itself.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { announce, asked, listen } from './app.mjs';
import { Fifo } from './fifo.mjs';

async function lead() {
  const workers = Array.from({ length: asked.workers }, () => cluster.fork());
  // With one of them gone, what is measured is no longer what was asked for.
  cluster.on('exit', () => process.exit(1));
  const [[{ port }]] = await Promise.all(workers.map((worker) => once(worker, 'listening')));
  announce(`http://127.0.0.1:${port}`);
}

/**
 * Serves until it is told to end. `open()` resolves to `recognise` as in app.mjs; `tasks` is how many pictures a process
 * has at once.
 */
export async function serveFromProcesses({ open, tasks, compare }) {
  if (cluster.isPrimary) return lead();
  const queue = new Fifo(tasks, await open());
  await listen({ recognise: (task) => queue.push(task), compare });
}
