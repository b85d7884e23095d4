// Checks that facematch runs on this machine, before anything is downloaded or built, and when a server starts. It is
// JavaScript and imports only Node's built-ins, because scripts/setup.mjs runs it before there are packages or a compiler.

/**
 * The releases of Node: the first version that runs facematch, and the minimum glibc for the µWebSockets.js binary that set-up has for it
 * on x64; without one the server uses node:http. The table of docs/deployment.md and `engines` say the same;
 * test/unit/system-requirements.test.ts compares all of them with the packages.
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
export const leastGlibc = '2.28';
/** The minimum glibc of the addon in the npm packages, which are built against Debian 11's. */
export const packageGlibc = '2.31';

/** A clone is compiled for the machine's own C library. */
export const glibcFor = (/** @type {'clone' | 'package' | 'container'} */ kind) =>
  kind === 'package' ? packageGlibc : leastGlibc;

const oldest = releases[0];

/** The release to install: the one that docs/deployment.md recommends. */
const recommended = '24';

const major = (/** @type {string} */ version) => version.split('.')[0];
export const atLeast = (/** @type {string} */ version, /** @type {string} */ least) =>
  version.localeCompare(least, 'en', { numeric: true }) >= 0;

/** `runtime`: what runs this, if it is not Node. glibc is undefined where there is another C library. */
export function thisMachine() {
  const { platform, arch, versions } = process;
  const runtime = ['bun', 'deno'].find((name) => name in versions);
  return { platform, arch, node: versions.node, glibc: glibcOf(runtime), runtime };
}

function glibcOf(/** @type {string | undefined} */ runtime) {
  if (runtime !== undefined) return undefined;
  const report = /** @type {{ excludeNetwork?: boolean } & NodeJS.ProcessReport} */ (process.report);
  // It would otherwise look names of open connections up.
  report.excludeNetwork = true;
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (report.getReport());
  return header.glibcVersionRuntime;
}

const container = 'run the container image (docs/container.md)';
/** Other systems than Linux → what to do there. */
const otherSystems = {
  darwin: { name: 'macOS', cure: `On a Mac, ${container}` },
  win32: { name: 'Windows', cure: `On Windows, install it in WSL 2 (Debian or Ubuntu), or ${container}` },
};

/**
 * Returns the first unmet requirement and its fix; undefined if all are met. Systems come first: no other Node would help there. `least` is the
 * oldest glibc that is supported.
 * @param {{ platform: string, arch: string, node: string, glibc: string | undefined, runtime?: string | undefined }} machine
 * @returns {{ fault: string, cure: string } | undefined}
 */
export function judge({ platform, arch, node, glibc, runtime }, least = leastGlibc) {
  if (platform !== 'linux') {
    const other = platform === 'darwin' || platform === 'win32' ? otherSystems[platform] : undefined;
    const fault = `there is no build for ${other?.name ?? platform}, only for Linux with glibc`;
    return { fault, cure: other?.cure ?? `Use Linux, or ${container}` };
  }
  if (runtime !== undefined) {
    const name = runtime[0]?.toUpperCase() + runtime.slice(1);
    const cure = `Start it with Node ${recommended}: node node_modules/facematch/scripts/facematch.mjs (in a clone: node scripts/facematch.mjs)`;
    return { fault: `${name} is not supported`, cure };
  }
  const first = releases.find((candidate) => major(candidate.node) === major(node))?.node ?? oldest.node;
  if (!atLeast(node, first)) {
    const update = major(first) === major(node) ? `, or Node ${first} or later of ${major(first)}` : '';
    return { fault: `Node ${node} is too old`, cure: `Install Node ${recommended}${update}` };
  }
  const system = `Use a Linux on ${processors.join(' or ')} with glibc ${least} or later, such as Debian 12 or 13`;
  if (!processors.includes(arch)) return { fault: `nothing is built for ${arch} processors`, cure: system };
  if (glibc === undefined)
    return { fault: 'the C library is not glibc (Alpine Linux?)', cure: `${system}, or ${container}` };
  if (!atLeast(glibc, least))
    return { fault: `glibc ${glibc} is too old`, cure: `${system}, or ${container}` };
  return undefined;
}

/**
 * Returns one sentence about the first requirement that this machine does not meet; undefined if it meets all.
 * @param {'clone' | 'package' | 'container'} [kind]
 */
export function unmetRequirement(kind = 'clone') {
  const unfit = judge(thisMachine(), glibcFor(kind));
  return unfit && `facematch does not run here: ${unfit.fault}. ${unfit.cure}.`;
}
