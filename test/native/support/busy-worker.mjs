// A worker thread that analyses a photo `workerData.rounds` times without returning to its event loop.
import { parentPort, workerData } from 'node:worker_threads';
import { analyseOnce, load } from './addon.mjs';

const addon = load();
parentPort.postMessage('calling');
const answers = new Set();
for (let i = 0; i < workerData.rounds; i++) answers.add(analyseOnce(addon));
parentPort.postMessage([...answers]);
