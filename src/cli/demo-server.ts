import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { surveySettings } from '../config.ts';
import { create } from '../gate/key-edits.ts';
import { editKeyFile } from '../gate/key-file.ts';
import { projectPath } from '../paths.ts';

/** A server of the real program in a process of its own, on a free port, with one key in a folder of its own. */
export interface DemoServer {
  /** As `http://127.0.0.1:PORT`. */
  origin: string;
  key: string;
  /** Asks the server to end, waits for it, and removes the folder. Returns what went wrong, if anything did. */
  stop(): Promise<string | undefined>;
}

const startLimit_ms = 30_000;
const stopLimit_ms = 15_000;
/** Lines of the server's own output that a failure shows. */
const tailLength = 15;

export async function startDemoServer(signal: AbortSignal): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), 'facematch-demo-'));
  let child: ChildProcess | undefined;
  try {
    const keysFile = join(folder, 'keys.json');
    const settings = { name: 'demo', scopes: ['match:basic'] as const, rate: 50, burst: 100 };
    const { key } = editKeyFile(keysFile, (records) => create(records, settings, Date.now()));
    child = spawn(process.execPath, [projectPath('dist/src/cli/index.js'), 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        // A file could ask for what the demo does not do, such as TLS, and an empty variable would not take it back.
        FACEMATCH_CONFIG: '',
        FACEMATCH_TLS_CERT: '',
        FACEMATCH_TLS_KEY: '',
        FACEMATCH_PACK: surveySettings().config.pack,
        FACEMATCH_HOST: '127.0.0.1',
        FACEMATCH_PORT: '0',
        FACEMATCH_ADMIN_PORT: '0',
        FACEMATCH_KEYS_FILE: keysFile,
      },
    });
    const origin = await listening(child, signal);
    const running = child;
    return { origin, key, stop: () => stop(running, folder) };
  } catch (error) {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Waits for the one line that says where the server listens. */
async function listening(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const tail: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const origin = new Promise<string>((resolve, reject) => {
    const fail = (what: string) => reject(new Error([`${what} Its last lines:`, ...tail].join('\n  ')));
    const late = `The server did not listen within ${startLimit_ms / 1000} s.`;
    timer = setTimeout(fail, startLimit_ms, late);
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
    child.once('error', ({ message }) => reject(new Error(`The server could not be started: ${message}`)));
    // `close`, not `exit`: its last words have been read by then.
    child.once('close', (code, killer) => fail(`The server ended at once (${describeEnd(code, killer)}).`));
    for (const stream of [child.stdout, child.stderr]) {
      // Read to the end of the server's life: a full pipe would block its log.
      createInterface({ input: stream! }).on('line', (line) => {
        tail.push(line);
        if (tail.length > tailLength) tail.shift();
        const [, told] = /\blistens on (https?:\/\/\S+?:\d+)/.exec(line) ?? [];
        if (told !== undefined) resolve(told);
      });
    }
  });
  return await origin.finally(() => clearTimeout(timer));
}

async function stop(child: ChildProcess, folder: string): Promise<string | undefined> {
  try {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), stopLimit_ms);
      await exited;
      clearTimeout(killer);
    }
    if (child.exitCode === 0) return undefined;
    return `The server did not end cleanly (${describeEnd(child.exitCode, child.signalCode)}).`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function describeEnd(code: number | null, killer: NodeJS.Signals | null): string {
  return killer ?? `exit code ${code}`;
}
