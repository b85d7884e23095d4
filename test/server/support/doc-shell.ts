import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectPath } from '../../../src/paths.ts';
import type { Outcome } from './cli.ts';

/** A reader's shell in the clone, and the server that he started there. */

const environment = (folder: string): NodeJS.ProcessEnv => ({
  // `npm link` puts the program there.
  PATH: `${folder}/home/bin:${process.env.PATH}`,
  npm_config_prefix: `${folder}/home`,
  ...(process.env.CHROMIUM === undefined ? {} : { CHROMIUM: process.env.CHROMIUM }),
  HOME: `${folder}/home`,
  TMPDIR: `${folder}/tmp`,
  CLONE: folder,
  // What cannot be had from here is not asked for elsewhere.
  npm_config_offline: 'true',
  npm_config_update_notifier: 'false',
  // Labelled pictures are those of the clone, where a form says so, and none otherwise.
  FACEMATCH_SHARED: `${folder}/none`,
});

/** The first time, some of what is run compiles for minutes. */
export const longest_ms = 400_000;

export class DocShell {
  readonly folder: string;
  /** Beside the environment of every command. */
  readonly variables: Record<string, string> = {};
  /** Address in the docs → address of the running server. */
  readonly addresses: Record<string, string> = {};

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Runs a line to its end; a pipe fails with any of its parts. */
  async run(line: string, where: 'clone' | 'project' = 'clone'): Promise<Outcome> {
    const cwd = where === 'clone' ? this.folder : projectPath('.');
    const child = this.#spawn(this.#reachable(line), cwd, { timeout: longest_ms });
    let [stdout, stderr] = ['', ''];
    child.stdout!.on('data', (text) => (stdout += text));
    child.stderr!.on('data', (text) => (stderr += text));
    const [code] = await once(child, 'close');
    return { code: code ?? 1, stdout, stderr };
  }

  /** Starts what serves; resolves when it says that it does. Ports are free ones, whatever the line says. */
  async serve(line: string): Promise<Running> {
    const ports = 'FACEMATCH_PORT=0 FACEMATCH_ADMIN_PORT=0 FACEMATCH_WORKERS=1 ';
    const child = this.#spawn(
      `exec env ${ports}${line.replaceAll(/FACEMATCH_(?:ADMIN_)?PORT=\d+ /g, '')}`,
      this.folder,
    );
    let [stdout, stderr] = ['', ''];
    child.stderr!.on('data', (text) => (stderr += text));
    const [, address, admin] = await new Promise<RegExpExecArray>((resolve, reject) => {
      child.stdout!.on('data', (text) => {
        stdout += text;
        const found = /listens on (\S+) \(admin (\S+)\)/.exec(stdout);
        if (found !== null) resolve(found);
      });
      child.once('close', () => reject(new Error(`${line} ended early:\n${stdout}${stderr}`)));
    });
    return { address: address!, admin: admin!, stop: () => stop(child) };
  }

  #spawn(line: string, cwd: string, options: { timeout?: number } = {}): ChildProcess {
    const env = { ...environment(this.folder), ...this.variables };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    return spawn('bash', ['-euo', 'pipefail', '-c', line], { cwd, env, stdio: [...stdio], ...options });
  }

  #reachable(line: string): string {
    return Object.entries(this.addresses).reduce((text, [told, real]) => text.replaceAll(told, real), line);
  }
}

export interface Running {
  address: string;
  admin: string;
  /** SIGTERM, as a service manager sends it. */
  stop(): Promise<void>;
}

async function stop(child: ChildProcess): Promise<void> {
  child.removeAllListeners('close');
  // The server holds the other end of this pipe, also where npm is between: it ends when the server has.
  const ended = once(child.stdout!, 'end');
  child.kill('SIGTERM');
  await ended;
}
