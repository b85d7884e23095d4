import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { packDirectory } from '../../../src/engine/manifest.ts';
import type { Build } from './builds.ts';

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs one of the programs of this folder to its end; one that hangs is killed after `longest` milliseconds, which shows
 * as SIGKILL.
 * `kill` is sent as soon as the program has written anything.
 */
export function runChild(
  build: Build,
  program: string,
  args: string[],
  { kill, flags = [], longest = 50_000 }: { kill?: NodeJS.Signals; flags?: string[]; longest?: number } = {},
): Promise<Ending> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [...flags, file, ...args], {
    env: { ...process.env, ...build.env, FACEMATCH_PACK_DIRECTORY: packDirectory('default') },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: longest,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (kill) child.kill(kill);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
