// What is in an image: how large its parts are, what should not be there, which libraries are missing.
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { page } from './collect.mjs';

/** Every file and folder, as { path, stats } from `/`, without following links. */
export function* entries(root, path = '') {
  for (const name of readdirSync(join(root, path)).sort()) {
    const inner = `${path}/${name}`;
    const stats = lstatSync(join(root, inner));
    yield { path: inner, stats };
    if (stats.isDirectory()) yield* entries(root, inner);
  }
}

const home = '/opt/facematch';
/** What fills the image, in order: the first that matches takes the file. What is left came with the libraries. */
const parts = [
  ['Node', /^\/usr\/local\/(?:bin\/node|share\/doc\/node)/],
  ['ONNX Runtime', /\/node_modules\/onnxruntime-node\//],
  ['µWebSockets', /\/node_modules\/uWebSockets\.js/],
  ['other npm packages', /\/node_modules\//],
  ['nets and cohort', new RegExp(`^${home}/models/`)],
  ['addon and program', new RegExp(`^${home}/|^/usr/local/`)],
];

/** Bytes of regular files, by part; a file with two names counts once. */
export function sizes(root, base) {
  const found = Object.fromEntries([['Debian', 0], ['libraries', 0], ...parts.map(([name]) => [name, 0])]);
  found.Debian = bytesOf(base);
  const seen = new Set();
  let all = 0;
  for (const { path, stats } of entries(root)) {
    if (!stats.isFile() || seen.has(stats.ino)) continue;
    seen.add(stats.ino);
    all += stats.size;
    const [part] = parts.find(([, pattern]) => pattern.test(path)) ?? [];
    if (part !== undefined) found[part] += stats.size;
  }
  const others = Object.values(found).reduce((sum, size) => sum + size, 0);
  found.libraries = all - others;
  return { all, parts: found };
}

/** Of all regular files; one with two names counts once. */
export function bytesOf(root) {
  const seen = new Set();
  let all = 0;
  for (const { stats } of entries(root)) {
    if (!stats.isFile() || seen.has(stats.ino)) continue;
    seen.add(stats.ino);
    all += stats.size;
  }
  return all;
}

/** What has no place in an image. */
const rubbish = [
  [
    'a compiler or linker',
    /^\/usr\/(?:local\/)?bin\/(?:[\w-]*(?:gcc|g\+\+|cpp|clang)(?:-\d+)?|cc|c\+\+|ld|as|c?make)$/,
  ],
  ['npm', /\/(?:npm|npx|yarn|corepack)$/],
  [
    'a cache',
    /^\/(?:root\/\.(?:npm|cache|node)|var\/cache\/apt\/.|var\/lib\/apt\/lists\/.|var\/log\/(?:apt|dpkg)|tmp\/.|run\/.+\.deb$)/,
  ],
  ['headers', /^\/usr\/(?:local\/)?include\/./],
  ['a driver for graphics', /libLLVM|libgallium|libvulkan/],
  ['manuals', /^\/usr\/share\/(?:man|info)\/./],
  ['pages for people', new RegExp(`^${home}(?:/.*)?${page.source}`, 'i')],
  ['types, maps or sources', new RegExp(`^${home}/.*\\.(?:map|[cm]?tsx?|cpp|h|o)$`)],
  ['binaries of another system', /_(?:darwin|win32)_|\/(?:darwin|win32)\/|\.(?:dll|dylib|exe)$/],
  ['keys', /keys\.json$/],
];

/** Complaints, each one line. */
export function faults(root, secrets) {
  const found = [];
  for (const { path, stats } of entries(root)) {
    const [what] = rubbish.find(([, pattern]) => pattern.test(path)) ?? [];
    if (what !== undefined) found.push(`${what}: ${path}`);
    // Only folders for temporary files, which the read-only root closes as well.
    if (stats.mode & 0o002 && !stats.isSymbolicLink() && !(stats.isDirectory() && stats.mode & 0o1000))
      found.push(`everybody may write ${path}`);
    if (path.startsWith(`${home}/`) && !stats.isSymbolicLink() && !(stats.mode & 0o004))
      found.push(`not for everybody to read: ${path}`);
    if (stats.uid !== 0) found.push(`belongs to ${stats.uid}, not to root: ${path}`);
    if (stats.isFile() && stats.size < 1_000_000 && /^\/(?:etc|opt|root|run|usr\/local)\//.test(path)) {
      const text = readFileSync(join(root, path), 'latin1');
      const secret = secrets.find((candidate) => text.includes(candidate));
      if (secret !== undefined) found.push(`a setting of the building machine is in ${path}`);
    }
  }
  return found;
}

/** Paths of the programs and libraries of the image that facematch loads: Node's, and all below its folder. */
export function binaries(root) {
  return [...entries(root)]
    .filter(
      ({ path, stats }) => stats.isFile() && /^\/(?:opt|usr\/local)\//.test(path) && isElf(join(root, path)),
    )
    .map(({ path }) => path);
}

function isElf(file) {
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(4);
    readSync(descriptor, head, 0, 4, 0);
    return head.toString('latin1') === '\x7fELF';
  } finally {
    closeSync(descriptor);
  }
}
