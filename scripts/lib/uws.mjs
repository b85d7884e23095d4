// µWebSockets.js: upstream's own binaries, as republished in npm packages with one file each.
// docs/dependencies.md names their publishers.
import { join } from 'node:path';
import { atLeast, thisMachine } from '../../src/cli/system-requirements.mjs';
import { liftFiles, requireDigest } from './lift.mjs';

/** Each binary is in this folder, in `folder` of its build: src/http/uws/uws.ts searches for it there. */
export const uwsFolder = 'build/uws';

/**
 * The newest first. `system` is platform, CPU and Node's major version; `glibc` the minimum with which the
 * binary loads; `integrity` that of the tarball, as npm states it; `sha256` that of the binary.
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

/** Returns those for a release of Node on this system, the newest first. */
export const uwsFor = (release) =>
  uwsBuilds.filter(({ system }) => system === `${process.platform}-${process.arch}-${release}`);

/** Returns the newest that loads here; undefined if none does. */
export function ownUws() {
  const { node, glibc } = thisMachine();
  return uwsFor(node.split('.')[0]).find((build) => glibc !== undefined && atLeast(glibc, build.glibc));
}

/**
 * Extracts the binary of a build into its folder of `target`. Throws a SetupError if the tarball or the file
 * is not the pinned one.
 */
export async function liftUws({ sha256, ...build }, target) {
  const cure = `µWebSockets.js could not be set up. Check the network and npm's registry setting (npm config get registry). Without it HTTP is served by node:http: see docs/deployment.md.`;
  const folder = join(target, build.folder);
  await liftFiles({ ...build, files: ['uws.node'] }, folder, cure);
  requireDigest(build.package, join(folder, 'uws.node'), sha256);
}
