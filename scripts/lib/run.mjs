// Steps of set-up and packaging: commands with captured output, progress on a terminal, and stamps of
// completed steps.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An error whose message tells a person what failed and how to fix it. */
export class SetupError extends Error {}

const lastLines = (text, count) => text.trimEnd().split('\n').slice(-count).join('\n');

/**
 * Resolves to the command's output. Rejects with a SetupError that ends in `cure`.
 */
export function run(command, args, { cwd, env, cure }) {
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
      reject(new SetupError(`${command} ${args.join(' ')}\n${lastLines(output, 30)}\n${reason}\n${cure}`));
    child.on('error', (error) => fail(error.message));
    child.on('close', (code) => (code === 0 ? resolve(output) : fail(`It ended with exit code ${code}.`)));
  });
}

/** Output of a quick command, or undefined when it is absent or fails. */
export function ask(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

const onTerminal = process.stderr.isTTY === true && !process.env.CI;
export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Reports every 20 s that `title` still runs; on a terminal each second, on one line. */
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

// A step is skipped if none of its inputs has changed: a stamp next to the product contains their hash.
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
 * Allows one set-up in a folder at a time: a second one would interfere, so it waits. Resolves when this
 * process has the lock, which it keeps until it ends, however it ends. `onWait` is called if another one has
 * it. Nothing is locked if util-linux's flock is missing.
 */
export async function takeLock(lock, onWait) {
  for (const how of [['--nonblock'], []]) {
    // It ends with its standard input, and that with this process.
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
