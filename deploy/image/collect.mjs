// Copies the files of a built project that the container image needs. Each folder is one layer of the image.
//   node deploy/image/collect.mjs /image
// node      the Node.js binary that runs this script
// packages  the npm packages that a server loads, and facematch's own package for this platform
// program   all other files
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { neededPackages } from '../../scripts/lib/sbom.mjs';
import { uwsFor } from '../../scripts/lib/uws.mjs';
import { containerMark } from '../../src/config/installation.mjs';

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const home = 'opt/facematch';

/** Files and folders of the program. */
const program = [
  'LICENSE',
  'THIRD_PARTY_NOTICES.md',
  'package.json',
  'scripts/facematch.mjs',
  'dist/src',
  'dist/client',
  'models/packs/int8',
];

/**
 * Packages whose code is never loaded. ONNX Runtime's library is in facematch's own package for this platform.
 * piscina uses @napi-rs/nice to lower the priority of threads, which facematch does not do. The image keeps
 * each package.json, because `facematch doctor` compares versions.
 */
const metadataOnly = ['onnxruntime-node', '@napi-rs/nice'];

/** Documentation pages, without licences and notices. */
const page = /\/(?!LICEN[CS]E|NOTICE|THIRD_PARTY_NOTICES)[^/]*\.(?:md|markdown)$/i;

/** Files that no program loads: types, maps, sources of compiled code, pages, tests. */
const unused = [
  /\.d\.[cm]?ts$/,
  /\.[cm]?tsx?$/,
  /\.map$/,
  /\.tsbuildinfo$/,
  page,
  /\/(?:\.github|\.vscode|__tests__|benchmarks?|docs?|examples?|tests?)$/,
  /\/(?:\.stamp|\.travis\.yml|\.eslintrc.*|\.prettierrc.*|tsconfig.*\.json|eslint\.config\.\w+)$/,
];

const isUsed = (path) => !unused.some((pattern) => pattern.test(path));

function copy(path, target) {
  cpSync(path, join(target, path), {
    recursive: true,
    filter: (file) => isUsed(file) && (basename(file) !== 'node_modules' || file === path),
  });
}

function collectPackages(target) {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  for (const place of neededPackages(lock, metadataOnly).keys()) if (place !== '') copy(place, target);
  for (const place of metadataOnly.map((name) => `node_modules/${name}`))
    for (const file of ['package.json', ...licences(place)]) copy(join(place, file), target);
  const platform = `linux-${process.arch}`;
  cpSync(join('build/package', platform), join(target, 'node_modules/@facematch', platform), {
    recursive: true,
    // Copies only the µWebSockets.js build for this Node and the C library of the image.
    filter: (file) => {
      const [, inUws = ''] = file.split('/build/uws/');
      return loadedUws.startsWith(inUws) || inUws.startsWith(loadedUws);
    },
  });
}

/**
 * Folder of the newest µWebSockets.js build for this Node. The image's C library is new enough for every build.
 * `none` if there is no build, so that the package contains none.
 */
const loadedUws = uwsFor(process.versions.node.split('.')[0])[0]?.folder ?? 'none';

const licences = (place) =>
  readdirSync(place).filter((name) => /^(?:LICEN[CS]E|ThirdPartyNotices|NOTICE)/i.test(name));

/** Copies the Node.js binary, and its licence if this installation has the file. */
function collectNode(target) {
  const prefix = dirname(dirname(process.execPath));
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  cpSync(process.execPath, join(target, 'usr/local/bin/node'), { dereference: true });
  const licence = join(prefix, 'LICENSE');
  if (existsSync(licence)) cpSync(licence, join(target, 'usr/local/share/doc/node/LICENSE'));
}

function collectProgram(target) {
  for (const path of program) copy(path, join(target, home));
  writeFileSync(join(target, home, containerMark), '');
  // Puts the command on PATH, for `docker exec … facematch keys list`.
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  const bin = join(target, home, 'scripts/facematch.mjs');
  chmodSync(bin, 0o755);
  symlinkSync(`/${home}/scripts/facematch.mjs`, join(target, 'usr/local/bin/facematch'));
  // Mount point for the keys. It must exist, because the root file system may be read-only.
  mkdirSync(join(target, 'etc/facematch'), { recursive: true });
}

/**
 * Makes all files readable for every user. The modes of a clone depend on the umask of its owner, and the server
 * runs as another user.
 */
function makeReadable(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644);
  }
}

const isProgram = (path) => (statSync(path).mode & 0o100) !== 0;

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error('usage: node deploy/image/collect.mjs FOLDER');
collectNode(join(target, 'node'));
collectPackages(join(target, 'packages', home));
collectProgram(join(target, 'program'));
makeReadable(target);
