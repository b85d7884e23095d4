// Does facematch run on this machine? Asked before anything is downloaded or built, and by whoever starts a server. Node's
// built-ins only, and JavaScript: scripts/setup.mjs asks it before there are packages or a compiler.

/**
 * The releases of Node: the first version that runs facematch, and the least glibc with which set-up has a binary of µWebSockets.js for it on
 * x64; elsewhere HTTP is served by node:http. The table of docs/deployment.md and `engines` say the same;
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
/** That of ONNX Runtime. */
export const leastGlibc = '2.28';

const oldest = releases[0];

const major = (/** @type {string} */ version) => version.split('.')[0];
export const atLeast = (/** @type {string} */ version, /** @type {string} */ least) =>
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
 * @returns {{ fault: string, cure: string } | undefined}
 */
export function judge({ platform, arch, node, glibc }) {
  const least = releases.find((candidate) => major(candidate.node) === major(node))?.node ?? oldest.node;
  if (!atLeast(node, least)) {
    return { fault: `Node ${node} is too old`, cure: `Install Node ${least} or later of ${major(least)}` };
  }
  if (platform !== 'linux') return undefined;
  const system = `Use Linux on ${processors.join(' or ')} with glibc ${leastGlibc} or later, such as Debian 12 or 13`;
  if (!processors.includes(arch)) return { fault: `nothing is built for ${arch} processors`, cure: system };
  if (glibc === undefined) return { fault: 'the C library is not glibc (Alpine?)', cure: system };
  if (!atLeast(glibc, leastGlibc)) return { fault: `glibc ${glibc} is too old`, cure: system };
  return undefined;
}

/** One sentence for people about what is in the way on this machine; undefined when nothing is. */
export function unmetRequirement() {
  const unfit = judge(thisMachine());
  return unfit && `facematch does not run here: ${unfit.fault}. ${unfit.cure}.`;
}
