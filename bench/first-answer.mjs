// Measures the time from `git clone` to the first answer.
//   node bench/first-answer.mjs [--fresh [--suite bookworm] [--node 24] [--package | --arch arm64 | --script test:full]]
// Clones the last commit into a new folder and runs `npm run demo` there.
//   --fresh    in a Debian of its own with only Node, npm and git, as root: Debian packages, npm packages and the model pack are
//              downloaded as on a new machine. Creating the Debian is not counted.
//   --suite    of that Debian; --node: the major version of Node
//   --package  from `npm install` of what `npm run package` made, with only Node and npm
//   --arch     for a processor that the kernel has an emulator for (deploy/prove-arm64); nothing is claimed about time
//   --script   runs this script of package.json instead of the demo: test, test:full
// Keep the machine quiet meanwhile: half of the time is compilation.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debootstrap, furnish, inside, ownSuite, requireTools } from '../scripts/lib/debian-root.mjs';
import { root } from '../test/support/programs.mjs';
import { claim, flags, report } from '../test/support/report.mjs';

/** Limits with and without compilation. */
const most_s = { clone: 300, package: 20 };
/** Unpacked size. */
const most_mb = 60;
const options = { fresh: false, suite: '', arch: process.arch, node: '', package: false, script: 'demo' };
const { fresh, suite, arch, node, package: fromPackage, script } = flags(options);
const emulated = arch !== process.arch;
if ((emulated || fromPackage || node) && !fresh) throw new Error('--arch, --node and --package need --fresh');
if (fresh) requireTools('--fresh');

/** Runs a command, shows its standard error and returns its standard output. Throws when it fails. */
function run([command, ...args], { env = process.env } = {}) {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  if (status !== 0)
    throw error ?? new Error(`${stdout.slice(-20_000)}\n${command} ended with ${status ?? signal}`);
  return stdout;
}

const folder = mkdtempSync(join(tmpdir(), 'facematch-first-answer-'));
try {
  let place = { home: folder, origin: `file://${root}`, wrap: (command) => command, env: process.env };
  if (fresh) {
    const debian = join(folder, 'debian');
    run(debootstrap(debian, suite || ownSuite(), arch, fromPackage ? 'ca-certificates' : undefined));
    mkdirSync(join(debian, 'home/fresh'));
    // The origin must be reachable inside the new Debian.
    run(['git', 'clone', '--quiet', '--bare', `file://${root}`, join(debian, 'origin.git')]);
    const wrap = (command) => inside(debian, command);
    const env = {
      ...furnish(debian, { arch, node }),
      ...(emulated ? { FACEMATCH_DEADLINE_MS: '120000' } : {}),
    };
    place = { home: '/home/fresh', origin: 'file:///origin.git', wrap, env };
  }
  const { home, origin, wrap, env } = place;
  const most = fromPackage ? most_s.package : most_s.clone;
  const cloned = () => {
    run(wrap(['git', 'clone', '--quiet', origin, `${home}/facematch`]), { env });
    return run(wrap(['npm', '--prefix', `${home}/facematch`, 'run', script]), { env });
  };
  const within = (line) => run(wrap(['sh', '-euc', `cd ${home} && ${line}`]), { env });
  const installed = () =>
    within(
      'npm install --silent --no-audit --no-fund ./*.tgz >&2 && npx facematch doctor >&2; npx facematch demo --json',
    );
  const megabytes = (paths) => Number(within(`du -scm ${paths} | tail -n 1`).split('\t')[0]);
  if (fromPackage) {
    const made = join(root, 'build/package');
    const tarballs = readdirSync(made).filter((name) => name.endsWith('.tgz'));
    for (const name of tarballs) cpSync(join(made, name), join(folder, 'debian', home, name));
  }
  const start = performance.now();
  const stdout = fromPackage ? installed() : cloned();
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  const tests = script !== 'demo';
  const answer = tests ? stdout.trim().split('\n').at(-1) : JSON.parse(stdout.slice(stdout.indexOf('{\n')));
  const claims = [
    tests
      ? claim(`npm run ${script}`, answer, '0 failed', answer.includes(' 0 failed'))
      : claim('the answer', answer.match ? 'a match' : 'no match', 'a match', answer.match === true),
  ];
  if (!emulated && !tests) claims.push(claim('in all', `${seconds} s`, `at most ${most} s`, seconds <= most));
  if (fromPackage) {
    const found = megabytes('node_modules');
    claims.push(claim('unpacked', `${found} MB`, `at most ${most_mb} MB`, found <= most_mb));
  }
  report({
    title: `From ${fromPackage ? 'npm install' : 'git clone'} to ${tests ? 'tested' : 'the first answer'}: ${seconds} s`,
    facts: {
      machine: fresh ? `a fresh Debian ${suite || ownSuite()}` : 'this one, with its packages and caches',
      node: run(wrap(['node', '--version']), { env }).trim(),
      on_disk: fresh ? `${megabytes('.')} MB` : undefined,
      processor: emulated ? `${arch}, emulated` : arch,
    },
    claims,
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
