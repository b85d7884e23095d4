// How long from `git clone` to the first answer?
//   node bench/first-answer.mjs [--fresh [--suite bookworm]] [--json]
// Clones this repository (what is committed) into a new folder and runs `npm run demo` there. --fresh does so in a Debian
// of its own, made by debootstrap in a temporary folder, with Node, npm and git and nothing else: Debian packages, npm
// packages and the model pack are then downloaded as on a machine that has never seen them; making that Debian is not
// counted. It needs root. Mirrors, registry, proxies and certificates are those that this machine is set to. Keep the
// machine quiet meanwhile: half of the time is a compiler's.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { debootstrap, furnish, inside, ownSuite, requireTools } from '../scripts/lib/debian-root.mjs';
import { root } from './lib/paths.mjs';
import { progress, report } from './lib/report.mjs';

const target_s = 300;

function options() {
  try {
    const { values } = parseArgs({
      options: { fresh: { type: 'boolean' }, suite: { type: 'string' }, json: { type: 'boolean' } },
    });
    if (values.suite !== undefined && !values.fresh) throw new Error('--suite goes with --fresh');
    if (values.fresh) requireTools('--fresh');
    return { fresh: false, json: false, suite: values.fresh ? ownSuite() : undefined, ...values };
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

const { fresh, suite, json } = options();
const folder = mkdtempSync(join(tmpdir(), 'facematch-first-answer-'));
let running;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
// What still runs may write until it is gone.
process.on('exit', () => {
  if (running?.exitCode === null && running.signalCode === null) process.kill(-running.pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const seconds = (since) => Math.round((performance.now() - since) / 100) / 10;

/** Runs a command in a process group of its own. Resolves to its standard output; `onLine` sees every line. */
function run([command, ...args], { cwd, env, onLine = () => {} }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    running = child;
    const lines = [];
    let stdout = '';
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        onLine(line);
        progress(line.slice(0, 100));
      });
    }
    child.on('error', reject);
    child.on('close', (code) => {
      progress('');
      if (code === 0) resolve(stdout);
      else
        reject(new Error(`${command} ${args.join(' ')}\n${lines.slice(-30).join('\n')}\nended with ${code}`));
    });
  });
}

/** Where the clone is made: `home` as seen by the commands, `wrap` makes a command run there. */
async function place() {
  if (!fresh) return { home: folder, wrap: (command) => command, cwd: folder, env: process.env };
  const debian = join(folder, suite);
  await run(debootstrap(debian, suite), { env: process.env });
  const env = furnish(debian);
  // The clone's origin must be seen from within.
  await run(['git', 'clone', '--quiet', '--bare', `file://${root}`, join(debian, 'origin.git')], {});
  mkdirSync(join(debian, 'home/fresh'));
  return { home: '/home/fresh', wrap: (command) => inside(debian, command), env };
}

async function measure() {
  const { home, wrap, cwd, env } = await place();
  const origin = fresh ? 'file:///origin.git' : `file://${root}`;
  const steps = {};
  const [load] = loadavg();
  const started = performance.now();
  await run(wrap(['git', 'clone', '--quiet', origin, `${home}/facematch`]), { cwd, env });
  const clone_s = seconds(started);

  let setup_s;
  const stdout = await run(wrap(['npm', '--prefix', `${home}/facematch`, 'run', 'demo']), {
    cwd,
    env,
    // scripts/setup.mjs tells of each step when it is done: ✓ [4/6] native addon (80.1 s)
    onLine: (line) => {
      const [, step, of, title, took] = line.match(/^✓ \[(\d+)\/(\d+)\] ([^(]+?)(?: \((\S+) s\))?$/) ?? [];
      if (step === undefined) return;
      steps[`${title}, s`] = Number(took ?? 0);
      if (step === of) setup_s = seconds(started) - clone_s;
    },
  });
  const total_s = seconds(started);
  if (setup_s === undefined) throw new Error(`Set-up has not told of its end:\n${stdout}`);
  const { match } = JSON.parse(stdout.slice(stdout.indexOf('\n{\n')));
  const round = (value) => Math.round(value * 10) / 10;
  return {
    match,
    total_s,
    facts: {
      'load before': Math.round(load * 10) / 10,
      machine: fresh ? `a fresh Debian ${suite}` : 'this one, with its packages and caches',
      'git clone, s': clone_s,
      'set-up, s': round(setup_s),
      ...Object.fromEntries(Object.entries(steps).map(([title, took]) => [`  ${title}`, took])),
      'demo, s': round(total_s - clone_s - setup_s),
    },
  };
}

try {
  const { match, total_s, facts } = await measure();
  report({
    title: 'From git clone to the first answer',
    json,
    facts,
    claims: [
      { what: 'the answer', found: match ? 'a match' : 'no match', limit: 'a match', ok: match === true },
      { what: 'in all', found: `${total_s} s`, limit: `at most ${target_s} s`, ok: total_s <= target_s },
    ],
  });
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
