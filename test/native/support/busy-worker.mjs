// A worker thread that analyses a photo as often as `workerData.rounds` says, without a look at its event loop in between.
import { parentPort, workerData } from 'node:worker_threads';
import { analyseOnce, load } from './addon.mjs';

const addon = load();
parentPort.postMessage('calling');
const answers = new Set();
for (let i = 0; i < workerData.rounds; i++) answers.add(analyseOnce(addon));
parentPort.postMessage([...answers]);
