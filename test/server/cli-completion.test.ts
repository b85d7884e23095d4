import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { offersFor } from '../../src/cli/completion.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { hasTerminals, Terminal } from './support/terminal.ts';

const commands =
  'calibrate completion config demo detect doctor embed eval help keys match packs serve'.split(' ');

describe('what is offered', () => {
  test.each<{ words: readonly string[]; offered: readonly string[] }>([
    { words: [], offered: commands },
    { words: [''], offered: commands },
    { words: ['ke'], offered: ['keys'] },
    { words: ['keys', ''], offered: ['create', 'help', 'list', 'revoke', 'rotate'] },
    { words: ['completion', ''], offered: ['bash', 'fish', 'zsh'] },
    { words: ['match', '--m'], offered: ['--mode'] },
    { words: ['match', '--mode', ''], offered: ['balance', 'fast'] },
    { words: ['match', '--mode=f'], offered: ['fast'] },
    { words: ['match', '--mode', '='], offered: ['balance', 'fast'] },
    { words: ['match', '--', '--m'], offered: [':files'] },
    { words: ['detect', 'a.jpg', 'b.jpg', ''], offered: [':files'] },
    { words: ['match', 'a.jpg', 'b.jpg', ''], offered: [':files'] },
    { words: ['embed', 'a.jpg', '--out', ''], offered: [':files'] },
    { words: ['detect', '--json', '--draw', ''], offered: [':files'] },
    { words: ['eval', '--images', ''], offered: [':folders'] },
    { words: ['eval', 'lfw', '=', 'pairs.tsv', ':', 'ph'], offered: [':files'] },
    // A name is the user's own, even where it is a command's as well.
    { words: ['keys', 'create', '--name', ''], offered: [] },
    { words: ['keys', 'create', '--name', 'list', '--no'], offered: ['--note'] },
  ])('for $words is $offered', ({ words, offered }) => {
    expect([...offersFor(buildProgram(), words)].sort()).toEqual(offered);
  });
});

/** Where completing happens, and where the scripts lie, beside a command of the name. */
let folder: string;
let scripts: string;
beforeAll(async () => {
  folder = newFolder();
  scripts = newFolder();
  mkdirSync(join(folder, 'photos'));
  for (const name of ['photo 1.jpg', 'pairs.tsv']) writeFileSync(join(folder, name), '');
  const bin = join(scripts, 'facematch');
  writeFileSync(bin, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(bin, 0o755);
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(join(scripts, shell), (await run(program, ['completion', shell], folder)).stdout);
  }
});

const path = () => `${scripts}${delimiter}${process.env.PATH}`;
const runs = (shell: string, ...args: string[]) =>
  spawnSync(shell, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 30_000,
    env: { ...process.env, PATH: path() },
  });

function has(shell: string): boolean {
  if (spawnSync(shell, ['--version']).status === 0) return true;
  process.stderr.write(`Completion for ${shell} is not tested: ${shell} is not installed\n`);
  return false;
}

describe.skipIf(!has('bash') || !hasTerminals)('completion in bash', () => {
  test('fills in what the tab key asks for', async () => {
    const env = { HISTFILE: '', PATH: path() };
    const terminal = new Terminal('PS1=READY bash --norc --noprofile -i', folder, env);
    await terminal.shows('READY');
    // The command answers the tab key, the function shows what was typed in the end.
    terminal.type(
      `source ${scripts}/bash; facematch() { if [[ $1 == complete ]]; then command facematch "$@"; else printf "<%s>" "$@"; fi; }; echo COM""PLETE\n`,
    );
    await terminal.shows('COMPLETE\r\n');
    terminal.type('facematch mat\t--mo\tfas\t--mode=ba\tphoto\\ \t ; facematch eval --images ph\t; exit\n');
    const { text } = await terminal.end();
    expect(text).toContain('<match><--mode><fast><--mode=balance><photo 1.jpg>');
    expect(text).toContain('<eval><--images><photos/>');
  });
});

describe.skipIf(!has('fish'))('completion in fish', () => {
  test('offers choices and files', () => {
    const asked = ['facematch match --mode f', 'facematch match p'].map((line) => `complete -C "${line}"`);
    const script = `source ${scripts}/fish; ${asked.join('; ')}`;
    const lines = runs('fish', '--no-config', '-c', script).stdout.split('\n').filter(Boolean);
    const offers = lines.map((offer) => offer.split('\t')[0]!.replace(/\/$/, '').replaceAll('\\', ''));
    expect(offers.sort()).toEqual(['fast', 'pairs.tsv', 'photo 1.jpg', 'photos']);
  });
});

describe.skipIf(!has('zsh'))('completion in zsh', () => {
  const session = (line: string) => `
    zmodload zsh/zpty
    zpty z "zsh -f -i"
    zpty -w z "fpath=($fpath); autoload -Uz compinit; compinit -u -D; source ${scripts}/zsh; setopt no_list_ambiguous"
    # Where the prompt is, the line editor is: a tab that comes before is but a tab.
    zpty -w z "PS1=PROM''PT"
    zpty -r z out '*PROMPT*'
    zpty -w -n z '${line}'$'\\t'
    zpty -w -n z $'\\x15echo DO\\'\\'NE\\n'
    zpty -r z out '*DONE*'
    print -r -- $out`;

  test('offers choices and files', () => {
    const shown = ['facematch match --mode ', 'facematch match p'].map(
      (line) => runs('zsh', '-f', '-c', session(line)).stdout,
    );
    for (const word of ['balance', 'fast']) expect(shown[0]).toContain(word);
    for (const word of ['pairs.tsv', 'photos']) expect(shown[1]).toContain(word);
  });
});

describe('a completion script', () => {
  test.each([
    { args: ['completion'], message: "missing required argument 'shell'" },
    { args: ['completion', 'powershell'], message: 'Allowed choices are bash, zsh, fish' },
  ])('cannot be had by $args', async ({ args, message }) => {
    const { code, stdout, stderr } = await run(program, args, folder);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
