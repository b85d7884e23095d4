// Runs a command with its output kept aside: quiet while it goes well, its last lines when it fails.
import { spawn, spawnSync } from 'node:child_process';

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
