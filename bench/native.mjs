// What the native stages of one picture cost beside the bare runs of the nets, on one thread:
//   node bench/native.mjs [--picture FILE] [--mode fast|balance] [--rounds N] [--json]
// Builds the C++ bench (native/bench) when it is missing or older than its sources.

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = 'build/bench/native/bench/facematch_stages';

/** Runs in the project's folder. What a build says goes to standard error, so that --json stays clean. */
function run(command, args, stdout) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', stdout, 'inherit'] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const args = process.argv.slice(2);
const picture = args.indexOf('--picture') + 1;
// Paths are the caller's, but the program runs in the project's folder.
if (picture > 0 && args[picture] !== undefined) args[picture] = resolve(args[picture]);

run('cmake', ['--preset', 'bench', '--log-level=ERROR'], process.stderr);
run('cmake', ['--build', '--preset', 'bench'], process.stderr);
run(program, args, 'inherit');
