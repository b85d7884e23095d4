// How long from `git clone` to the first answer?
//   node bench/first-answer.mjs [--fresh [--suite bookworm] [--arch arm64 | --package]]
// --package: from `npm install` of what `npm run package` made, with Node and npm and nothing else.
// Clones what is committed here into a new folder and runs `npm run demo` there. --fresh does so in a Debian of its own, with
// Node, npm and git and nothing else, as root: Debian packages, npm packages and the model pack are then downloaded as on a
// machine that has never seen them. Making that Debian is not counted. Keep the machine quiet meanwhile: half of the time is
// a compiler's. --arch is for another processor that the kernel has an emulator for (deploy/prove-arm64): there nothing is
// claimed about time, and a request may take two minutes.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debootstrap, furnish, inside, ownSuite, requireTools } from '../scripts/lib/debian-root.mjs';
import { root } from '../test/support/programs.mjs';
import { flags, report } from '../test/support/report.mjs';

/** By a compiler, and without one. */
const most_s = { clone: 300, package: 20 };
/** Unpacked, besides µWebSockets. */
const most_mb = 60;
const options = { fresh: false, suite: '', arch: process.arch, package: false };
const { fresh, suite, arch, package: fromPackage } = flags(options);
const emulated = arch !== process.arch;
if ((emulated || fromPackage) && !fresh) throw new Error('--arch and --package need --fresh');
if (fresh) requireTools('--fresh');

/** Runs a command to its end, its standard error shown, and answers its standard output. Throws when it fails. */
function run([command, ...args], { env = process.env } = {}) {
  const { status, signal, error, stdout } = spawnSync(command, args, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  if (status !== 0)
    throw error ?? new Error(`${stdout.slice(-2000)}\n${command} ended with ${status ?? signal}`);
  return stdout;
}

const folder = mkdtempSync(join(tmpdir(), 'facematch-first-answer-'));
try {
  let place = { home: folder, origin: `file://${root}`, wrap: (command) => command, env: process.env };
  if (fresh) {
    const debian = join(folder, 'debian');
    const include = fromPackage ? ['ca-certificates'] : undefined;
    run(debootstrap(debian, suite || ownSuite(), { arch, ...(include && { include }) }));
    mkdirSync(join(debian, 'home/fresh'));
    // The clone's origin must be seen from within.
    run(['git', 'clone', '--quiet', '--bare', `file://${root}`, join(debian, 'origin.git')]);
    const wrap = (command) => inside(debian, command);
    const env = { ...furnish(debian, arch), ...(emulated ? { FACEMATCH_DEADLINE_MS: '120000' } : {}) };
    place = { home: '/home/fresh', origin: 'file:///origin.git', wrap, env };
  }
  const { home, origin, wrap, env } = place;
  const most = fromPackage ? most_s.package : most_s.clone;
  const cloned = () => {
    run(wrap(['git', 'clone', '--quiet', origin, `${home}/facematch`]), { env });
    return run(wrap(['npm', '--prefix', `${home}/facematch`, 'run', 'demo']), { env });
  };
  const within = (script) => run(wrap(['sh', '-euc', `cd ${home} && ${script}`]), { env });
  const installed = () =>
    within(
      'npm install --silent --no-audit --no-fund ./*.tgz >&2 && npx facematch doctor >&2; npx facematch demo --json',
    );
  const sizes = () => {
    const [all, uws] = within('du -sm node_modules; du -scm node_modules/uWebSockets.js* | tail -n 1')
      .split('\n')
      .map((line) => Number(line.split('\t')[0]));
    const found = all - uws;
    return [
      {
        what: 'unpacked, besides µWebSockets',
        found: `${found} MB`,
        limit: `at most ${most_mb} MB`,
        ok: found <= most_mb,
      },
    ];
  };
  if (fromPackage) {
    const made = join(root, 'build/package');
    const tarballs = readdirSync(made).filter((name) => name.endsWith('.tgz'));
    for (const name of tarballs) cpSync(join(made, name), join(folder, 'debian', home, name));
  }
  const start = performance.now();
  const stdout = fromPackage ? installed() : cloned();
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  const { match } = JSON.parse(stdout.slice(stdout.indexOf('{\n')));
  const claims = fromPackage ? sizes() : [];
  report({
    title: `From ${fromPackage ? 'npm install' : 'git clone'} to the first answer`,
    facts: {
      machine: fresh ? `a fresh Debian ${suite || ownSuite()}` : 'this one, with its packages and caches',
      processor: emulated ? `${arch}, emulated: ${seconds} s in all` : arch,
    },
    claims: [
      { what: 'the answer', found: match ? 'a match' : 'no match', limit: 'a match', ok: match === true },
      ...(emulated
        ? []
        : [{ what: 'in all', found: `${seconds} s`, limit: `at most ${most} s`, ok: seconds <= most }]),
      ...claims,
    ],
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
