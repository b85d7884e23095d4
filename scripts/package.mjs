// npm run package: builds the npm packages in build/package, for installations without a compiler. Publishes nothing.
//   facematch             the program, docs, licences and example deployments
//   @facematch/linux-x64  the addon, ONNX Runtime's library, µWebSockets.js for each Node.js, models, sample photos
//   @facematch/client     the client for Node.js
//   @facematch/lab        the laboratory, to install next to facematch
// Also writes the SBOM of the platform, facematch-VERSION-PLATFORM.cdx.json. The addon works with every supported
// Node.js (Node-API) and with Debian 11's glibc or later. OpenCV and the codecs are linked statically, from pinned
// sources.
//   node scripts/package.mjs [--only STEP,STEP…] [--registry]
// --only      run only these steps: libraries, addon, platform, program-files, program, client, lab, sbom
// --registry  make the platform packages dependencies of facematch, for publishing. By default they are not, because npm
//             would install packages with these names from any registry, even if another party owns the names
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { notices } from './lib/notices.mjs';
import {
  cxxLicences,
  oldCxx,
  oldLibcFacts,
  oldLibcFlags,
  requireKnownSymbols,
  requireOldSystem,
} from './lib/old-libc.mjs';
import { ask, hashOf, isStamped, run, SetupError, withProgress, writeStamp } from './lib/run.mjs';
import { sbom } from './lib/sbom.mjs';
import { staticLibraries } from './lib/static-libraries.mjs';
import { extractUws, uwsBuilds, uwsFolder } from './lib/uws.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const out = 'build/package';
const platform = `${process.platform}-${process.arch}`;
/** Platforms that have packages. */
const platforms = ['linux-x64', 'linux-arm64'];
const own = JSON.parse(readFileSync('package.json', 'utf8'));
const advice = 'The packages were not built. Run npm run setup first. The error is above.';

/** The default pack. FACEMATCH_PACK selects another one. */
const pack = 'models/packs/default';
const samples = ['sample1.jpg', 'sample3.jpg'];
/** Files that the program needs at run time, and documentation. */
const programFiles = [
  ...['dist/src', 'dist/client', 'scripts/facematch.mjs'],
  ...['docs', 'deploy', 'README.md', 'CHANGELOG.md', 'SECURITY.md'],
];
/** Parts of `deploy` that work only in a clone. */
const proofs = ['image', 'release', 'replicas', 'prove-arm64', 'prove-image'].map((name) => `deploy/${name}`);
/** Dependencies that are needed only for the build. */
const buildOnly = ['onnxruntime-node'];

function copy(from, folder, to = from) {
  const target = join(folder, to);
  mkdirSync(dirname(target), { recursive: true });
  cpSync(from, target, { recursive: true, dereference: true });
}

async function addon() {
  const libraries = await staticLibraries();
  const { compile: flags, link: LDFLAGS } = await oldLibcFlags();
  const env = {
    OPENCV_DIR: libraries,
    CMAKE_PREFIX_PATH: libraries,
    // The flags are part of CC and CXX, because cmake-js overrides CFLAGS and CXXFLAGS.
    CC: `cc ${flags}`,
    CXX: `c++ ${flags}`,
    LDFLAGS,
  };
  // CMake reads these variables only when it creates the build folder, so a change requires a new one.
  const stamp = `${out}/addon/.stamp`;
  const hash = hashOf([], [...oldLibcFacts(), env.CXX, LDFLAGS]);
  if (!isStamped(stamp, hash)) rmSync(`${out}/addon`, { recursive: true, force: true });
  const options = ['--CDFACEMATCH_PACKAGE=ON', '--parallel', String(availableParallelism())];
  const compile = ['compile', '--out', `${out}/addon`, ...options];
  await run(process.execPath, ['node_modules/cmake-js/bin/cmake-js', ...compile], { env, advice });
  writeStamp(stamp, hash);
  requireOldSystem(`${out}/addon/Release/facematch.node`);
  requireKnownSymbols(`${out}/addon/Release/facematch.node`);
  if (readFileSync(`${out}/addon/Release/facematch.node`).includes(resolve('.')))
    throw new Error('The addon contains the path of its build folder');
}

function writePackage(folder, members, notices = ['LICENSE', 'THIRD_PARTY_NOTICES.md']) {
  const { version, license, repository, homepage, bugs, keywords } = own;
  const common = { version, license, repository, homepage, bugs, keywords };
  const text = JSON.stringify({ ...members, ...common }, null, 2);
  writeFileSync(join(folder, 'package.json'), `${text}\n`);
  for (const file of notices) copy(file, folder);
}

/** Writes the package for this platform, and resolves to its folder. */
async function platformPackage() {
  const folder = join(out, platform);
  rmSync(folder, { recursive: true, force: true });
  for (const build of uwsBuilds.filter(({ system }) => system.startsWith(`${platform}-`))) {
    await extractUws(build, join(folder, uwsFolder));
    requireOldSystem(join(folder, uwsFolder, build.folder, 'uws.node'), { GLIBC: build.glibc });
  }
  copy(`${out}/addon/Release/facematch.node`, folder, 'build/addon/Release/facematch.node');
  const ort = `node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime.so.1`;
  requireOldSystem(ort, oldCxx);
  copy(ort, folder, 'build/addon/Release/libonnxruntime.so.1');
  copy(pack, folder);
  for (const name of samples)
    copy(`node_modules/@vladmandic/face-api/demo/${name}`, folder, `samples/${name}`);
  copy('node_modules/@vladmandic/face-api/LICENSE', folder, 'samples/LICENSE');
  copy('.cache/static/licences', folder, 'licences');
  for (const [name, file] of Object.entries(cxxLicences)) copy(file, folder, `licences/${name}`);
  const terms = await notices();
  for (const file of readdirSync(terms).filter((name) => !/^(?:\.|api-reference)/.test(name)))
    copy(join(terms, file), folder, `licences/${file}`);
  writePackage(folder, {
    name: `@facematch/${platform}`,
    description: `facematch's native parts for ${platform}`,
    os: [process.platform],
    cpu: [process.arch],
    libc: ['glibc'],
    files: ['build', 'models', 'samples', 'licences', 'THIRD_PARTY_NOTICES.md'],
  });
  return folder;
}

