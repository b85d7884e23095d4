// Installs and builds everything that is missing or out of date. Uses only Node's built-in modules, because it runs
// before `npm ci`.
//   node scripts/setup.mjs [--dev | --full | --bench] [--quiet] [--only STEP,STEP…]
// --dev    also install what `npm test`, the linters and the benchmarks need
// --full   also install what only the slow tests need
// --bench  like --dev, and also install the npm packages of the slow tests and of the programs that the benchmarks
//          compare with
// --quiet  print nothing about steps that are up to date
// --only   run only these steps: debian, npm, uws, addon, types, program, pack; with --full also headers, next, promtool
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { unmetRequirement } from '../src/cli/system-requirements.mjs';
import {
  installPackages,
  isDebian,
  missingPackages,
  unpackFiles,
  unpackFromNextRelease,
} from './lib/debian.mjs';
import { extractFiles, nextNode } from './lib/extract.mjs';
import { programStep, typesStep } from './lib/program.mjs';
import {
  ask,
  hashOf,
  isStamped,
  run,
  SetupError,
  seconds,
  takeLock,
  withProgress,
  writeStamp,
} from './lib/run.mjs';
import { extractUws, ownUws, uwsFolder, uwsFor } from './lib/uws.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const flag = { type: 'boolean', default: false };
const known = { dev: flag, full: flag, bench: flag, quiet: flag, only: { type: 'string' } };
const { full, bench, quiet, ...given } = parseArgs({ options: known }).values;
const dev = given.dev || full || bench;
const only = given.only?.split(',');

const buildPackages =
  'cmake g++ make libopencv-core-dev libopencv-imgproc-dev libjpeg-dev libpng-dev libwebp-dev'.split(' ');
const devPackages = 'clang-format-19 doctest-dev nlohmann-json3-dev openssl redis-server'.split(' ');
/** libclang-rt-19-dev contains libFuzzer. */
const fullPackages =
  'clang-19 libclang-rt-19-dev strace systemd chromium curl bsdutils python3 nginx caddy haproxy logrotate'.split(
    ' ',
  );

/** ONNX Runtime's headers. A test compares native/core/runtime/ort_table.h with them. */
const headersTarget = '.cache/libonnxruntime-dev';

/**
 * Libraries of Debian's next release, which the newest µWebSockets.js needs. The slow tests run a server with them and
 * Node.js 24 (test/support/programs.mjs).
 */
const nextLibcTarget = '.cache/next-libc';
const nextLibcPackages = ['libc6', 'libstdc++6', 'libgcc-s1'];

const nextNodeTarget = '.cache/next-node';
const promtoolTarget = '.cache/promtool';

/** If one of these variables is set, Debian's packages with this prefix are not installed. */
const ownInstead = { OPENCV_DIR: 'libopencv', CHROMIUM: 'chromium' };

const wantedPackages = () =>
  [...buildPackages, ...(dev ? devPackages : []), ...(full ? fullPackages : [])].filter(
    (name) =>
      !Object.entries(ownInstead).some(([variable, own]) => process.env[variable] && name.startsWith(own)),
  );

/** The folder of the laboratory. The image is built without it. */
const lab = ['lab'].filter((folder) => existsSync(folder));

const addonFile = 'build/addon/Release/facematch.node';
const addonHash = () =>
  hashOf(
    ['native/core', 'native/binding', 'CMakeLists.txt', 'package-lock.json'],
    [process.version, process.arch, process.env.OPENCV_DIR ?? ''],
  );
/** Sets of npm packages. Each set adds the packages of one more workspace to the set before it. */
const packageSets = { own: undefined, dev: 'test/tools', full: 'test/slow/tools', bench: 'bench' };
const level = bench ? 3 : full ? 2 : dev ? 1 : 0;
const packagesStamp = 'node_modules/.facematch-stamp';
const packagesHash = (set) => hashOf(['package-lock.json', '.npmrc'], [process.version, process.arch, set]);
const arePackagesThere = () =>
  Object.keys(packageSets)
    .slice(level)
    .some((set) => isStamped(packagesStamp, packagesHash(set)));
