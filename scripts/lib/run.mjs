// Helpers for setup and packaging: commands with captured output, progress on a terminal, and stamps of completed
// steps.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An error whose message is meant for the user: what failed, and how to fix it. */
export class SetupError extends Error {}

const lastLines = (text, count) => text.trimEnd().split('\n').slice(-count).join('\n');

/** Runs a command, and resolves to its output. Rejects with a SetupError whose message ends with `advice`. */
export function run(command, args, { cwd, env, advice }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    const fail = (reason) =>
      reject(new SetupError(`${command} ${args.join(' ')}\n${lastLines(output, 30)}\n${reason}\n${advice}`));
    child.on('error', (error) => fail(error.message));
    child.on('close', (code) =>
      code === 0 ? resolve(output) : fail(`The command failed with exit code ${code}.`),
    );
  });
}

/** Returns the output of a quick command; undefined if the command is missing or fails. */
export function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

const onTerminal = process.stderr.isTTY === true && !process.env.CI;
export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Prints the elapsed time of `title` every 20 s, or every second on a terminal, on one line. */
export async function withProgress(title, act) {
  const start = performance.now();
  const [before, after, every_ms] = onTerminal ? ['\r', '', 1000] : ['', '\n', 20_000];
  const printProgress = () => process.stderr.write(`${before}  ${title} … ${seconds(start)}${after}`);
  const timer = setInterval(printProgress, every_ms).unref();
  try {
    return await act();
  } finally {
    clearInterval(timer);
    if (onTerminal) process.stderr.write('\r\x1b[2K');
  }
}

// A stamp file next to the output contains the hash of a step's inputs. The step is skipped while the hash is the same.
function* filesBelow(path) {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) yield* filesBelow(join(path, name));
}

/** Returns the hash of the names and contents of files and folders, and of further facts such as versions. */
export function hashOf(paths, facts = []) {
  const hash = createHash('sha256');
  for (const fact of facts) hash.update(`${fact}\0`);
  for (const path of paths) {
    for (const file of filesBelow(path)) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

export const isStamped = (stamp, hash) => existsSync(stamp) && readFileSync(stamp, 'utf8') === hash;

export function writeStamp(stamp, hash) {
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}

/**
 * Allows only one setup in a folder at a time. Resolves when this process has the lock, which is released when the
 * process exits or is killed. Calls `onWait` if another process has the lock. Does not lock if util-linux's flock is
 * missing.
 */
export async function takeLock(lock, onWait) {
  for (const how of [['--nonblock'], []]) {
    // The holder exits when its standard input is closed, that is, when this process exits.
    const holder = spawn('flock', [...how, lock, 'sh', '-c', 'echo && exec cat >&2'], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const replies = [once(holder.stdout, 'data').then(() => true), once(holder, 'exit').then(() => false)];
    const isHeld = await Promise.race(replies).catch(({ code }) => code === 'ENOENT');
    for (const one of [holder, holder.stdin, holder.stdout]) one.unref();
    if (isHeld) return;
    if (how.length > 0) onWait();
  }
}