const programFolder = join(out, 'facematch');

/** Writes the files of the program's package, without the notices of the API reference, which must be downloaded. */
function writeProgram(forRegistry) {
  rmSync(programFolder, { recursive: true, force: true });
  for (const path of programFiles) copy(path, programFolder);
  for (const path of ['docs/examples', ...proofs])
    rmSync(join(programFolder, path), { recursive: true, force: true });
  const dependencies = Object.entries(own.dependencies).filter(([name]) => !buildOnly.includes(name));
  const { name, description, type, engines, exports, bin } = own;
  writePackage(programFolder, {
    ...{ name, description, type, engines, exports, bin },
    files: [
      'dist',
      'scripts',
      'docs',
      'deploy',
      'licences',
      'THIRD_PARTY_NOTICES.md',
      'CHANGELOG.md',
      'SECURITY.md',
    ],
    dependencies: Object.fromEntries(dependencies),
    ...(forRegistry && {
      optionalDependencies: Object.fromEntries(platforms.map((one) => [`@facematch/${one}`, own.version])),
      peerDependencies: { '@facematch/lab': own.version },
      peerDependenciesMeta: { '@facematch/lab': { optional: true } },
    }),
  });
  linkToRepository(programFolder);
}

/** Adds the notices of the API reference to the program's package, and resolves to the folder of the package. */
async function programPackage() {
  copy(join(await notices(), 'api-reference.txt'), programFolder, 'licences/api-reference.txt');
  return programFolder;
}

/** Writes the client's package: one module without imports, and its types. */
function clientPackage() {
  const folder = join(out, 'client');
  rmSync(folder, { recursive: true, force: true });
  const [module, types] = ['facematch.mjs', 'facematch.d.mts'];
  for (const file of [module, types]) copy(`dist/client/${file}`, folder, file);
  const name = '@facematch/client';
  const [, section] = /^## A client for Node\n(.*?)\n## /ms.exec(
    readFileSync('docs/clients/README.md', 'utf8'),
  );
  // Removes links, because the other pages are not in this package.
  const text = section.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll(`./${module}`, name);
  writeFileSync(join(folder, 'README.md'), `# ${name}\n\nThe facematch client for Node.js.\n${text}`);
  const exports = { '.': { types: `./${types}`, default: `./${module}` } };
  const description =
    'Client for a facematch server, which compares two photos and decides whether they show the same person';
  const members = { name, description, engines: { node: '>=20.17' }, exports };
  writePackage(folder, { ...members, files: [module, types] }, ['LICENSE']);
  return folder;
}

/** Rewrites links to files that are not in the package, so that they point to the repository. */
function linkToRepository(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md'));
  for (const page of pages) {
    const file = join(folder, page);
    const text = readFileSync(file, 'utf8').replaceAll(/\]\((?!\w+:|#)([^)#]+)/g, (link, to) => {
      const path = join(dirname(page), to);
      return existsSync(join(folder, path)) ? link : `](${own.homepage}/tree/v${own.version}/${path}`;
    });
    writeFileSync(file, text);
  }
}

/** Writes the package of the laboratory, with the dependencies that a server does not need. */
function labPackage(forRegistry) {
  const folder = join(out, 'lab');
  rmSync(folder, { recursive: true, force: true });
  copy('dist/lab', folder, 'dist');
  const { name, description, type, dependencies } = JSON.parse(readFileSync('lab/package.json', 'utf8'));
  writePackage(folder, {
    ...{ name, description, type, engines: own.engines, exports: './dist/index.js' },
    files: ['dist', 'THIRD_PARTY_NOTICES.md'],
    dependencies,
    ...(forRegistry && { peerDependencies: { [own.name]: own.version } }),
  });
  return folder;
}

async function writeSbom() {
  await notices();
  const file = join(out, `facematch-${own.version}-${platform}.cdx.json`);
  writeFileSync(file, `${JSON.stringify(sbom(pack, platform, buildOnly), null, 2)}\n`);
  console.log(file);
}

function npmPack(folder) {
  const args = ['pack', '--json', '--pack-destination', out, `./${folder}`];
  const [{ filename, size, unpackedSize }] = JSON.parse(ask('npm', args) ?? '[]');
  console.log(`${join(out, filename)}  ${megabytes(size)}, unpacked ${megabytes(unpackedSize)}`);
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** The steps, in order. */
const steps = {
  libraries: () => withProgress('static libraries', staticLibraries),
  addon: () => withProgress('addon', addon),
  platform: async () => npmPack(await withProgress('platform package', platformPackage)),
  'program-files': writeProgram,
  program: async () => npmPack(await withProgress('program package', programPackage)),
  client: () => npmPack(clientPackage()),
  lab: (forRegistry) => npmPack(labPackage(forRegistry)),
  sbom: () => withProgress('SBOM', writeSbom),
};

try {
  const options = { only: { type: 'string' }, registry: { type: 'boolean', default: false } };
  const { only, registry } = parseArgs({ options }).values;
  for (const step of only?.split(',') ?? Object.keys(steps)) {
    if (!(step in steps)) throw new SetupError(`--only: unknown step ${step}`);
    await steps[step](registry);
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
