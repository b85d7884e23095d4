import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { evalFolder } from '../../../lab/test/support/eval-folder.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { sample, smallSample } from '../../fixtures/images.ts';
import { facematch, program } from '../../server/support/cli.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests commands on a real terminal, which util-linux's `script` opens. */

const hasTerminals = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux');
if (!hasTerminals) {
  process.stderr.write("Skipped tests on a terminal: util-linux's `script` is not installed\n");
}

class Terminal {
  /** All output so far, with \r\n as line ends. */
  text = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  /** Runs a shell command in a folder; the command may redirect a stream away from the terminal. */
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
    const over = this.#ended.then(() => {
      throw new Error(`The terminal did not show ${text}:\n${this.text}`);
    });
    while (!this.text.includes(text)) await Promise.race([once(this.#child.stdout!, 'data'), over]);
    over.catch(() => {});
  }

  async end() {
    const [code] = await this.#ended;
    return { code, text: this.text };
  }
}

const runOnTerminal = (line: string, folder: string, env?: NodeJS.ProcessEnv) =>
  new Terminal(line, folder, env).end();

/** Tests colours and progress, and that standard output contains neither if it is not a terminal. */

const command = `'${process.execPath}' '${program}'`;
const colour = '\u001b[3';

let folder: string;
beforeAll(async () => {
  folder = await evalFolder();
  writeFileSync(join(folder, 'a.jpg'), sample(1));
  writeFileSync(join(folder, 'b.png'), await smallSample(1, 900));
});

test.each([
  { env: {}, coloured: false },
  { env: { FORCE_COLOR: '1' }, coloured: true },
])('colours an error in a pipe only if FORCE_COLOR is set: $env', async ({ env, coloured }) => {
  const { stderr } = await facematch('keys list', folder, env);
  expect(stderr).toContain('does not exist');
  expect(stderr.includes(colour)).toBe(coloured);
});

describe.skipIf(!hasTerminals)('the program on a terminal', () => {
  test.each([
    { env: {}, coloured: true },
    { env: { NO_COLOR: '1' }, coloured: false },
  ])('colours results and errors unless NO_COLOR is set: $env', async ({ env, coloured }) => {
    for (const [line, code, words] of [
      ['match a.jpg b.png', 0, 'Match ('],
      ['keys list', 1, 'does not exist'],
      ['keys revoke', 2, "missing required argument 'key'"],
    ] as const) {
      const shown = await runOnTerminal(`${command} ${line}`, folder, env);
      expect(shown).toEqual({ code, text: expect.stringContaining(words) });
      expect(shown.text.includes(colour)).toBe(coloured);
    }
  });

  test.each([
    ['detect --json a.jpg b.png', /images .*2\/2/],
    ['eval --json --mode fast few.tsv --images images', /images .*\d+\/\d+/],
    ['demo --json a.jpg b.png', /Starting a server/],
  ])('shows progress of %s on standard error, clears it, and keeps the JSON clean', async (line, bar) => {
    const { code, text } = await runOnTerminal(`${command} ${line} > out.json`, folder);
    expect({ code, text }).toEqual({ code: 0, text: expect.stringMatching(bar) });
    // The last output clears the line.
    expect(text.endsWith('\u001b[2K')).toBe(true);
    expect(JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'))).toBeTypeOf('object');
  });

  test('exits at once with 130 on Ctrl-C, and never hides the cursor or turns off wrapping', async () => {
    const images = Array.from({ length: 300 }, () => 'a.jpg').join(' ');
    const terminal = new Terminal(`exec ${command} detect --json ${images} > out.json`, folder);
    await terminal.shows('1/300');
    terminal.type('\u0003');
    const { code, text } = await terminal.end();
    expect(code).toBe(130);
    expect(text).not.toContain('300/300');
    for (const changed of ['\u001b[?25l', '\u001b[?7l']) expect(text).not.toContain(changed);
  });

  test('exits `packs add` with 130 on Ctrl-C, and leaves no copies of the nets behind', async () => {
    const packs = newFolder();
    const embedder = projectPath('models/packs/default/embed.onnx');
    const made = once(watch(packs), 'change');
    const terminal = new Terminal(`exec ${command} packs add ./mine --embedder ${embedder}`, packs);
    await made;
    terminal.type('\u0003');
    expect((await terminal.end()).code).toBe(130);
    expect(readdirSync(packs)).toEqual([]);
  });

  test("prints the page's URL with the key in its fragment (demo --open), and runs until Ctrl-C", async () => {
    const temporary = newFolder();
    const env = { TMPDIR: temporary, BROWSER: 'true' };
    const terminal = new Terminal(`exec ${command} demo --open`, folder, env);
    await terminal.shows('/API/v1.0/demo#key=fm_');
    await terminal.shows('Press Ctrl-C to stop.');
    terminal.type('\u0003');
    expect((await terminal.end()).code).toBe(130);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('exits a demo with 130 on Ctrl-C, and removes its folder', async () => {
    mkdirSync(join(folder, 'temporary'));
    const env = { TMPDIR: join(folder, 'temporary') };
    const terminal = new Terminal(`exec ${command} demo a.jpg b.png`, folder, env);
    await terminal.shows('Starting a server');
    terminal.type('\u0003');
    expect((await terminal.end()).code).toBe(130);
    expect(readdirSync(env.TMPDIR)).toEqual([]);
  });
});
