// Steps of set-up and packaging: a command with its output kept aside, the progress on a terminal, and stamps of what is done.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An error whose message is all that a person needs: what failed and what to do. */
export class SetupError extends Error {}

const lastLines = (text, count) => text.trimEnd().split('\n').slice(-count).join('\n');

/**
 * Resolves to the command's output. Rejects with a SetupError that ends in `cure`.
 * `onLine` sees each line as it comes, for a progress display.
 */
export function run(command, args, { cwd, env, cure, onLine = () => {} }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const take = (chunk) => {
      output += chunk;
      const line = lastLines(String(chunk), 1).trim();
      if (line) onLine(line);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
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
const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Shows `title` while `act(onLine)` runs; on a terminal also its time and the last line of its output. */
export async function withProgress(title, act) {
  const start = performance.now();
  let last = '';
  let frame = 0;
  const draw = () => {
    const width = (process.stderr.columns ?? 80) - title.length - 16;
    const hint = width > 10 ? last.slice(0, width) : '';
    frame = (frame + 1) % frames.length;
    process.stderr.write(`\r\x1b[2K${frames[frame]} ${title}  ${seconds(start)}  \x1b[2m${hint}\x1b[0m`);
  };
  const tell = () => process.stderr.write(`  ${title} … ${seconds(start)}\n`);
  const timer = onTerminal ? setInterval(draw, 100) : setInterval(tell, 20_000);
  timer.unref();
  try {
    const result = await act((line) => {
      last = line;
    });
    return result;
  } finally {
    clearInterval(timer);
    if (onTerminal) process.stderr.write('\r\x1b[2K');
  }
}

// A step is skipped when nothing that it is made from has changed: a stamp beside the product holds the hash.
function* filesBelow(path) {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) yield* filesBelow(join(path, name));
}

/** Hash of the names and contents of files and folders, and of further facts such as versions. */
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
