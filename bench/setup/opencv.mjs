// @u4/opencv4nodejs, which has no binaries and whose own build looks for OpenCV in the wrong place: built here against
// Debian's libopencv-dev.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { installPackages, isDebian, missingPackages } from '../../scripts/lib/debian.mjs';
import { ask, run } from '../../scripts/lib/run.mjs';
import { root } from '../lib/paths.mjs';

const folder = join(root, 'bench/contenders/opencv4nodejs');
/** Node's headers where they came with Node; else node-gyp fetches them. */
const prefix = dirname(dirname(process.execPath));
const headers = existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {};
const library = join(folder, 'node_modules/@u4/opencv4nodejs');

export const opencvIsBuilt = () => existsSync(join(library, 'build/Release/opencv4nodejs.node'));

export async function buildOpencv(onLine) {
  const missing = isDebian() ? missingPackages(['libopencv-dev']) : [];
  if (missing.length > 0) await installPackages(missing, onLine);
  const cure = 'opencv4nodejs did not build; leave it out, or see bench/setup/opencv.mjs for what it needs.';
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, cure, onLine });
  const gyp = createRequire(join(library, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  const triplet = ask('dpkg-architecture', ['-qDEB_HOST_MULTIARCH'])?.trim() ?? `${process.arch}-linux-gnu`;
  await run(process.execPath, [gyp, 'rebuild', '--jobs', process.env.JOBS ?? String(cpus().length)], {
    cwd: library,
    cure,
    onLine,
    env: {
      ...headers,
      OPENCV4NODEJS_DISABLE_AUTOBUILD: '1',
      OPENCV_INCLUDE_DIR: '/usr/include/opencv4',
      OPENCV_LIB_DIR: `/usr/lib/${triplet}`,
      OPENCV_BIN_DIR: '/usr/bin',
    },
  });
}
