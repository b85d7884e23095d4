// Loaded into the server with --import: SIGUSR2 ends the worker thread that was started first, as a crash would.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const workers = [];
  process.on('worker', (worker) => {
    workers.push(worker);
    worker.on('exit', () => workers.splice(workers.indexOf(worker), 1));
  });
  process.on('SIGUSR2', () => workers[0].terminate());
}
