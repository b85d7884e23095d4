// Exits in the way that its argument names. Its worker threads analyse a photo `workerData.rounds` times
// without returning to their event loop.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, rmSync, write, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { analyseOnce, load } from './addon.mjs';

const endless = 1e9;
const worker = (rounds) => new Worker(new URL(import.meta.url), { workerData: { rounds } });

/** Starts a worker that is in a native call, and stays in one. */
async function busyWorker() {
  const busy = worker(endless);
  await once(busy, 'message');
  return busy;
}

async function finishedWorker() {
  const finite = worker(1);
  let results;
  // Both messages and the end may arrive in one turn of the event loop, so one listener collects all.
  finite.on('message', (message) => {
    results = message;
  });
  const [code] = await once(finite, 'exit');
  if (code !== 0 || results.length !== 1) throw new Error(`worker ended with ${code}`);
  return results[0];
}

async function same(...results) {
  if (new Set(await Promise.all(results)).size !== 1) throw new Error('the answers differ');
}

const cases = {
  'a program that called it ends cleanly': () => analyseOnce(load()),
  'process.exit keeps its code': () => {
    analyseOnce(load());
    process.exit(3);
  },
  'a program that only loaded it ends cleanly': () => load(),
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
  'an uncaught throw while a worker is in a call ends with code 1 and its own message': async () => {
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
  'after a terminated worker the main thread and a new worker load and agree': async () => {
    const code = await (await busyWorker()).terminate();
    if (code !== 1) throw new Error(`terminate gave ${code}`);
    await same(analyseOnce(load()), finishedWorker());
  },
  'workers load and unload at the same time and agree': async () => {
    for (let i = 0; i < 3; i++) await same(finishedWorker(), finishedWorker(), finishedWorker());
  },
  'a terminated worker does not disturb those beside it': async () => {
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
