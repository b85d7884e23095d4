// Does facematch run on this machine? Asked before anything is downloaded or built, and by whoever starts a server. Node's
// built-ins only, and JavaScript: scripts/setup.mjs asks it before there are packages or a compiler.
import { createRequire } from 'node:module';
import { resolve } from 'node:path';

/**
 * The releases of Node that the packages of µWebSockets.js have binaries for: the first version that runs facematch, the
 * number in the binaries' names, and the least glibc. The table of docs/deployment.md and `engines` say the same;
 * test/unit/preflight.test.ts compares all of them with the packages.
 */
export const releases = [
  { node: '20.17', abi: 115, glibc: '2.28' },
  { node: '22.9', abi: 127, glibc: '2.38' },
  { node: '24.0', abi: 137, glibc: '2.38' },
  { node: '25.0', abi: 141, glibc: '2.38' },
];
export const processors = ['x64', 'arm64'];

const oldest = releases[0];
const ownPage = 'docs/uws-lifecycle.md#one-of-your-own';

const major = (/** @type {string} */ version) => version.split('.')[0];
const atLeast = (/** @type {string} */ version, /** @type {string} */ least) =>
  version.localeCompare(least, 'en', { numeric: true }) >= 0;

/** glibc is undefined where there is another C library. */
export function thisMachine() {
  const report = /** @type {{ excludeNetwork?: boolean } & NodeJS.ProcessReport} */ (process.report);
  // It would otherwise look names of open connections up.
  report.excludeNetwork = true;
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (report.getReport());
  const { platform, arch, versions } = process;
  return { platform, arch, node: versions.node, glibc: header.glibcVersionRuntime };
}

/**
 * What is in the way and what mends it; undefined when nothing is. Other systems than Linux are not judged: there the
 * packages themselves tell.
 * @param {{ platform: string, arch: string, node: string, glibc: string | undefined }} machine
 * @param {boolean} ownUws a µWebSockets.js that the packages did not bring will be taken
 * @returns {{ fault: string, cure: string } | undefined}
 */
export function judge({ platform, arch, node, glibc }, ownUws) {
  const release = releases.find((candidate) => major(candidate.node) === major(node));
  const least = release?.node ?? oldest.node;
  if (!atLeast(node, least)) {
    return { fault: `Node ${node} is too old`, cure: `Install Node ${least} or later of ${major(least)}` };
  }
  if (platform !== 'linux') return undefined;
  const system = `Use Linux on ${processors.join(' or ')} with glibc ${oldest.glibc} or later, such as Debian 12 or 13`;
  if (!processors.includes(arch)) return { fault: `nothing is built for ${arch} processors`, cure: system };
  if (glibc === undefined) return { fault: 'the C library is not glibc (Alpine?)', cure: system };
  if (!atLeast(glibc, oldest.glibc)) return { fault: `glibc ${glibc} is too old`, cure: system };
  if (ownUws || (release !== undefined && atLeast(glibc, release.glibc))) return undefined;
  const running = releases.filter((candidate) => atLeast(glibc, candidate.glibc)).map(nameOf);
  const ways = [
    `Use Node ${running.join(', ')}`,
    ...(release === undefined ? [] : [`a system with glibc ${release.glibc} or later, such as Debian 13`]),
    `a µWebSockets.js of your own (${ownPage})`,
  ];
  return {
    fault: `µWebSockets.js of npm has no binary for Node ${node} on glibc ${glibc}`,
    cure: ways.join(', or '),
  };
}

const nameOf = (/** @type {{ node: string }} */ { node }) =>
  node.endsWith('.0') ? major(node) : `${major(node)} (${node} or later)`;

/**
 * One sentence for people about what is in the way on this machine; undefined when nothing is.
 * @param {string | undefined} ownUws FACEMATCH_UWS, which counts when it loads
 */
export function preflight(ownUws) {
  const unfit = judge(thisMachine(), Boolean(ownUws) && loads(ownUws));
  return unfit && `facematch does not run here: ${unfit.fault}. ${unfit.cure}.`;
}

function loads(/** @type {string} */ folder) {
  try {
    // What the older package falls back to in JavaScript lacks it.
    return typeof createRequire(import.meta.url)(resolve(folder)).getParts === 'function';
  } catch {
    return false;
  }
}
