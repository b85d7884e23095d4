// Detects how facematch was installed, and returns the command that repairs a missing or damaged part. This
// file is JavaScript and imports only Node's built-ins, because scripts/facematch.mjs runs it before the build.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with package.json. This file may run from `src/` or from `dist/src/`. */
export const root = findRoot();

function findRoot() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error('package.json was not found above the program');
    folder = dirname(folder);
  }
  return folder;
}

/** A file that deploy/image/collect.mjs writes into the container image. */
export const containerMark = '.container-image';

/**
 * `hasRegistry`: true if the package was built for a registry that has the project's other packages (npm run
 * package -- --registry). Otherwise anyone could publish packages with these names there, so messages name the
 * package files and never `npm install NAME`.
 * @typedef {{ kind: 'clone' | 'package' | 'container', version: string, platform: string, hasRegistry: boolean }} Installation
 */

/**
 * @param {string} [folder]
 * @returns {Installation}
 */
export function installation(folder = root) {
  const { version, optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const has = (/** @type {string} */ file) => existsSync(join(folder, file));
  const kind = has('CMakeLists.txt') ? 'clone' : has(containerMark) ? 'container' : 'package';
  const platform = `${process.platform}-${process.arch}`;
  return { kind, version, platform, hasRegistry: optionalDependencies !== undefined };
}

/**
 * A part of an installation that may be missing or damaged. `foreign addon`: an addon that was built for
 * another system or is incomplete. `packages`: npm packages. `nets`: files of a model pack that set-up creates.
 * `pack files`: files of a model pack that are in the repository. `lab`: the laboratory.
 * @typedef {'program' | 'addon' | 'foreign addon' | 'packages' | 'nets' | 'pack files' | 'lab'} Part
 */

/** Repair commands in a clone. Some remove files first, because set-up keeps files that seem up to date. */
const inClone = {
  program: 'npm run setup',
  addon: 'npm run setup',
  'foreign addon': 'rm -r build/addon && npm run setup',
  packages: 'rm -r node_modules && npm run setup',
  nets: 'npm run setup',
  'pack files': 'git checkout -- models/packs',
  lab: 'npm run setup',
};

/**
 * Returns the command that repairs a part, to be run in the folder of the installation. For a container, returns
 * a sentence.
 * @param {Part} part
 * @param {Installation} [own]
 */
export function repair(part, { kind, version, platform, hasRegistry } = installation()) {
  if (kind === 'clone') return inClone[part];
  if (kind === 'container') {
    const where = `built from a clone of version ${version}`;
    return part === 'lab'
      ? `use a clone of version ${version}: the image has no laboratory`
      : `use the image in its original state, ${where}: docker build --tag facematch .`;
  }
  const file = (/** @type {string} */ name) => `./facematch-${name}${version}.tgz`;
  if (part === 'lab') return `npm install ${hasRegistry ? `@facematch/lab@${version}` : file('lab-')}`;
  const packages = hasRegistry
    ? `--include=optional facematch@${version}`
    : `${file('')} ${file(`${platform}-`)}`;
  return `rm -rf node_modules && npm install ${packages}`;
}
