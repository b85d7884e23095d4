// A worker thread that matches as often as `workerData.rounds` says, without a look at its event loop in between.
import { parentPort, workerData } from 'node:worker_threads';
import { load, matchOnce } from './addon.mjs';

const addon = load();
parentPort.postMessage('calling');
const answers = new Set();
for (let i = 0; i < workerData.rounds; i++) answers.add(matchOnce(addon));
parentPort.postMessage([...answers]);
