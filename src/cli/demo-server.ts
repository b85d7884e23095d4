import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { surveySettings } from '../config/config.ts';
import { projectPath } from '../config/paths.ts';
import { create, editKeyFile } from './key-edits.ts';

export type DemoServer = Awaited<ReturnType<typeof startDemoServer>>;

const startLimit_ms = 30_000;
const stopLimit_ms = 15_000;
/** Number of lines of the server's output that an error message shows. */
const tailLength = 15;

/**
 * Starts a server in a child process, on a free port, with one key in a temporary folder. `stop` stops the
 * server, removes the folder, and resolves to an error message if the server failed. `ended` resolves when the
 * server exits or `until` aborts.
 */
export async function startDemoServer(signal: AbortSignal) {
  const folder = await mkdtemp(join(tmpdir(), 'facematch-demo-'));
  let child: ChildProcess | undefined;
  try {
    const keysFile = join(folder, 'keys.json');
    const scopes = ['match:basic', 'match:advanced', 'match:many', 'match:person', 'detect'] as const;
    const settings = { name: 'demo', scopes, rate: 50, burst: 100 };
    const { key } = editKeyFile(keysFile, (records) => create(records, settings, Date.now()));
    child = spawn(process.execPath, [projectPath('dist/src/cli/index.js'), 'serve'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        // A settings file could enable TLS, which the demo does not support. The empty TLS variables would not
        // override it.
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
    return {
      origin,
      key,
      ended: (until: AbortSignal) => ended(running, until),
      stop: () => stop(running, folder),
    };
  } catch (error) {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Waits until the server prints its URL, and resolves to the URL. */
async function listening(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const tail: string[] = [];
  let timer: NodeJS.Timeout | undefined;
  const origin = new Promise<string>((resolve, reject) => {
    const fail = (what: string) =>
      reject(new Error([`${what} Last lines of its output:`, ...tail].join('\n  ')));
    timer = setTimeout(fail, startLimit_ms, `The server did not listen within ${startLimit_ms / 1000} s.`);
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason));
    child.once('error', ({ message }) => reject(new Error(`The server could not be started: ${message}`)));
    // Waits for `close` instead of `exit`, because `close` follows the last output.
    child.once('close', () => fail(`The server exited while starting (${endOf(child)}).`));
    for (const stream of [child.stdout, child.stderr]) {
      // Reads as long as the server runs, because a full pipe would block the server's log.
      createInterface({ input: stream! }).on('line', (line) => {
        tail.push(line);
        if (tail.length > tailLength) tail.shift();
        const [, address] = /\blistens on (https?:\/\/\S+?:\d+)/.exec(line) ?? [];
        if (address !== undefined) resolve(address);
      });
    }
  });
  return await origin.finally(() => clearTimeout(timer));
}

async function ended(child: ChildProcess, signal: AbortSignal): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await once(child, 'exit', { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

async function stop(child: ChildProcess, folder: string): Promise<string | undefined> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), stopLimit_ms);
    await exited;
    clearTimeout(killer);
  }
  await rm(folder, { recursive: true, force: true });
  return child.exitCode === 0 ? undefined : `The server did not end cleanly (${endOf(child)}).`;
}

const endOf = ({ signalCode, exitCode }: ChildProcess) => signalCode ?? `exit code ${exitCode}`;
