import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { built, program, run } from './support/cli.ts';
import { hasTerminals, Terminal } from './support/terminal.ts';

/** Where completing happens, and where the scripts lie. */
let folder: string;
let scripts: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-completion-'));
  scripts = mkdtempSync(join(tmpdir(), 'facematch-scripts-'));
  mkdirSync(join(folder, 'photos'));
  for (const name of ['photo 1.jpg', 'pairs.tsv', "it's.png"]) writeFileSync(join(folder, name), '');
  for (const shell of built ? ['bash', 'zsh', 'fish'] : []) {
    const { stdout } = await run(program, ['completion', shell], folder);
    writeFileSync(join(scripts, shell), stdout);
  }
});
afterAll(() => {
  for (const made of [folder, scripts]) rmSync(made, { recursive: true });
});

const runs = (shell: string, ...args: string[]) =>
  spawnSync(shell, args, { cwd: folder, encoding: 'utf8', timeout: 30_000 });

function has(shell: string): boolean {
  if (spawnSync(shell, ['--version']).status === 0) return true;
  process.stderr.write(`Completion for ${shell} is only read, not run: ${shell} is not installed\n`);
  return false;
}

const commands = [
  'calibrate',
  'completion',
  'config',
  'demo',
  'detect',
  'doctor',
  'eval',
  'help',
  'keys',
  'match',
  'serve',
];
const files = ["it's.png", 'pairs.tsv', 'photo 1.jpg', 'photos'];

/** What is offered for the last word, by the words after `facematch`. */
const offers: readonly { words: readonly string[]; offered: readonly string[] }[] = [
  { words: [''], offered: commands },
  { words: ['ke'], offered: ['keys'] },
  { words: ['zz'], offered: [] },
  { words: ['keys', ''], offered: ['create', 'help', 'list', 'revoke', 'rotate'] },
  { words: ['keys', 'r'], offered: ['revoke', 'rotate'] },
  { words: ['help', 'ke'], offered: ['keys'] },
  { words: ['keys', 'help', 'c'], offered: ['create'] },
  { words: ['completion', ''], offered: ['bash', 'fish', 'zsh'] },
  { words: ['match', '--m'], offered: ['--mode'] },
  { words: ['doctor', '--'], offered: ['--help', '--json', '--strict'] },
  { words: ['match', '--mode', ''], offered: ['balance', 'fast'] },
  { words: ['match', 'a.jpg', '--mode', 'f'], offered: ['fast'] },
  { words: ['match', 'p'], offered: ['pairs.tsv', 'photo 1.jpg', 'photos'] },
  { words: ['detect', 'a.jpg', 'b.jpg', ''], offered: files },
  { words: ['detect', '--draw', ''], offered: files },
  { words: ['eval', '--images', ''], offered: ['photos'] },
  { words: ['keys', 'create', '--file', 'pa'], offered: ['pairs.tsv'] },
  // A name is the user's own, even where it is a command's as well.
  { words: ['keys', 'create', '--name', ''], offered: [] },
  { words: ['keys', 'create', '--name', 'list', '--no'], offered: ['--note'] },
  { words: ['serve', ''], offered: [] },
];

