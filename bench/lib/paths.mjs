// Where things are.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project, which holds bench/. Ends in a slash. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

export const program = join(root, 'dist/src/cli/index.js');

const { start } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts;
/** What `npm start` gives to node, for any folder: flags, program, `serve`. */
export const serve = start
  .slice(start.indexOf(' node -') + ' node '.length)
  .split(' ')
  .map((word) => (word === 'dist/src/cli/index.js' ? program : word));

/** What the bench makes once and keeps: nets, pictures. */
export const cache = join(root, '.cache/bench');

/** A folder of the developers' pictures, or undefined where they are not: `FACEMATCH_SHARED`, or `../shared`. */
export function sharedData(name) {
  const folder = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data', name);
  return existsSync(folder) ? folder : undefined;
}
