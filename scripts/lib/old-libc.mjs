// The C library that the addon of the npm packages is built against: Debian 11's, so that the packages run with its glibc and every
// later one. The compiler is the machine's own, and its C++ library is linked in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { packageGlibc } from '../../src/cli/system-requirements.mjs';
import { unpackPackages } from './debian.mjs';
import { ask, hashOf, isStamped, SetupError, writeStamp } from './run.mjs';

const release = 'bullseye';
const packages = ['libc6', 'libc6-dev', 'linux-libc-dev'];

const cure = `The packages are built against glibc ${packageGlibc} of Debian 11 (${release}), which apt's mirror must have. Try: apt-get update`;

/**
 * Resolves to the flags of compiler and linker. The linker needs the folders as well as --sysroot, because gcc passes this machine's
 * folders first.
 */
export async function oldLibcFlags() {
  const folder = await oldLibc();
  const triplet = compilerTriplet();
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`].map((path) => `-L${join(folder, path)}`);
  return { compile: `--sysroot=${folder}`, link: libraries.join(' ') };
}

/** GCC's C++ library. Its licence has an exception for programs that it is linked into. */
export const cxxLibrary = {
  name: 'libstdc++',
  version: compilerVersion(),
  licence: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  copyright: 'Free Software Foundation, Inc.',
};
/** Name in the package's `licences` → the file of Debian's packages that has the terms. */
export const cxxLicences = {
  'libstdc++-copyright': '/usr/share/doc/libstdc++6/copyright',
  'libstdc++-GPL-3': '/usr/share/common-licenses/GPL-3',
};

/** A build is stale when one of these changes. */
export const oldLibcFacts = () => [packageGlibc, ...packages, process.arch, compilerVersion()];

async function oldLibc() {
  const folder = resolve('.cache/old-libc');
  const stamp = join(folder, '.stamp');
  const hash = hashOf([], oldLibcFacts());
  if (isStamped(stamp, hash)) return folder;
  await unpackPackages(packages, release, folder, cure);
  relink(folder);
  linkCxxHeaders(folder);
  writeStamp(stamp, hash);
  return folder;
}

function compilerVersion() {
  return (ask('g++', ['-dumpfullversion']) ?? '').trim();
}
const compilerTriplet = () => execFileSync('g++', ['-dumpmachine'], { encoding: 'utf8' }).trim();

/** Makes absolute links relative: they would lead to this machine's C library. */
function relink(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink() || !readlinkSync(path).startsWith('/')) continue;
    const target = relative(dirname(path), join(folder, readlinkSync(path)));
    rmSync(path);
    symlinkSync(target, path);
  }
}

/** g++ looks for the headers of its own C++ library below --sysroot too. */
function linkCxxHeaders(folder) {
  for (const path of ['usr/include/c++', `usr/include/${compilerTriplet()}/c++`]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(`/${path}`, join(folder, path));
  }
}

/** The maximum version of each family of symbols, as Debian 11 has it. GCC is the unwinder. */
export const oldSystem = { GLIBC: packageGlibc, GCC: '7.0.0' };
/** Every system that runs Node has the C++ library. */
export const oldCxx = { ...oldSystem, GLIBCXX: '3.4.28', CXXABI: '1.3.12' };

/** The parts of glibc, the libraries of GCC, and ONNX Runtime, which lies next to the addon. */
const everywhere = /^(?:lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|onnxruntime)\.so|ld-linux)/;
/** Node and ONNX Runtime give these to the addon. */
const given = /^(?:napi_|node_api_|OrtGetApiBase$)/;

/**
 * Throws a SetupError if a shared library loads another one that is not on every system, or needs a symbol of a newer version than `maxima`
 * has, or of a family that is not in it.
 */
export function requireOldSystem(file, maxima = oldSystem) {
  const symbols = neededSymbols(file).filter(
    ({ name, version }) => version !== undefined && !given.test(name) && !isWithin(version, maxima),
  );
  const libraries = neededLibraries(file).filter((name) => !everywhere.test(name));
  if (symbols.length + libraries.length === 0) return;
  const limit = Object.entries(maxima).map((pair) => pair.join('_'));
  const faults = [...symbols.map(({ name, version }) => `${name}@${version}`), ...libraries];
  throw new SetupError(`${file} needs more than ${limit.join(', ')}: ${faults.join(', ')}`);
}

/** Throws a SetupError if the addon needs a symbol that neither Node, ONNX Runtime nor a library of the system gives. */
export function requireKnownSymbols(file) {
  const unknown = neededSymbols(file).filter(
    ({ name, version, isWeak }) => version === undefined && !isWeak && !given.test(name),
  );
  if (unknown.length > 0)
    throw new SetupError(`${file} needs unknown symbols: ${unknown.map(({ name }) => name).join(', ')}`);
}

function isWithin(version, maxima) {
  const [family, number = ''] = version.split('_');
  return maxima[family]?.localeCompare(number, 'en', { numeric: true }) >= 0;
}

/** The symbols that a shared library asks others for. */
function neededSymbols(file) {
  const table = readelf('--dyn-syms', file).matchAll(
    /^(?: +\S+){4} +(GLOBAL|WEAK) +\S+ +UND (\w+)(?:@+(\S+))?/gm,
  );
  return [...table].map(([, binding, name, version]) => ({ name, version, isWeak: binding === 'WEAK' }));
}

/** The shared libraries that a shared library loads. */
function neededLibraries(file) {
  return [...readelf('--dynamic', file).matchAll(/\(NEEDED\).*\[(.+)\]$/gm)].map(([, name]) => name);
}

const readelf = (option, file) =>
  execFileSync('readelf', ['--wide', option, file], { encoding: 'utf8', maxBuffer: 2 ** 26 });
