// What the native stages of one picture cost beside the bare runs of the nets, on one thread:
//   node bench/native.mjs [--picture FILE] [--mode fast|balance] [--pack DIR] [--beside DIR] [--rounds N] [--json]
//   node bench/native.mjs --callgrind [--picture FILE] [--mode fast|balance] [--json]
// Times, and instructions and cycles where the machine has counters for them. --callgrind counts the instructions on any
// machine, in some minutes; it needs Debian's valgrind, which knows no AVX-512, so the nets run on their AVX2 kernels.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root } from '../test/support/programs.mjs';
import { buildNative, programs } from './lib/setup.mjs';

/** Runs in the project's folder, with its standard output where it is told. */
function run(command, args, stdout = 'inherit') {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', stdout, 'inherit'] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Instructions by piece of work, out of the profiles that requests of the program ended. What was run again for the noise is left out. */
function instructionsOf(profiles) {
  const counted = {};
  for (const text of profiles) {
    const name = /^desc: Trigger: Client Request: (.+)$/m.exec(text)?.[1];
    const total = /^totals: (\d+)/m.exec(text)?.[1];
    if (name && total && !name.startsWith('again ')) counted[name] = Number(total);
  }
  return counted;
}

const numberOf = (file) => Number(file.split('.').at(-1)) || 0;

function callgrind(args) {
  if (spawnSync('valgrind', ['--version']).status !== 0) {
    console.error('--callgrind needs valgrind. Install it with: sudo apt-get install valgrind');
    process.exit(2);
  }
  const folder = mkdtempSync(join(tmpdir(), 'facematch-callgrind-'));
  try {
    const tool = ['--tool=callgrind', '--instr-atstart=no', '--quiet', `--callgrind-out-file=${folder}/out`];
    run('valgrind', [...tool, programs.stages, '--rounds', '1', '--warm-up', '1', ...args], 'ignore');
    // In the order of writing: out.1, out.2 … out.10.
    const files = readdirSync(folder).sort((a, b) => numberOf(a) - numberOf(b));
    return instructionsOf(files.map((file) => readFileSync(join(folder, file), 'utf8')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const args = process.argv.slice(2).filter((word) => word !== '--callgrind');
// Paths are the caller's, but the program runs in the project's folder.
for (const option of ['--picture', '--pack', '--beside']) {
  const at = args.indexOf(option) + 1;
  if (at > 0 && args[at] !== undefined) args[at] = resolve(args[at]);
}

await buildNative();
if (!process.argv.includes('--callgrind')) {
  run(programs.stages, args);
} else {
  const counted = callgrind(args);
  if (args.includes('--json')) console.log(JSON.stringify({ instructions: counted }, null, 2));
  else {
    console.log('millions of instructions');
    for (const [name, count] of Object.entries(counted)) {
      console.log(`  ${name.padEnd(18)} ${(count / 1e6).toFixed(2).padStart(8)}`);
    }
  }
}
