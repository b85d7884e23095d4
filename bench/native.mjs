// Times of the native stages for one image, compared with the runs of the nets alone, on one thread, and of large
// images, with their page faults:
//   node bench/native.mjs [--image FILE] [--mode fast|balance] [--pack DIR] [--beside DIR] [--rounds N] [--json]
//   node bench/native.mjs --large [--only WORD] [--rounds N] [--pack DIR] [--json]
// The first measures the stages alone where it has any option. Paths are relative to the project's folder.
import { spawnSync } from 'node:child_process';
import { root } from '../test/support/programs.mjs';
import { buildNative, programs } from './lib/setup.mjs';

const args = process.argv.slice(2);
const large = args.includes('--large');
const runs = [];
if (!large) runs.push([programs.stages, args]);
if (large || args.length === 0) runs.push([programs.large, args.filter((arg) => arg !== '--large')]);

await buildNative();
for (const [program, options] of runs) {
  const { status, error } = spawnSync(program, options, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (error) throw error;
  process.exitCode ||= status ?? 1;
}