describe.skipIf(!built || !has('bash'))('completion in bash', () => {
  /** COMPREPLY for words as COMP_WORDBREAKS parts them. compopt complains that no completion is going on. */
  function complete(words: readonly string[]): string[] {
    const set = `source ${scripts}/bash; COMP_WORDS=(facematch "$@"); COMP_CWORD=$#; _facematch 2>/dev/null`;
    const print = `printf '%s\\n' "\${COMPREPLY[@]}"`;
    return runs('bash', '--norc', '-c', `${set}; ${print}`, 'bash', ...words)
      .stdout.split('\n')
      .filter(Boolean)
      .sort();
  }

  test('is sound, and silent when it is sourced', () => {
    const { status, stdout, stderr } = runs(
      'bash',
      '--norc',
      '-uc',
      `bash -n ${scripts}/bash && source ${scripts}/bash`,
    );
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test.each(offers)('offers $offered for $words', ({ words, offered }) => {
    expect(complete(words)).toEqual(offered);
  });

  test.each([
    { words: ['match', '--mode', '='], offered: ['balance', 'fast'] },
    { words: ['match', '--mode', '=', 'f'], offered: ['fast'] },
    { words: ['keys', 'list', '--file', '=', 'pa'], offered: ['pairs.tsv'] },
    { words: ['eval', 'lfw', '=', 'pai'], offered: ['pairs.tsv'] },
    { words: ['eval', 'lfw', '=', 'pairs.tsv', ':', 'photos'], offered: ['photos'] },
    { words: ['match', '--', '--m'], offered: [] },
  ])('offers $offered for the parts $words', ({ words, offered }) => {
    expect(complete(words)).toEqual(offered);
  });

  test.skipIf(!hasTerminals)('fills in what the tab key asks for', async () => {
    const terminal = new Terminal('PS1=READY bash --norc --noprofile -i', folder, { HISTFILE: '' });
    await terminal.shows('READY');
    terminal.type(`facematch() { printf "<%s>" "$@"; }; source ${scripts}/bash; echo COM""PLETE\n`);
    await terminal.shows('COMPLETE\r\n');
    terminal.type('facematch mat\t--mo\tfas\tphoto\\ \t ; exit\n');
    const { text } = await terminal.end();
    expect(text).toContain('<match><--mode><fast><photo 1.jpg>');
  });
});

describe.skipIf(!built || !has('fish'))('completion in fish', () => {
  test.each(offers)('offers $offered for $words', ({ words, offered }) => {
    const line = ['facematch', ...words].join(' ');
    const { stdout } = runs(
      'fish',
      '--no-config',
      '-c',
      `source ${scripts}/fish; complete -C ${JSON.stringify(line)}`,
    );
    const found = stdout
      .split('\n')
      .filter(Boolean)
      .map((offer) => offer.split('\t')[0]!.replace(/\/$/, '').replaceAll('\\', ''))
      .sort();
    // fish offers short options with the long ones, and hidden names never.
    expect(found.filter((name) => !/^-\w$/.test(name))).toEqual(offered);
  });
});

describe.skipIf(!built || !has('zsh'))('completion in zsh', () => {
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

  test('is sound', () => {
    expect(runs('zsh', '-f', '-n', `${scripts}/zsh`)).toMatchObject({ status: 0, stderr: '' });
  });

  test.each([
    { line: 'facematch ', shown: commands },
    { line: 'facematch keys ', shown: ['create', 'help', 'list', 'revoke', 'rotate'] },
    { line: 'facematch match --mode ', shown: ['balance', 'fast'] },
    { line: 'facematch match --', shown: ['--json', '--mode', '--threshold'] },
    { line: 'facematch eval --images ', shown: ['photos'] },
    { line: 'facematch match p', shown: ['pairs.tsv', 'photos'] },
  ])('offers $shown for "$line"', ({ line, shown }) => {
    const { stdout } = runs('zsh', '-f', '-c', session(line));
    for (const word of shown) expect(stdout).toContain(word);
  });
});

describe.skipIf(!built)('a completion script', () => {
  test.each(['bash', 'zsh', 'fish'])('for %s names every command, option and choice', async (shell) => {
    const { code, stdout, stderr } = await run(program, ['completion', shell], folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const word of [
      ...commands,
      'rotate',
      'held-out-cohort',
      'min-det-score',
      'no-fallback',
      'balance',
    ]) {
      expect(stdout).toContain(word);
    }
    // Made anywhere, it runs anywhere.
    expect(stdout).not.toContain(folder);
    expect(stdout).not.toContain(process.cwd());
  });

  test.each([
    { args: ['completion'], message: "missing required argument 'shell'" },
    { args: ['completion', 'powershell'], message: 'Allowed choices are bash, zsh, fish' },
  ])('cannot be had by $args', async ({ args, message }) => {
    const { code, stdout, stderr } = await run(program, args, folder);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});
