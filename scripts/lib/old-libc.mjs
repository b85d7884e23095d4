// Provides Debian 11's C library, against which the addon of the npm packages is built. So the packages run with this
// version of glibc and all later ones. The compiler is the machine's own, and its C++ library is linked statically.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { packageGlibc } from '../../src/cli/system-requirements.mjs';
import { unpackPackages } from './debian.mjs';
import { ask, hashOf, isStamped, SetupError, writeStamp } from './run.mjs';

const release = 'bullseye';
const packages = ['libc6', 'libc6-dev', 'linux-libc-dev'];

const advice = `The packages are built against glibc ${packageGlibc} of Debian 11 (${release}). apt's mirror must have that release. Try: apt-get update`;

/**
 * Resolves to flags for the compiler and the linker. The linker needs the folders in addition to --sysroot, because gcc
 * otherwise passes this machine's folders first.
 */
export async function oldLibcFlags() {
  const folder = await oldLibc();
  const triplet = compilerTriplet();
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`].map((path) => `-L${join(folder, path)}`);
  return { compile: `--sysroot=${folder}`, link: libraries.join(' ') };
}

/** GCC's C++ library. Its licence has an exception for programs that are linked with it. */
export const cxxLibrary = {
  name: 'libstdc++',
  version: compilerVersion(),
  licence: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  copyright: 'Free Software Foundation, Inc.',
};
/**
 * Licence files by their name in the package's `licences`. Debian's slim images lack the link in the folder of
 * libstdc++6 to the first file.
 */
export const cxxLicences = {
  'libstdc++-copyright': `/usr/share/doc/gcc-${cxxLibrary.version.split('.')[0]}-base/copyright`,
  'libstdc++-GPL-3': '/usr/share/common-licenses/GPL-3',
};

/** Inputs of the build: a change makes it stale. */
export const oldLibcFacts = () => [packageGlibc, ...packages, process.arch, compilerVersion()];

async function oldLibc() {
  const folder = resolve('.cache/old-libc');
  const stamp = join(folder, '.stamp');
  const hash = hashOf([], oldLibcFacts());
  if (isStamped(stamp, hash)) return folder;
  await unpackPackages(packages, release, folder, advice);
  relink(folder);
  linkCxxHeaders(folder);
  writeStamp(stamp, hash);
  return folder;
}

function compilerVersion() {
  return (ask('g++', ['-dumpfullversion']) ?? '').trim();
}
const compilerTriplet = () => execFileSync('g++', ['-dumpmachine'], { encoding: 'utf8' }).trim();

/** Makes absolute links relative, because they would point to this machine's C library. */
function relink(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink() || !readlinkSync(path).startsWith('/')) continue;
    const target = relative(dirname(path), join(folder, readlinkSync(path)));
    rmSync(path);
    symlinkSync(target, path);
  }
}

/** Links the headers of the C++ library, because g++ searches for them below --sysroot. */
function linkCxxHeaders(folder) {
  for (const path of ['usr/include/c++', `usr/include/${compilerTriplet()}/c++`]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(`/${path}`, join(folder, path));
  }
}

/** Maximum version of each family of versioned symbols in Debian 11. `GCC` is the family of the unwinder. */
export const oldSystem = { GLIBC: packageGlibc, GCC: '7.0.0' };
/** The same with libstdc++, which every system with Node.js has. */
export const oldCxx = { ...oldSystem, GLIBCXX: '3.4.28', CXXABI: '1.3.12' };

/** Libraries that every system has, and ONNX Runtime, which is next to the addon. */
const everywhere = /^(?:lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|onnxruntime)\.so|ld-linux)/;
/** Symbols that Node.js and ONNX Runtime provide to the addon. */
const provided = /^(?:napi_|node_api_|OrtGetApiBase$)/;

/**
 * Throws a SetupError if a shared library needs a library that some systems lack. Also throws if it needs a symbol of a
 * newer version than in `maxima`, or of a family that is not in `maxima`.
 */
export function requireOldSystem(file, maxima = oldSystem) {
  const symbols = neededSymbols(file).filter(
    ({ name, version }) => version !== undefined && !provided.test(name) && !isWithin(version, maxima),
  );
  const libraries = neededLibraries(file).filter((name) => !everywhere.test(name));
  if (symbols.length + libraries.length === 0) return;
  const limit = Object.entries(maxima).map((pair) => pair.join('_'));
  const faults = [...symbols.map(({ name, version }) => `${name}@${version}`), ...libraries];
  throw new SetupError(
    `${file} needs newer versions than ${limit.join(', ')}, or other libraries: ${faults.join(', ')}`,
  );
}

/** Throws a SetupError if the addon needs a symbol that Node.js, ONNX Runtime and the system's libraries lack. */
export function requireKnownSymbols(file) {
  const unknown = neededSymbols(file).filter(
    ({ name, version, isWeak }) => version === undefined && !isWeak && !provided.test(name),
  );
  if (unknown.length > 0)
    throw new SetupError(`${file} needs unknown symbols: ${unknown.map(({ name }) => name).join(', ')}`);
}

function isWithin(version, maxima) {
  const [family, number = ''] = version.split('_');
  return maxima[family]?.localeCompare(number, 'en', { numeric: true }) >= 0;
}

/** Returns the undefined symbols of a shared library. */
function neededSymbols(file) {
  const table = readelf('--dyn-syms', file).matchAll(
    /^(?: +\S+){4} +(GLOBAL|WEAK) +\S+ +UND (\w+)(?:@+(\S+))?/gm,
  );
  return [...table].map(([, binding, name, version]) => ({ name, version, isWeak: binding === 'WEAK' }));
}

/** Returns the shared libraries that a shared library loads. */
function neededLibraries(file) {
  return [...readelf('--dynamic', file).matchAll(/\(NEEDED\).*\[(.+)\]$/gm)].map(([, name]) => name);
}

const readelf = (option, file) =>
  execFileSync('readelf', ['--wide', option, file], { encoding: 'utf8', maxBuffer: 2 ** 26 });
