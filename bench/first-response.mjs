// Measures the time from `git clone` to the first response. Clones the last commit into a new folder, and runs
// `npm run demo` there. Half of the time is compilation, so run nothing else on the machine.
//   node bench/first-response.mjs [--fresh [--suite bookworm] [--node 24] [--arch arm64]]
//   --fresh  run in a new Debian with only Node.js, npm and git; downloads all packages and models. Needs root. The
//            time to create the Debian does not count.
//   --suite  release of that Debian
//   --node   major version of Node.js
//   --arch   CPU that the kernel emulates (see deploy/prove-arm64); the time is not checked
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { thisRelease } from '../scripts/lib/debian.mjs';
import { debootstrap, furnish, inside, requireTools } from '../scripts/lib/debian-root.mjs';
import { root } from '../test/support/programs.mjs';
import { claim, flags, report } from '../test/support/report.mjs';

const max_s = 300;
const { fresh, suite, arch, node } = flags({ fresh: false, suite: '', arch: process.arch, node: '' });
const emulated = arch !== process.arch;
if ((emulated || node) && !fresh) throw new Error('--arch and --node need --fresh');
if (fresh) requireTools('--fresh');

/** Runs a command, shows its standard error, and returns its standard output. Throws if the command fails. */
function run([command, ...args], { env = process.env } = {}) {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  if (status !== 0)
    throw error ?? new Error(`${stdout.slice(-20_000)}\n${command} failed with ${status ?? signal}`);
  return stdout;
}

const folder = mkdtempSync(join(tmpdir(), 'facematch-first-response-'));
try {
  let place = { home: folder, origin: `file://${root}`, wrap: (command) => command, env: process.env };
  if (fresh) {
    const debian = join(folder, 'debian');
    run(debootstrap(debian, suite || thisRelease(), arch));
    mkdirSync(join(debian, 'home/fresh'));
    // Clones the repository into the new Debian, where the original path does not exist.
    run(['git', 'clone', '--quiet', '--bare', `file://${root}`, join(debian, 'origin.git')]);
    const wrap = (command) => inside(debian, command);
    const env = {
      ...furnish(debian, { arch, node }),
      ...(emulated ? { FACEMATCH_DEADLINE_MS: '120000' } : {}),
    };
    place = { home: '/home/fresh', origin: 'file:///origin.git', wrap, env };
  }
  const { home, origin, wrap, env } = place;
  const start = performance.now();
  run(wrap(['git', 'clone', '--quiet', origin, `${home}/facematch`]), { env });
  const stdout = run(wrap(['npm', '--prefix', `${home}/facematch`, 'run', 'demo', '--', '--json']), { env });
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  const { match } = JSON.parse(stdout.slice(stdout.indexOf('{\n')));
  const claims = [claim('result of the demo', match ? 'match' : 'no match', 'match', match === true)];
  if (!emulated) claims.push(claim('total time', `${seconds} s`, `at most ${max_s} s`, seconds <= max_s));
  report({
    title: `From git clone to the first response: ${seconds} s`,
    facts: {
      machine: fresh
        ? `a fresh Debian ${suite || thisRelease()}`
        : 'this machine, with its packages and caches',
      node: run(wrap(['node', '--version']), { env }).trim(),
      on_disk: fresh ? `${run(wrap(['du', '-sm', home])).split('\t')[0]} MB` : undefined,
      processor: emulated ? `${arch}, emulated` : arch,
    },
    claims,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
