// Exits in the way that its argument names. Each worker thread analyses a photo `workerData.rounds` times
// without returning to its event loop.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync, write, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { analyseOnce, load } from './addon.mjs';

const endless = 1e9;
const worker = (rounds) => new Worker(new URL(import.meta.url), { workerData: { rounds } });

/** Starts a worker that makes native calls without a pause. */
async function busyWorker() {
  const busy = worker(endless);
  await once(busy, 'message');
  return busy;
}

async function finishedWorker() {
  const finite = worker(1);
  let results;
  // Messages and the exit may arrive in one turn of the event loop, so one listener stores every message.
  finite.on('message', (message) => {
    results = message;
  });
  const [code] = await once(finite, 'exit');
  if (code !== 0 || results.length !== 1) throw new Error(`worker ended with ${code}`);
  return results[0];
}

async function same(...results) {
  if (new Set(await Promise.all(results)).size !== 1) throw new Error('the results differ');
}

const cases = {
  'a program that called the addon exits cleanly': () => analyseOnce(load()),
  'process.exit keeps its code': () => {
    analyseOnce(load());
    process.exit(3);
  },
  'a program that only loaded the addon exits cleanly': () => load(),
  'process.exit while two workers are in a call keeps its code': async () => {
    await Promise.all([busyWorker(), busyWorker()]);
    process.exit(5);
  },
  'endNow keeps its code while a thread is stuck in a write': () => {
    const folder = mkdtempSync(join(tmpdir(), 'facematch-exit-'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const pipe = openSync(join(folder, 'pipe'), 'r+');
    rmSync(folder, { recursive: true });
    write(pipe, Buffer.alloc(1024 * 1024), () => {});
    load().endNow(4);
  },
  'an uncaught exception while a worker is in a call exits with code 1 and the message': async () => {
    await busyWorker();
    throw new Error('on purpose');
  },
  'SIGTERM ends a program whose main thread is in a call': () => {
    const addon = load();
    writeSync(1, 'calling\n');
    for (let i = 0; i < endless; i++) analyseOnce(addon);
  },
  'SIGTERM ends a program whose worker is in a call': async () => {
    await busyWorker();
    writeSync(1, 'calling\n');
  },
  'the main thread and a new worker agree after a worker was terminated': async () => {
    const code = await (await busyWorker()).terminate();
    if (code !== 1) throw new Error(`terminate returned ${code}`);
    await same(analyseOnce(load()), finishedWorker());
  },
  'workers load and unload at the same time and agree': async () => {
    for (let i = 0; i < 3; i++) await same(finishedWorker(), finishedWorker(), finishedWorker());
  },
  'a terminated worker does not disturb other workers': async () => {
    const busy = await busyWorker();
    const others = [finishedWorker(), finishedWorker()];
    await busy.terminate();
    await same(...others);
  },
};

if (isMainThread) await cases[process.argv[2]]();
else {
  const addon = load();
  parentPort.postMessage('calling');
  const results = new Set();
  for (let i = 0; i < workerData.rounds; i++) results.add(analyseOnce(addon));
  parentPort.postMessage([...results]);
}
