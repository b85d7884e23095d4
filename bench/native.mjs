// Times of the native stages for one image, compared with the runs of the nets alone, on one thread, as JSON:
//   node bench/native.mjs [--image FILE] [--mode fast|balance] [--pack DIR] [--beside DIR] [--rounds N]
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { root } from '../test/support/programs.mjs';
import { buildNative, programs } from './lib/setup.mjs';

const args = process.argv.slice(2);
// Paths are relative to the caller's folder, but the program runs in the project's.
for (const option of ['--image', '--pack', '--beside']) {
  const at = args.indexOf(option) + 1;
  if (at > 0 && args[at] !== undefined) args[at] = resolve(args[at]);
}

await buildNative();
const { status, error } = spawnSync(programs.stages, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
if (error) throw error;
process.exitCode = status ?? 1;
