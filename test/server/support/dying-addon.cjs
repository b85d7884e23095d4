// The real addon, but that a worker thread which loads a pack while the file named by DIE_FILE exists dies of it.
const { existsSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const addon = require(process.env.DIE_ADDON);

Object.assign(exports, addon);
exports.loadPack = (directory) => {
  if (!isMainThread && existsSync(process.env.DIE_FILE)) throw new Error('on purpose');
  return addon.loadPack(directory);
};
