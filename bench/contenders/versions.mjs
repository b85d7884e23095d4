// Versions of the packages that are installed for a contender.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../lib/paths.mjs';

const folders = ['bench/node_modules', 'bench/contenders/opencv4nodejs/node_modules', 'node_modules'];

/** { name: version }, of those that are there. */
export function versionsOf(packages = []) {
  const found = packages.map((name) => {
    const file = folders
      .map((folder) => join(root, folder, name, 'package.json'))
      .find((candidate) => existsSync(candidate));
    return [name, file && JSON.parse(readFileSync(file, 'utf8')).version];
  });
  return Object.fromEntries(found.filter(([, version]) => version !== undefined));
}
