// Installs and builds the prerequisites of the benchmarks, in addition to the project's setup. Each is cached.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { installPackages, isDebian, missingPackages } from '../../scripts/lib/debian.mjs';
import { extractFiles } from '../../scripts/lib/extract.mjs';
import { ask, hashOf, isStamped, run, seconds, withProgress, writeStamp } from '../../scripts/lib/run.mjs';
import { root } from '../../test/support/programs.mjs';

/** Folder of cached files. */
export const cache = join(root, '.cache/bench');

/** Returns a data folder in `FACEMATCH_SHARED` or `../shared`; undefined if it does not exist. */
export function sharedData(name = '') {
  const folder = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data', name);
  return existsSync(folder) ? folder : undefined;
}

// ---- C++ programs (native/bench), built with the CMake preset `bench`

/** Program that runs the native pipeline in a loop, built by `buildNative`. */
export const floor = join(root, 'build/bench/native/bench/facematch_floor');

/** Builds the programs. Rejects with a SetupError that has the compiler's last lines. */
export async function buildNative() {
  const options = { cwd: root, advice: 'The programs of native/bench could not be built.' };
  await run('cmake', ['--preset', 'bench', '--log-level=ERROR'], options);
  await run('cmake', ['--build', '--preset', 'bench', '--parallel', '2'], options);
}

// ---- published models of the default pack, for contenders, which cannot use the rewritten models

const nets = join(cache, 'nets');
const netFiles = ['fr_detect', 'fr_landmark', 'fr_feature'].map((name) => `model/${name}.onnx`);
const [detector, landmarks, embedder] = netFiles.map((file) => join(nets, file));
export const published = { detector, landmarks, embedder };

function prepareNets() {
  const manifest = readFileSync(join(root, 'models/packs/default/manifest.json'), 'utf8');
  const { source } = JSON.parse(manifest);
  return extractFiles({ ...source, files: netFiles }, nets, 'The models could not be downloaded.');
}

// ---- npm packages

async function installBench() {
  const advice = 'The npm packages of the benchmarks could not be installed.';
  await run(process.execPath, ['scripts/setup.mjs', '--bench', '--only', 'npm'], { cwd: root, advice });
}

// @u4/opencv4nodejs has no binaries, and its own build script does not find Debian's OpenCV, so it is built here.
const opencv = join(root, 'node_modules/@u4/opencv4nodejs');
// The stamp is in the package's folder, so that it disappears when setup installs the package again.
const opencvStamp = join(opencv, '.built-stamp');

/** Hash of the versions that the build depends on: Node's ABI and OpenCV. */
function opencvHash() {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: syntax of dpkg-query
  const version = ask('dpkg-query', ['-W', '-f', '${Version}', 'libopencv-dev']) ?? '';
  return hashOf([], [process.versions.modules, version]);
}

async function buildOpencv() {
  // node-gyp runs gyp, which is a Python program.
  const missing = isDebian() ? missingPackages(['libopencv-dev', 'python3']) : [];
  if (missing.length > 0) await installPackages(missing);
  const advice = 'opencv4nodejs could not be built. Omit it, or see its requirements in bench/lib/setup.mjs.';
  const gyp = createRequire(join(opencv, 'package.json')).resolve('node-gyp/bin/node-gyp.js');
  // Uses the headers of the Node.js installation if it has them. Otherwise node-gyp downloads them.
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
  // Loads the result, because the linker does not report missing libraries.
  await run(process.execPath, ['bench/contenders/opencv-pixels.mjs'], { cwd: root, advice });
  writeStamp(opencvStamp, opencvHash());
}

/** `for` lists the contenders that need the step. */
const steps = [
  {
    title: 'npm packages of the bench',
    for: ['do-it-yourself', 'opencv4nodejs', 'face-api-ssd', 'human'],
    done: () => false, // setup itself skips what exists
    make: installBench,
  },
  {
    title: 'published models',
    for: ['do-it-yourself', 'opencv4nodejs'],
    done: () => Object.values(published).every((file) => existsSync(file)),
    make: prepareNets,
  },
  {
    title: 'opencv4nodejs (about ten minutes, after each change of the npm packages)',
    for: ['opencv4nodejs'],
    done: () => isStamped(opencvStamp, opencvHash()),
    make: buildOpencv,
  },
  {
    title: 'programs of native/bench',
    for: ['floor'],
    done: () => false, // the build system itself skips what is up to date
    make: buildNative,
  },
];

/** Runs the missing steps for these contenders. */
export async function setUp(names) {
  for (const { title, for: needing, done, make } of steps) {
    if (!names.some((name) => needing.includes(name)) || done()) continue;
    const start = performance.now();
    await withProgress(title, make);
    process.stderr.write(`✓ ${title} (${seconds(start)})\n`);
  }
}
