// A contender's server in a process of its own, which ends with this one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Loading tfjs and its models takes seconds on a busy machine. */
const patience_ms = 120_000;

const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * Starts node with `args`, on the CPUs of `cores` (as taskset takes them) when given. Its standard error goes to a file, as
 * a service's log does: read by this process, it would cost the CPU time that is being measured.
 * Resolves to { pid, address, stop() } when a line of standard output names an address.
 */
export async function startProcess({ args, env = {}, cores }) {
  const folder = mkdtempSync(join(tmpdir(), 'facematch-bench-'));
  const log = join(folder, 'log');
  const [command, ...words] = [...(cores ? ['taskset', '-c', cores] : []), process.execPath, ...args];
  const stderr = openSync(log, 'w');
  const child = spawn(command, words, {
    cwd: folder,
    stdio: ['ignore', 'pipe', stderr],
    env: { PATH: process.env.PATH, ...env },
  });
  closeSync(stderr);
  children.add(child);
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  const lastWords = () => readFileSync(log, 'utf8').split('\n').slice(-20).join('\n');
  const address = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`It named no address within ${patience_ms / 1000} s:\n${lastWords()}`));
    }, patience_ms);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [found] = line.match(/http:\/\/[\d.]+:\d+/) ?? [];
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    });
    void ended.then(() => {
      clearTimeout(timer);
      reject(new Error(`It ended before it listened:\n${lastWords()}`));
    });
  });
  return {
    pid: child.pid,
    address,
    async stop() {
      children.delete(child);
      child.kill('SIGTERM');
      const end = await ended;
      rmSync(folder, { recursive: true, force: true });
      return end;
    },
  };
}
