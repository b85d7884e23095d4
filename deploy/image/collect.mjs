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
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { uwsBuilds } from '../../scripts/lib/uws.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const home = 'opt/facematch';

/** What belongs to the program, by file or folder. */
export const program = [
  'LICENSE',
  'THIRD_PARTY_NOTICES.md',
  'package.json',
  'scripts/facematch.mjs',
  'dist/src',
  'dist/client',
  'models/packs/int8',
];

/**
 * Packages that ship binaries for every platform, by what is loaded here. Where `alone`, what they depend on is left out.
 * Their package.json stays: `facematch doctor` compares versions.
 */
const loaded = {
  // Its library is in facematch's own package for this platform.
  'onnxruntime-node': { only: [], alone: true },
  // Lets piscina lower the priority of threads, which is not asked for.
  '@napi-rs/nice': { only: [], alone: true },
};

/** Pages for people; licences and notices are none. */
export const page = /\/(?!LICEN[CS]E|NOTICE|THIRD_PARTY_NOTICES)[^/]*\.(?:md|markdown)$/i;

/** What nobody loads: types, maps, sources of what is compiled, pages, tests. */
const unused = [
  /\.d\.[cm]?ts$/,
  /\.[cm]?tsx?$/,
  /\.map$/,
  /\.tsbuildinfo$/,
  page,
  /\/(?:\.github|\.vscode|__tests__|benchmarks?|docs?|examples?|tests?)$/,
  /\/(?:\.stamp|\.travis\.yml|\.eslintrc.*|\.prettierrc.*|tsconfig.*\.json|eslint\.config\.\w+)$/,
];

export const isUsed = (path) => !unused.some((pattern) => pattern.test(path));

/** Folders under node_modules of the packages that a server needs, found as Node finds them. */
export function neededPackages(lock, isThere, { alone } = {}) {
  const found = new Set();
  const visit = (from) => {
    const { dependencies, optionalDependencies } = lock.packages[from];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = placesOf(name, from).find(
        (candidate) => candidate in lock.packages && isThere(candidate),
      );
      if (place === undefined || found.has(place)) continue; // an optional one, of another platform
      found.add(place);
      if (!alone?.(name)) visit(place);
    }
  };
  visit('');
  return [...found].sort();
}

/** From `a/node_modules/b` one sees the packages in it, in `a`, and at the top. */
function placesOf(name, from) {
  const places = [];
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    places.push(folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    if (folder === '') return places;
  }
}

function copy(path, target) {
  cpSync(join(root, path), join(target, path), {
    recursive: true,
    filter: (file) => isUsed(file) && (basename(file) !== 'node_modules' || file === join(root, path)),
  });
}

function collectPackages(target) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const isThere = (place) => existsSync(join(root, place));
  for (const place of neededPackages(lock, isThere, { alone: (name) => loaded[name]?.alone === true })) {
    const { only } = loaded[place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)] ?? {};
    if (only === undefined) copy(place, target);
    else for (const file of ['package.json', ...licences(place), ...only]) copy(join(place, file), target);
  }
  const platform = `linux-${process.arch}`;
  cpSync(join(root, 'build/package', platform), join(target, 'node_modules/@facematch', platform), {
    recursive: true,
    // One build of µWebSockets.js loads with this Node and the C library of the image.
    filter: (file) => {
      const [, inUws = ''] = file.split('/build/uws/');
      return loadedUws.startsWith(inUws) || inUws.startsWith(loadedUws);
    },
  });
}

/** The newest for this Node, as the image's C library is new enough for all; without one no folder is left. */
const ownSystem = `linux-${process.arch}-${process.versions.node.split('.')[0]}`;
const loadedUws = uwsBuilds.find(({ system }) => system === ownSystem)?.folder ?? 'none';

const licences = (place) =>
  readdirSync(join(root, place)).filter((name) => /^(?:LICEN[CS]E|ThirdPartyNotices|NOTICE)/i.test(name));

/** The program, and its licence where the archive of Node was unpacked whole. */
function collectNode(target) {
  const prefix = dirname(dirname(process.execPath));
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  cpSync(process.execPath, join(target, 'usr/local/bin/node'), { dereference: true });
  const licence = join(prefix, 'LICENSE');
  if (existsSync(licence)) cpSync(licence, join(target, 'usr/local/share/doc/node/LICENSE'));
}

function collectProgram(target) {
  for (const path of program) copy(path, join(target, home));
  // `docker exec … facematch keys list` finds it there.
  mkdirSync(join(target, 'usr/local/bin'), { recursive: true });
  const bin = join(target, home, 'scripts/facematch.mjs');
  chmodSync(bin, 0o755);
  symlinkSync(`/${home}/scripts/facematch.mjs`, join(target, 'usr/local/bin/facematch'));
  // Where keys are mounted; a root file system that is read-only has no room for it later.
  mkdirSync(join(target, 'etc/facematch'), { recursive: true });
}

/** For everybody to read: the modes of a clone are its owner's umask, and the server is another user. */
function openToRead(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644);
  }
}

const isProgram = (path) => (statSync(path).mode & 0o100) !== 0;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [target] = process.argv.slice(2);
  if (target === undefined) throw new Error('usage: node deploy/image/collect.mjs FOLDER');
  collectNode(join(target, 'node'));
  collectPackages(join(target, 'packages', home));
  collectProgram(join(target, 'program'));
  openToRead(target);
}
