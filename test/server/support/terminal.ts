import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Commands on a terminal of their own: a real one, which util-linux's `script` opens. */

export const hasTerminals = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes(
  'util-linux',
);
if (!hasTerminals) {
  process.stderr.write('Nothing is tested on a terminal: there is no `script` of util-linux\n');
}

export interface Shown {
  code: number | null;
  /** All that the terminal got, with \r\n for the end of a line. */
  text: string;
}

export class Terminal {
  text = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  /** Runs a line of shell in a folder; a redirection in it takes a stream away from the terminal. */
  constructor(line: string, folder: string, env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.text += text;
    });
    this.#ended = once(this.#child, 'close');
  }

  type(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Resolves when the terminal shows the text; rejects when the command ends before. */
  async shows(text: string): Promise<void> {
    let over = false;
    void this.#ended.then(() => {
      over = true;
    });
    while (!this.text.includes(text)) {
      if (over) throw new Error(`The terminal never showed ${text}:\n${this.text}`);
      await Promise.race([once(this.#child.stdout!, 'data'), this.#ended]);
    }
  }

  async end(): Promise<Shown> {
    const [code] = await this.#ended;
    return { code: code as number | null, text: this.text };
  }
}

export function runOnTerminal(line: string, folder: string, env?: NodeJS.ProcessEnv): Promise<Shown> {
  return new Terminal(line, folder, env).end();
}
