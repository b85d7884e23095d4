// Checks that facematch runs on this machine, before anything is downloaded or built, and before each command.
// This file is JavaScript without imports, because scripts/setup.mjs runs it before there are packages or a
// compiler.

/**
 * The supported Node releases: `node` is the first supported version, `uws` the minimum glibc of the µWebSockets.js
 * binary on x64; undefined without a binary (the server uses node:http). docs/deployment.md and `engines` of
 * package.json repeat this table, and test/unit/system-requirements.test.ts compares all of them with the installed
 * packages.
 */
export const releases = [
  { node: '20.17', uws: '2.28' },
  { node: '22.9', uws: '2.28' },
  { node: '24.0', uws: '2.38' },
  { node: '25.0', uws: undefined },
  { node: '26.0', uws: '2.38' },
];
export const processors = ['x64', 'arm64'];
/** The minimum glibc of ONNX Runtime. */
export const minGlibc = '2.28';
/** The minimum glibc of the addon in the npm packages, which are built against the glibc of Debian 11. */
export const packageGlibc = '2.31';

/** Returns the minimum glibc for this kind of installation. A clone compiles the addon for the machine's own glibc. */
export const glibcFor = (/** @type {'clone' | 'package' | 'container'} */ kind) =>
  kind === 'package' ? packageGlibc : minGlibc;

const oldest = releases[0];

/** The release to install: the one that docs/deployment.md recommends. */
const recommended = '24';

const major = (/** @type {string} */ version) => version.split('.')[0];
export const atLeast = (/** @type {string} */ version, /** @type {string} */ min) =>
  version.localeCompare(min, 'en', { numeric: true }) >= 0;

/** `runtime` is bun or deno; undefined for Node. `glibc` is undefined if the C library is not glibc. */
export function thisMachine() {
  const { platform, arch, versions } = process;
  const runtime = ['bun', 'deno'].find((name) => name in versions);
  return { platform, arch, node: versions.node, glibc: glibcOf(runtime), runtime };
}

function glibcOf(/** @type {string | undefined} */ runtime) {
  if (runtime !== undefined) return undefined;
  const report = /** @type {{ excludeNetwork?: boolean } & NodeJS.ProcessReport} */ (process.report);
  // Prevents DNS lookups for open connections.
  report.excludeNetwork = true;
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (report.getReport());
  return header.glibcVersionRuntime;
}

const container = 'run the container image (docs/container.md)';
/** Fixes for unsupported operating systems. */
const otherSystems = {
  darwin: { name: 'macOS', fix: `On a Mac, ${container}` },
  win32: { name: 'Windows', fix: `On Windows, install it in WSL 2 (Debian or Ubuntu), or ${container}` },
};

/**
 * Returns the first unmet requirement and its fix; undefined if all are met. Checks the operating system first,
 * because no Node version helps on an unsupported system. `min`: minimum glibc.
 * @param {{ platform: string, arch: string, node: string, glibc: string | undefined, runtime?: string | undefined }} machine
 * @returns {{ fault: string, fix: string } | undefined}
 */
export function judge({ platform, arch, node, glibc, runtime }, min = minGlibc) {
  if (platform !== 'linux') {
    const other = platform === 'darwin' || platform === 'win32' ? otherSystems[platform] : undefined;
    const fault = `there is no build for ${other?.name ?? platform}, only for Linux with glibc`;
    return { fault, fix: other?.fix ?? `Use Linux, or ${container}` };
  }
  if (runtime !== undefined) {
    const name = runtime[0]?.toUpperCase() + runtime.slice(1);
    const fix = `Start it with Node ${recommended}: node node_modules/facematch/scripts/facematch.mjs (in a clone: node scripts/facematch.mjs)`;
    return { fault: `${name} is not supported`, fix };
  }
  const first = releases.find((candidate) => major(candidate.node) === major(node))?.node ?? oldest.node;
  if (!atLeast(node, first)) {
    const update = major(first) === major(node) ? `, or Node ${first} or later of ${major(first)}` : '';
    return { fault: `Node ${node} is too old`, fix: `Install Node ${recommended}${update}` };
  }
  const system = `Use a Linux on ${processors.join(' or ')} with glibc ${min} or later, such as Debian 12 or 13`;
  if (!processors.includes(arch)) return { fault: `there is no build for ${arch} CPUs`, fix: system };
  if (glibc === undefined)
    return { fault: 'the C library is not glibc (Alpine Linux?)', fix: `${system}, or ${container}` };
  if (!atLeast(glibc, min)) return { fault: `glibc ${glibc} is too old`, fix: `${system}, or ${container}` };
  return undefined;
}

/**
 * Returns one sentence about the first requirement that this machine does not meet; undefined if it meets all.
 * @param {'clone' | 'package' | 'container'} [kind]
 */
export function unmetRequirement(kind = 'clone') {
  const unfit = judge(thisMachine(), glibcFor(kind));
  return unfit && `facematch does not run here: ${unfit.fault}. ${unfit.fix}.`;
}