const isSmallerSetThere = () =>
  Object.keys(packageSets)
    .slice(0, level)
    .some((set) => isStamped(packagesStamp, packagesHash(set)));
const workspaceFlags = () => {
  const folders = [...lab, ...Object.values(packageSets).slice(1, level + 1)];
  const workspaces = folders.map((folder) => `--workspace=${folder}`);
  return workspaces.length === 0 ? ['--workspaces=false'] : [...workspaces, '--include-workspace-root'];
};

/** Removes the libraries of other systems from onnxruntime-node, which take 250 MB. */
function dropOtherSystems() {
  const library = 'node_modules/onnxruntime-node/bin/napi-v6';
  const own = join(library, process.platform, process.arch);
  for (const system of readdirSync(library)) {
    for (const arch of readdirSync(join(library, system))) {
      const folder = join(library, system, arch);
      if (folder !== own) rmSync(folder, { recursive: true });
    }
  }
}

/** Returns the newest build for Node.js 24, for the slow tests, if this system can only load an older one. */
function nextUws() {
  const [newest] = full ? uwsFor('24') : [];
  return newest?.version === ownUws()?.version ? undefined : newest;
}

const uwsMissing = () =>
  [ownUws(), nextUws()].filter(
    (build) => build !== undefined && !isStamped(`${uwsFolder}/${build.folder}/.stamp`, build.integrity),
  );

/** Packs with models from npm. The second one uses models of the first. */
const packs = ['models/packs/default', 'models/packs/int8'];

function netsOf(pack) {
  const members = Object.values(JSON.parse(readFileSync(`${pack}/manifest.json`, 'utf8')));
  return members.flatMap((one) => (one?.file?.endsWith('.onnx') ? [`${pack}/${one.file}`] : []));
}

/** The steps in order. `missing` returns why the step is needed, or undefined; `make` runs it. */
const steps = [
  {
    id: 'debian',
    title: 'Debian packages',
    missing: () => {
      if (!isDebian()) return undefined; // the build reports missing libraries
      const names = missingPackages(wantedPackages());
      return names.length > 0 ? names.join(' ') : undefined;
    },
    make: () => installPackages(missingPackages(wantedPackages())),
  },
  {
    id: 'npm',
    title: 'npm packages',
    missing: () => (arePackagesThere() ? undefined : isSmallerSetThere() ? 'npm install' : 'npm ci'),
    make: async () => {
      const advice =
        "npm failed. Check the network and npm's registry setting (npm config get registry), then run: npm run setup";
      const quietly = ['--ignore-scripts', '--no-audit', '--no-fund'];
      // `npm ci` would first remove the installed packages of a smaller set.
      const command = isSmallerSetThere() ? ['install', '--no-save'] : ['ci'];
      await run('npm', [...command, ...quietly, ...workspaceFlags()], { advice });
      dropOtherSystems();
      writeStamp(packagesStamp, packagesHash(Object.keys(packageSets)[level]));
    },
  },
  {
    id: 'uws',
    title: 'µWebSockets.js',
    missing: () =>
      uwsMissing()
        .map((build) => `${build.package} ${build.version}`)
        .join(', ') || undefined,
    make: async () => {
      for (const build of uwsMissing()) {
        await extractUws(build, uwsFolder);
        writeStamp(`${uwsFolder}/${build.folder}/.stamp`, build.integrity);
      }
    },
  },
  {
    id: 'addon',
    title: 'native addon',
    missing: () =>
      existsSync(addonFile) && isStamped('build/addon/.stamp', addonHash()) ? undefined : 'cmake-js compile',
    make: async () => {
      const compile = ['compile', '--out', 'build/addon', '--parallel', String(availableParallelism())];
      await run(process.execPath, ['node_modules/cmake-js/bin/cmake-js', ...compile], {
        advice:
          'The native addon could not be built. If a header is missing, see "Set-up" in CONTRIBUTING.md. To use another OpenCV, set OPENCV_DIR.',
      });
      writeStamp('build/addon/.stamp', addonHash());
    },
  },
  typesStep,
  programStep(lab),
  {
    id: 'pack',
    title: 'model packs',
    missing: () =>
      packs.flatMap(netsOf).every((file) => existsSync(file)) && isStamped('build/pack.stamp', hashOf(packs))
        ? undefined
        : 'download and convert',
    make: async () => {
      for (const pack of packs) {
        const advice = `The model pack ${pack} could not be prepared.`;
        await run(process.execPath, ['dist/models/prepare/index.js', pack], { advice });
      }
      writeStamp('build/pack.stamp', hashOf(packs));
    },
  },
];

