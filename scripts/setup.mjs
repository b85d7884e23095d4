// Sets up everything that is missing, in order, and nothing else. Uses only Node's built-in modules, because it runs before `npm ci`.
//   node scripts/setup.mjs [--dev | --full | --bench] [--quiet] [--only STEP,STEP…]
// --dev    also what `npm test`, the linters and the bench need
// --full   and what only the slow tests need
// --bench  as --dev, with the npm packages of all sets: what the bench compares with is among them
// --quiet  says nothing about what is already there
// --only   these of debian, npm, uws, addon, types, program, pack: the Dockerfile's layers, which come one by one
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
import { liftFiles, nextNode } from './lib/lift.mjs';
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
import { liftUws, ownUws, uwsFolder, uwsFor } from './lib/uws.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const flag = { type: 'boolean', default: false };
const known = { dev: flag, full: flag, bench: flag, quiet: flag, only: { type: 'string' } };
const { full, bench, quiet, ...given } = parseArgs({ options: known }).values;
const dev = given.dev || full || bench;
const only = given.only?.split(',');

const buildPackages =
  'cmake g++ make libopencv-core-dev libopencv-imgproc-dev libjpeg-dev libpng-dev libwebp-dev'.split(' ');
const devPackages = 'clang-format-19 doctest-dev nlohmann-json3-dev openssl redis-server'.split(' ');
/** clang-19 brings libFuzzer. */
const fullPackages =
  'clang-19 libclang-rt-19-dev strace systemd chromium curl bsdutils python3 nginx caddy haproxy logrotate'.split(
    ' ',
  );

/** ONNX Runtime's headers, with which a test compares native/core/runtime/ort_table.h. */
const headersTarget = '.cache/libonnxruntime-dev';

/**
 * Packages of Debian's next release that Node and µWebSockets.js load. The tests run a server on them and on
 * Node 24 (test/support/programs.mjs).
 */
const nextLibcTarget = '.cache/next-libc';
const nextLibcPackages = ['libc6', 'libstdc++6', 'libgcc-s1'];

const nextNodeTarget = '.cache/next-node';
const promtoolTarget = '.cache/promtool';

/** Libraries that the user provides, by the variable with their path: Debian's are then not required. */
const ownInstead = { OPENCV_DIR: 'libopencv', CHROMIUM: 'chromium' };

const wantedPackages = () =>
  [...buildPackages, ...(dev ? devPackages : []), ...(full ? fullPackages : [])].filter(
    (name) =>
      !Object.entries(ownInstead).some(([variable, own]) => process.env[variable] && name.startsWith(own)),
  );

/** The laboratory's folder; an image is built without it. */
const lab = ['lab'].filter((folder) => existsSync(folder));

const addonFile = 'build/addon/Release/facematch.node';
const addonHash = () =>
  hashOf(
    ['native/core', 'native/binding', 'CMakeLists.txt', 'package-lock.json'],
    [process.version, process.arch, process.env.OPENCV_DIR ?? ''],
  );
/** The program's own packages, and in each further set one more folder's. */
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

/** onnxruntime-node has the libraries of every system: 250 MB that nothing here loads. */
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

/** The newest for Node 24, for the slow tests, if the one that loads here is older. */
function nextUws() {
  const [newest] = full ? uwsFor('24') : [];
  return newest?.version === ownUws()?.version ? undefined : newest;
}

const uwsMissing = () =>
  [ownUws(), nextUws()].filter(
    (build) => build !== undefined && !isStamped(`${uwsFolder}/${build.folder}/.stamp`, build.integrity),
  );

/** Packs whose models come from npm; the second one uses models of the first. */
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
      if (!isDebian()) return undefined; // the compiler's own messages say what lacks
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
      const cure =
        "npm failed. Check the network and npm's registry setting (npm config get registry), then run: npm run setup";
      const quietly = ['--ignore-scripts', '--no-audit', '--no-fund'];
      // npm ci would first remove the packages of a smaller set.
      const command = isSmallerSetThere() ? ['install', '--no-save'] : ['ci'];
      await run('npm', [...command, ...quietly, ...workspaceFlags()], { cure });
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
        await liftUws(build, uwsFolder);
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
        cure: 'The native addon did not build. If a header is missing, see "Set-up" in CONTRIBUTING.md; OPENCV_DIR names another OpenCV.',
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
        const cure = `The model pack ${pack} could not be prepared.`;
        await run(process.execPath, ['dist/models/prepare/index.js', pack], { cure });
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
        process.stderr.write(`Not fatal, the test that needs them is skipped: ${error.message}\n`);
      }),
  },
  {
    id: 'next',
    title: 'Node and C library for the newest µWebSockets.js',
    missing: () => {
      const isThere = isStamped(`${nextNodeTarget}/.stamp`, nextNode.integrity) && existsSync(nextLibcTarget);
      return nextUws() === undefined || !isDebian() || isThere ? undefined : nextLibcPackages.join(' ');
    },
    make: async () => {
      await unpackFromNextRelease(nextLibcPackages, nextLibcTarget, '');
      await liftFiles(nextNode, nextNodeTarget, '');
      writeStamp(`${nextNodeTarget}/.stamp`, nextNode.integrity);
    },
  },
  {
    id: 'promtool',
    title: 'promtool',
    missing: () =>
      existsSync(promtoolTarget) || ask('promtool', ['--version']) !== undefined || !isDebian()
        ? undefined
        : "one file of Debian's package promtool or prometheus",
    // Debian 13 has a separate package for it. Debian 12's starts a daemon, so one file of it is unpacked.
    make: () => {
      const name = ask('apt-cache', ['show', 'promtool']) === undefined ? 'prometheus' : 'promtool';
      return unpackFiles(name, ['/usr/bin/promtool'], promtoolTarget, '').catch((error) => {
        process.stderr.write(`Not fatal, tests that need promtool are skipped: ${error.message}\n`);
      });
    },
  },
];

async function main() {
  const unfit = unmetRequirement();
  if (unfit !== undefined) throw new SetupError(unfit);
  mkdirSync('build', { recursive: true });
  await takeLock('build/.setup.lock', () =>
    process.stderr.write('• waits for another set-up of this folder\n'),
  );
  const wanted = full ? [...steps, ...fullSteps] : steps;
  const unknown = only?.filter((id) => !wanted.some((step) => step.id === id)) ?? [];
  if (unknown.length > 0) throw new SetupError(`--only: there is no step ${unknown.join(', ')}`);
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
