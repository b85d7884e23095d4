// The real addon, but that a worker thread whose first call comes while the file named by DIE_FILE exists dies of it.
const { existsSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const addon = require(process.env.DIE_ADDON);
let called = isMainThread;

Object.assign(exports, addon);
exports.analyse = (...call) => {
  if (!called && existsSync(process.env.DIE_FILE)) throw new Error('on purpose');
  called = true;
  return addon.analyse(...call);
};
