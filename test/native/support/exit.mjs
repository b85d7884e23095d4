// Ends in the way that its argument names: see exit.test.ts.
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { load, matchOnce } from './addon.mjs';

const endless = 1e9;
const worker = (rounds, more) =>
  new Worker(new URL('busy-worker.mjs', import.meta.url), { workerData: { rounds, more } });

/** A worker that is in the middle of a native call, and stays in one. */
async function busyWorker(more) {
  const busy = worker(endless, more);
  await once(busy, 'message');
  return busy;
}

async function finishedWorker() {
  const finite = worker(1);
  let answers;
  // Both messages and the end may come in one turn of the event loop: whoever listens one by one misses the later ones.
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
  'after-match': () => matchOnce(load()),
  'exit-after-match': () => {
    matchOnce(load());
    process.exit(3);
  },
  'throw-after-match': () => {
    matchOnce(load());
    throw new Error('on purpose');
  },
  'loaded-twice': () => same(matchOnce(load()), matchOnce(load())),
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
    for (let i = 0; i < endless; i++) matchOnce(addon);
  },
  'signal-while-worker-calls': async () => {
    await busyWorker();
    writeSync(1, 'calling\n');
  },
  'terminate-while-worker-calls': async () => {
    const code = await (await busyWorker()).terminate();
    if (code !== 1) throw new Error(`terminate gave ${code}`);
  },
  'terminate-while-worker-calls-on-two-threads': async () => {
    const code = await (await busyWorker({ parallel: true })).terminate();
    if (code !== 1) throw new Error(`terminate gave ${code}`);
    await finishedWorker();
  },
  'exit-while-worker-calls-on-two-threads': async () => {
    await Promise.all([busyWorker({ parallel: true }), busyWorker({ parallel: true })]);
    process.exit(5);
  },
  'exit-while-workers-use-the-cache': async () => {
    load().keepEmbeddings(1);
    // Two pictures and room for one: every match finds, pushes out and puts.
    const digests = { image1_sha256: new Uint8Array(32), image2_sha256: new Uint8Array(32).fill(1) };
    await Promise.all([busyWorker(digests), busyWorker({ ...digests, accuracy_mode: 'balance' })]);
    process.exit(5);
  },
  'load-after-terminate': async () => {
    await (await busyWorker()).terminate();
    await same(matchOnce(load()), finishedWorker());
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

await ways[process.argv[2]]();
