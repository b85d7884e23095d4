// Prerequisites of a run in addition to the project's set-up; each is made once and kept. Rejects with a
// SetupError.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { installPackages, isDebian, missingPackages } from '../../scripts/lib/debian.mjs';
import { extractFiles } from '../../scripts/lib/extract.mjs';
import { ask, hashOf, isStamped, run, seconds, withProgress, writeStamp } from '../../scripts/lib/run.mjs';
import { root } from '../../test/support/programs.mjs';

/** Files that the bench makes once and keeps. */
export const cache = join(root, '.cache/bench');

/**
 * A folder of the developers' images, in `FACEMATCH_SHARED` or `../shared`; undefined if it does not exist.
 */
export function sharedData(name = '') {
  const folder = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data', name);
  return existsSync(folder) ? folder : undefined;
}

// ---- the bench's C++ program (native/bench), by the CMake preset `bench`

/** Exists after `buildNative`. */
export const floor = join(root, 'build/bench/native/bench/facematch_floor');

/** Quick if nothing has changed. Rejects with the compiler's last lines. */
export async function buildNative() {
  const options = { cwd: root, advice: 'The program of native/bench did not build.' };
  await run('cmake', ['--preset', 'bench', '--log-level=ERROR'], options);
  await run('cmake', ['--build', '--preset', 'bench', '--parallel', '2'], options);
}

// ---- the default pack's nets as published, for contenders, which cannot use the rewritten ones

const nets = join(cache, 'nets');
const netFiles = ['fr_detect', 'fr_landmark', 'fr_feature'].map((name) => `model/${name}.onnx`);
const [detector, landmarks, embedder] = netFiles.map((file) => join(nets, file));
export const published = { detector, landmarks, embedder };

function prepareNets() {
  const manifest = readFileSync(join(root, 'models/packs/default/manifest.json'), 'utf8');
  const { source } = JSON.parse(manifest);
  return extractFiles({ ...source, files: netFiles }, nets, 'The nets were not downloaded.');
}

// ---- npm packages

async function installBench() {
  const advice = 'The npm packages of the bench were not installed.';
  await run(process.execPath, ['scripts/setup.mjs', '--bench', '--only', 'npm'], { cwd: root, advice });
}

// @u4/opencv4nodejs has no binaries, and its own build does not find Debian's OpenCV, so it is built here.
const opencv = join(root, 'node_modules/@u4/opencv4nodejs');
// In the package's folder: set-up replaces both.
const opencvStamp = join(opencv, '.built-stamp');

/** Versions that a build depends on besides the package: Node's ABI and OpenCV. */
function opencvHash() {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query's own format
  const version = ask('dpkg-query', ['-W', '-f', '${Version}', 'libopencv-dev']) ?? '';
  return hashOf([], [process.versions.modules, version]);
}

async function buildOpencv() {
  // node-gyp is a Python program.
  const missing = isDebian() ? missingPackages(['libopencv-dev', 'python3']) : [];
  if (missing.length > 0) await installPackages(missing);
  const advice = 'opencv4nodejs did not build; leave it out, or see bench/lib/setup.mjs for what it needs.';
  const gyp = createRequire(join(opencv, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  // Node's headers if they came with Node; otherwise node-gyp downloads them.
  const prefix = dirname(dirname(process.execPath));
  const headers = existsSync(join(prefix, 'include/node/node.h')) ? { npm_config_nodedir: prefix } : {};
  await run(process.execPath, [gyp, 'rebuild', '--jobs', process.env.JOBS ?? String(cpus().length)], {
    cwd: opencv,
    advice,
    env: {
      ...headers,
      OPENCV4NODEJS_DISABLE_AUTOBUILD: '1',
      OPENCV_INCLUDE_DIR: '/usr/include/opencv4',
      OPENCV_LIB_DIR: join('/usr/lib', ask('g++', ['-print-multiarch'])?.trim() ?? ''),
      OPENCV_BIN_DIR: '/usr/bin',
    },
  });
  // The linker uses the libraries it finds; loading shows whether any is missing.
  await run(process.execPath, ['bench/contenders/opencv-pixels.mjs'], { cwd: root, advice });
  writeStamp(opencvStamp, opencvHash());
}

/** `for`: the contenders that need it. */
const steps = [
  {
    title: 'npm packages of the bench',
    for: ['do-it-yourself', 'opencv4nodejs', 'face-api-ssd', 'human'],
    done: () => false, // set-up knows what exists
    make: installBench,
  },
  {
    title: 'nets as published',
    for: ['do-it-yourself', 'opencv4nodejs'],
    done: () => Object.values(published).every((file) => existsSync(file)),
    make: prepareNets,
  },
  {
    title: 'OpenCV for Node (some ten minutes, anew whenever the packages were)',
    for: ['opencv4nodejs'],
    done: () => isStamped(opencvStamp, opencvHash()),
    make: buildOpencv,
  },
  {
    title: 'program of native/bench',
    for: ['floor'],
    done: () => false, // the build system knows what has changed
    make: buildNative,
  },
];

/** Carries out the missing steps for those contenders. */
export async function setUp(names) {
  for (const { title, for: needing, done, make } of steps) {
    if (!names.some((name) => needing.includes(name)) || done()) continue;
    const start = performance.now();
    await withProgress(title, make);
    process.stderr.write(`✓ ${title} (${seconds(start)})\n`);
  }
}
