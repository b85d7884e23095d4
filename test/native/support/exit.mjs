// Ends in the way that its argument names, see exit.test.ts. Its worker threads analyse a photo `workerData.rounds` times
// without returning to their event loop.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { analyseOnce, load } from './addon.mjs';

const endless = 1e9;
const worker = (rounds) => new Worker(new URL(import.meta.url), { workerData: { rounds } });

/** A worker that is in a native call, and stays in one. */
async function busyWorker() {
  const busy = worker(endless);
  await once(busy, 'message');
  return busy;
}

async function finishedWorker() {
  const finite = worker(1);
  let answers;
  // Both messages and the end may arrive in one turn of the event loop, so one listener collects all.
  finite.on('message', (message) => {
    answers = message;
  });
  const [code] = await once(finite, 'exit');
  if (code !== 0 || answers.length !== 1) throw new Error(`worker ended with ${code}`);
  return answers[0];
}

async function same(...answers) {
  if (new Set(await Promise.all(answers)).size !== 1) throw new Error('the answers differ');
}

const ways = {
  'after-call': () => analyseOnce(load()),
  'exit-after-call': () => {
    analyseOnce(load());
    process.exit(3);
  },
  'loaded-twice': () => same(analyseOnce(load()), analyseOnce(load())),
  'never-called': () => load(),
  'exit-while-worker-calls': async () => {
    await Promise.all([busyWorker(), busyWorker()]);
    process.exit(5);
  },
  'throw-while-worker-calls': async () => {
    await busyWorker();
    throw new Error('on purpose');
  },
  'signal-while-main-calls': () => {
    const addon = load();
    writeSync(1, 'calling\n');
    for (let i = 0; i < endless; i++) analyseOnce(addon);
  },
  'signal-while-worker-calls': async () => {
    await busyWorker();
    writeSync(1, 'calling\n');
  },
  'load-after-terminate': async () => {
    const code = await (await busyWorker()).terminate();
    if (code !== 1) throw new Error(`terminate gave ${code}`);
    await same(analyseOnce(load()), finishedWorker());
  },
  'terminate-again-and-again': async () => {
    for (let i = 0; i < 4; i++) await (await busyWorker()).terminate();
    await finishedWorker();
  },
  'workers-come-and-go': async () => {
    for (let i = 0; i < 3; i++) await same(finishedWorker(), finishedWorker(), finishedWorker());
  },
  'workers-beside-a-terminated-one': async () => {
    const busy = await busyWorker();
    const others = [finishedWorker(), finishedWorker()];
    await busy.terminate();
    await same(...others);
  },
};

if (isMainThread) await ways[process.argv[2]]();
else {
  const addon = load();
  parentPort.postMessage('calling');
  const answers = new Set();
  for (let i = 0; i < workerData.rounds; i++) answers.add(analyseOnce(addon));
  parentPort.postMessage([...answers]);
}
