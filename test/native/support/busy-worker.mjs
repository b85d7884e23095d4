// A worker thread that matches as often as `workerData.rounds` says, with the options of
// `workerData.more`, without a look at its event loop in between.
import { parentPort, workerData } from 'node:worker_threads';
import { load, matchOnce } from './addon.mjs';

const addon = load();
parentPort.postMessage('calling');
const answers = new Set();
for (let i = 0; i < workerData.rounds; i++) answers.add(matchOnce(addon, workerData.more));
parentPort.postMessage([...answers]);
