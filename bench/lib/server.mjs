// The real program in a process of its own, on free ports, with one key in a folder of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { program, root, serve } from './paths.mjs';

// A signal would end this process without its `exit` handlers, which end the servers.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));

export { root };

/** A figure of a process's status file in bytes: VmRSS, RssAnon, VmHWM. */
export function memoryOf(pid, name = 'VmRSS') {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(status.match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))?.[1]);
}

/** Lines of standard error that are kept for a report; a sanitizer's is longer than any of ours. */
const tail_lines = 200;

/**
 * `before` goes in front of node (taskset …), `rate` and `burst` are the key's.
 * Answers { key, pid, address, port, ended, tail, metric(), stop() }.
 */
export async function startServer({ env = {}, before = [], rate = 1_000_000, burst = 1_000_000 } = {}) {
  if (!existsSync(program)) throw new Error('The program is not built. Build it with: npm run setup');
  const { create } = await import('../../dist/src/gate/key-edits.js');
  const { editKeyFile } = await import('../../dist/src/gate/key-file.js');
  const folder = mkdtempSync(join(tmpdir(), 'facematch-bench-'));
  const keysFile = join(folder, 'keys.json');
  const settings = { name: 'bench', scopes: ['match:basic', 'match:advanced'], rate, burst };
  const { key } = editKeyFile(keysFile, (records) => create(records, settings, Date.now()));
  const [command, ...args] = [...before, process.execPath, ...serve];
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      FACEMATCH_PORT: '0',
      FACEMATCH_ADMIN_PORT: '0',
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_LOG_LEVEL: 'info',
      ...env,
    },
  });
  const tail = [];
  // `close`, not `exit`: its last words have been read by then.
  const ended = once(child, 'close').then(([code, signal]) => {
    rmSync(folder, { recursive: true, force: true });
    return { code, signal };
  });
  const starting = new Promise((resolve, reject) => {
    let addresses;
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (!addresses && line.includes('"msg":"starting"')) addresses = JSON.parse(line);
      // Of an answered request nothing is to be told.
      if (line.includes('"msg":"request"') && !line.includes('"fault"')) return;
      tail.push(line);
      if (tail.length > tail_lines) tail.shift();
    });
    createInterface({ input: child.stdout }).on('line', () => resolve(addresses));
    void ended.then(() => reject(new Error(`The server did not start:\n${tail.join('\n')}`)));
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const { address, admin_address: adminAddress } = await starting;
  return {
    key,
    pid: child.pid,
    address,
    port: Number(new URL(address).port),
    ended,
    tail,
    /** Value of the series whose name and labels start a line of the metrics; 0 when there is none yet. */
    async metric(series) {
      const text = await (await fetch(`${adminAddress}/metrics`)).text();
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    },
    /** Resolves to { code, signal }. */
    async stop() {
      process.off('exit', onExit);
      child.kill('SIGTERM');
      return ended;
    },
  };
}