/** Further steps for --full. */
const fullSteps = [
  {
    id: 'headers',
    title: 'ONNX Runtime headers',
    missing: () =>
      existsSync(headersTarget) || !isDebian()
        ? undefined
        : 'libonnxruntime-dev, from the next Debian release',
    make: () =>
      unpackFromNextRelease(['libonnxruntime-dev'], headersTarget, '').catch((error) => {
        process.stderr.write(
          `Warning: the test that needs ONNX Runtime's headers will be skipped. ${error.message}\n`,
        );
      }),
  },
  {
    id: 'next',
    title: 'Node.js and C library for the newest µWebSockets.js',
    missing: () => {
      const isThere = isStamped(`${nextNodeTarget}/.stamp`, nextNode.integrity) && existsSync(nextLibcTarget);
      return nextUws() === undefined || !isDebian() || isThere ? undefined : nextLibcPackages.join(' ');
    },
    make: async () => {
      await unpackFromNextRelease(nextLibcPackages, nextLibcTarget, '');
      await extractFiles(nextNode, nextNodeTarget, '');
      writeStamp(`${nextNodeTarget}/.stamp`, nextNode.integrity);
    },
  },
  {
    id: 'promtool',
    title: 'promtool',
    missing: () =>
      existsSync(promtoolTarget) || ask('promtool', ['--version']) !== undefined || !isDebian()
        ? undefined
        : "from Debian's package promtool or prometheus",
    // Debian 13 has a package promtool. In Debian 12 it is in prometheus, which starts a daemon, so only promtool is
    // unpacked.
    make: () => {
      const name = ask('apt-cache', ['show', 'promtool']) === undefined ? 'prometheus' : 'promtool';
      return unpackFiles(name, ['/usr/bin/promtool'], promtoolTarget, '').catch((error) => {
        process.stderr.write(`Warning: tests that need promtool will be skipped. ${error.message}\n`);
      });
    },
  },
];

async function main() {
  const unfit = unmetRequirement();
  if (unfit !== undefined) throw new SetupError(unfit);
  mkdirSync('build', { recursive: true });
  await takeLock('build/.setup.lock', () =>
    process.stderr.write('• waiting for another setup in this folder\n'),
  );
  const wanted = full ? [...steps, ...fullSteps] : steps;
  const unknown = only?.filter((id) => !wanted.some((step) => step.id === id)) ?? [];
  if (unknown.length > 0) throw new SetupError(`--only: unknown step ${unknown.join(', ')}`);
  for (const [index, step] of wanted.entries()) {
    if (only !== undefined && !only.includes(step.id)) continue;
    const title = `[${index + 1}/${wanted.length}] ${step.title}`;
    const reason = step.missing();
    if (reason === undefined) {
      if (!quiet) process.stderr.write(`✓ ${title}\n`);
      continue;
    }
    process.stderr.write(`• ${title}: ${reason}\n`);
    const start = performance.now();
    await withProgress(title, step.make);
    process.stderr.write(`✓ ${title} (${seconds(start)})\n`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
main().catch((error) => {
  process.stderr.write(`\n✗ ${error instanceof SetupError ? error.message : error.stack}\n`);
  process.exit(1);
});
