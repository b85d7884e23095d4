// Detects how facematch was installed, and knows the command that repairs each part of it. Every message
// about a missing or damaged part uses it. It is JavaScript and imports only Node's built-ins, because
// scripts/facematch.mjs runs it before anything is built.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with package.json, whether this file runs from `src/` or from `dist/src/`. */
export const root = findRoot();

function findRoot() {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    if (folder === dirname(folder)) throw new Error('package.json was not found above the program');
    folder = dirname(folder);
  }
  return folder;
}

/** deploy/image/collect.mjs writes it into the image. */
export const containerMark = '.container-image';

/**
 * `hasRegistry`: true if the package was made for a registry that has the project's other packages (npm run package -- --registry).
 * Otherwise their names are unclaimed, so a message must name the files and never `npm install NAME`.
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
 * Parts of an installation that may be missing or damaged: the program; the addon; an addon that was built for another system, or is incomplete; packages of
 * npm; a model pack's files that set-up makes, and those that facematch's repository has; the laboratory.
 * @typedef {'program' | 'addon' | 'foreign addon' | 'packages' | 'nets' | 'pack files' | 'lab'} Part
 */

/** Set-up keeps an existing file, so a damaged one is removed first. */
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
 * A command for a person, in the folder of the installation; for a container a sentence.
 * @param {Part} part
 * @param {Installation} [own]
 */
export function repair(part, { kind, version, platform, hasRegistry } = installation()) {
  if (kind === 'clone') return inClone[part];
  if (kind === 'container') {
    const where = `built from a clone of version ${version}`;
    return part === 'lab'
      ? `use a clone of version ${version}: the image has no laboratory`
      : `use the image as it was ${where}: docker build --tag facematch .`;
  }
  const file = (/** @type {string} */ name) => `./facematch-${name}${version}.tgz`;
  if (part === 'lab') return `npm install ${hasRegistry ? `@facematch/lab@${version}` : file('lab-')}`;
  const packages = hasRegistry
    ? `--include=optional facematch@${version}`
    : `${file('')} ${file(`${platform}-`)}`;
  return `rm -rf node_modules && npm install ${packages}`;
}
