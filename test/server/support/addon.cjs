// Wraps the real addon so that a test can disturb it without a slow image or a sleep:
// - While the file GATE_FILE exists, calls of `analyse` wait.
// - If the file DIE_FILE exists, the first call of a worker thread throws, which ends the thread.
// - For an image that ends with STUCK and a number, the call waits in the kernel for a byte of STUCK_FIFO; for one that
//   ends with STUCK LATER and a number, only the second search waits.
// - SIGUSR2 ends the worker that was started first, as a crash would.
const { existsSync, openSync, readSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const { REAL_ADDON, GATE_FILE = '', DIE_FILE = '', STUCK_FIFO = '' } = process.env;
const addon = require(REAL_ADDON);
const clock = new Int32Array(new SharedArrayBuffer(4));
let called = isMainThread;

Object.assign(exports, addon);
exports.analyse = (...call) => {
  if (!called && existsSync(DIE_FILE)) throw new Error('on purpose');
  called = true;
  while (existsSync(GATE_FILE)) Atomics.wait(clock, 0, 0, 2);
  const [, image, , , earlier] = call;
  const isSecondSearch = earlier !== undefined;
  const ending = Buffer.from(image.slice(-13)).toString('latin1');
  if (/STUCK \d$/.test(ending) || (isSecondSearch && /STUCK LATER \d$/.test(ending))) stick();
  return addon.analyse(...call);
};

/**
 * Reads until a byte is written. Any number of threads may wait here, because this does not use libuv's pool.
 */
function stick() {
  readSync(openSync(STUCK_FIFO, 'r+'), new Uint8Array(1));
}

if (isMainThread) {
  const workers = [];
  process.on('worker', (worker) => {
    workers.push(worker);
    worker.on('exit', () => workers.splice(workers.indexOf(worker), 1));
  });
  process.on('SIGUSR2', () => workers[0].terminate());
}
