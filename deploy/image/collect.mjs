// Lays out what of a built project the image holds, as layers, each a tree from `/`.
//   node deploy/image/collect.mjs /image
// node      the Node that runs this
// packages  what is loaded of the npm packages that a server needs, and facematch's own for this platform
// program   all else
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
 * No code of these is loaded: ONNX Runtime's library is in facematch's own package for this platform, and the
 * other lets piscina lower the priority of threads, which is not used. Their package.json stays, because
 * `facematch doctor` compares versions.
 */
const named = ['onnxruntime-node', '@napi-rs/nice'];

/** Pages for people; licences and notices are not among them. */
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
  for (const place of neededPackages(lock, named).keys()) if (place !== '') copy(place, target);
  for (const place of named.map((name) => `node_modules/${name}`))
    for (const file of ['package.json', ...licences(place)]) copy(join(place, file), target);
  const platform = `linux-${process.arch}`;
  cpSync(join('build/package', platform), join(target, 'node_modules/@facematch', platform), {
    recursive: true,
    // One build of µWebSockets.js loads with this Node and the C library of the image.
    filter: (file) => {
      const [, inUws = ''] = file.split('/build/uws/');
      return loadedUws.startsWith(inUws) || inUws.startsWith(loadedUws);
    },
  });
}

/**
 * The newest for this Node, because the image's C library is new enough for all; without one no folder is
 * left.
 */
const loadedUws = uwsFor(process.versions.node.split('.')[0])[0]?.folder ?? 'none';

const licences = (place) =>
  readdirSync(place).filter((name) => /^(?:LICEN[CS]E|ThirdPartyNotices|NOTICE)/i.test(name));

/** The program, and its licence if the archive of Node was unpacked completely. */
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
  // `docker exec … facematch keys list` finds it there.
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  const bin = join(target, home, 'scripts/facematch.mjs');
  chmodSync(bin, 0o755);
  symlinkSync(`/${home}/scripts/facematch.mjs`, join(target, 'usr/local/bin/facematch'));
  // Mount point of keys; it could not be created later in a read-only root file system.
  mkdirSync(join(target, 'etc/facematch'), { recursive: true });
}

/**
 * Readable for all users: the modes of a clone depend on its owner's umask, and the server is another user.
 */
function openToRead(folder) {
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
openToRead(target);
