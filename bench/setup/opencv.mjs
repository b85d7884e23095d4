// @u4/opencv4nodejs, which has no binaries and whose own build looks for OpenCV in the wrong place: built here against
// Debian's libopencv-dev.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { installPackages, isDebian, missingPackages } from '../../scripts/lib/debian.mjs';
import { ask, run } from '../../scripts/lib/run.mjs';
import { hashOf, isStamped, writeStamp } from '../../scripts/lib/stamp.mjs';
import { root } from '../lib/paths.mjs';

const folder = join(root, 'bench/contenders/opencv4nodejs');
const library = join(folder, 'node_modules/@u4/opencv4nodejs');
const stamp = join(folder, 'node_modules/.built-stamp');

/** Node's headers where they came with Node; else node-gyp fetches them. */
const prefix = dirname(dirname(process.execPath));
const headers = existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {};

/** What a build is good for: this package, Node's binary interface, and OpenCV's. Not this place: it may be copied. */
function buildHash() {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own format
  const opencv = ask('dpkg-query', ['-W', '-f', '${Version}', 'libopencv-dev']) ?? '';
  return hashOf([], [lock, process.versions.modules, process.arch, opencv]);
}

export const opencvIsBuilt = () => isStamped(stamp, buildHash());

export async function buildOpencv(onLine) {
  const missing = isDebian() ? missingPackages(['libopencv-dev']) : [];
  if (missing.length > 0) await installPackages(missing, onLine);
  const cure = 'opencv4nodejs did not build; leave it out, or see bench/setup/opencv.mjs for what it needs.';
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, cure, onLine });
  const gyp = createRequire(join(library, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  const multiarch = ask('g++', ['-print-multiarch'])?.trim() ?? '';
  await run(process.execPath, [gyp, 'rebuild', '--jobs', process.env.JOBS ?? String(cpus().length)], {
    cwd: library,
    cure,
    onLine,
    env: {
      ...headers,
      OPENCV4NODEJS_DISABLE_AUTOBUILD: '1',
      OPENCV_INCLUDE_DIR: '/usr/include/opencv4',
      OPENCV_LIB_DIR: join('/usr/lib', multiarch),
      OPENCV_BIN_DIR: '/usr/bin',
    },
  });
  // It links whatever it finds, and tells what is missing only when it is loaded.
  await run(process.execPath, ['library.mjs'], { cwd: folder, cure, onLine });
  writeStamp(stamp, buildHash());
}
