// The real addon with a door in front of `analyse`: while the file named by GATE_FILE exists, calls wait. So a test decides
// when a worker is busy, and needs neither a slow picture nor a sleep.
const { existsSync } = require('node:fs');

const addon = require(process.env.GATE_ADDON);
const clock = new Int32Array(new SharedArrayBuffer(4));

Object.assign(exports, addon);
exports.analyse = (...call) => {
  while (existsSync(process.env.GATE_FILE)) Atomics.wait(clock, 0, 0, 2);
  return addon.analyse(...call);
};
