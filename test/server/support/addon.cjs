// The real addon, disturbed as a test asks, so that it needs neither a slow picture nor a sleep: while the file named by
// GATE_FILE exists, calls of `analyse` wait; a worker thread whose first call comes while that named by DIE_FILE exists
// dies of it; SIGUSR2 ends the one that was started first, as a crash would.
const { existsSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const { REAL_ADDON, GATE_FILE = '', DIE_FILE = '' } = process.env;
const addon = require(REAL_ADDON);
const clock = new Int32Array(new SharedArrayBuffer(4));
let called = isMainThread;

Object.assign(exports, addon);
exports.analyse = (...call) => {
  if (!called && existsSync(DIE_FILE)) throw new Error('on purpose');
  called = true;
  while (existsSync(GATE_FILE)) Atomics.wait(clock, 0, 0, 2);
  return addon.analyse(...call);
};

if (isMainThread) {
  const workers = [];
  process.on('worker', (worker) => {
    workers.push(worker);
    worker.on('exit', () => workers.splice(workers.indexOf(worker), 1));
  });
  process.on('SIGUSR2', () => workers[0].terminate());
}
