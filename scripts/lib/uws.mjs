// µWebSockets.js: the two republications on npm that are used, and how the files that one machine needs are lifted out of them.
// npm's ordinary install of both would be 250 MB, nearly all of it for other systems. docs/dependencies.md says what is known of each.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { liftFiles } from './lift.mjs';

/** Each build lies in a folder of this one, by the name that src/http/uws/uws.ts looks for. */
export const uwsFolder = 'build/uws';

/**
 * The newest first. `integrity` is that of the tarball, as npm states it; `files` are those that may be lifted, with their
 * SHA-256; `glibc` is the least that the binaries load with.
 */
export const uwsBuilds = [
  {
    folder: '20.57.0',
    package: '@btc-vision/uwebsockets.js',
    version: '20.57.0',
    integrity:
      'sha512-SuPpEjSKZ7P58L/27BXXsrGsMwLmPupfYny8oJsOmFZ4+zX7Ca97nBPtZ3ngKbfeDZzTyi7rXri74INGerhugg==',
    glibc: '2.38',
    files: {
      'uws.js': 'ff0bc37702a69f24a247a67988149a3f468a1f634966757dd1ae927bd5dcff00',
      'uws_linux_x64_115.node': '5b126ee00bf754b02e97e4c27090365a8562c5820c93f93918ac2212d4503e91',
      'uws_linux_x64_127.node': '4b55b1f2cb7a7913febbb65a89496412b96af77e838552980092ba6b33723aac',
      'uws_linux_x64_137.node': '98128405dba2fb608448e921a979530f70c946a2cc9889c15f2fa70c2d00ab05',
      'uws_linux_x64_141.node': '813d788b347c6fd76b779d8932311ec05a044e612b4b83af220f16e6ea789683',
      'uws_linux_arm64_115.node': '6bdbc8ff976b4371af1906175e9025804bacc38a414969f4f02314e6b99f206c',
      'uws_linux_arm64_127.node': '82b79bd18d1e3563de336156005bd01b7f39fc387b65173d69a29da4ee79f895',
      'uws_linux_arm64_137.node': '88618b30ddf6b2b62310db89f40a701616676352aac5e0f6184dd8ef876199ce',
      'uws_linux_arm64_141.node': '81d0186dd1549ed6a7f47e68e323573fc27d69d2920527654ce2dd993af2b0ec',
    },
  },
  {
    // Its binaries for other releases of Node need the same glibc as those above, and are older.
    folder: '3.0.6',
    package: 'uwebsockets',
    version: '3.0.6',
    integrity:
      'sha512-0Nw22DDOd1YGnJ8/IHYVCDHZXAVqLnjBxktl2bSjcJRVcgasb2Zs8WCRhL41IydraLLq001c6ycHdIS+rEcAxw==',
    glibc: '2.27',
    files: {
      'uws.js': '9d5cd758ff1ecd8e632f291a10c8a161a8d8010a73b69f6b6a0ec39ef04510d2',
      LICENSE: 'c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4',
      'uws_linux_x64_115.node': 'f4fa5d7b697529b45ac8aa3d57385d9af51bc1d2b26aa9f5b68ca4361542e665',
      'uws_linux_arm64_115.node': '034e0fcccdc08f90df3b130f421516311831b1352fe38eab91abc2984c2fdf3a',
    },
  },
];

const isBinary = (file) => file.endsWith('.node');

/** The builds that have a binary for a platform, such as linux_x64, and a Node, by its number of modules; the newest first. */
export const buildsFor = (platform, abi) =>
  uwsBuilds.filter(({ files }) => `uws_${platform}_${abi}.node` in files);

/**
 * Lifts the binaries of a build that `wanted` accepts by name, and what they are loaded with, into its folder of `target`. Throws a
 * SetupError when the tarball or a file is not the one that is pinned.
 */
export async function liftUws(build, wanted, target, onLine) {
  const cure = `µWebSockets.js could not be set up. Check the network and npm's registry setting (npm config get registry). Without it HTTP is served by node:http: see docs/deployment.md.`;
  const { package: name, version, folder } = build;
  const files = Object.entries(build.files).filter(([file]) => !isBinary(file) || wanted(file));
  await liftFiles({ ...build, files: Object.fromEntries(files) }, join(target, folder), cure, onLine);
  writeFileSync(join(target, folder, 'package.json'), JSON.stringify({ name, version, main: 'uws.js' }));
}
