import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { settings, surveySettings, variableOf } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';
import { documentedCommands, pages, shellLines } from '../support/doc-commands.ts';

/** Every command in the pages exists and takes the options that it is shown with. None is run here. */

const commands = documentedCommands();
const { scripts } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));

/** Programs of the system; requests with curl are sent by documented-requests.test.ts. */
const ofTheSystem = /^(?:curl|sudo|docker|mkdir|kubectl|export|npm (?:ci|link|pack|audit|install|version)) ?/;

const isFile = (path: string) => statSync(projectPath(path), { throwIfNoEntry: false })?.isFile() === true;

/** Words as a shell has them, without quotes. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare!,
  );

/** The text of a script and of what it imports from next to it, for the names of its options. */
function textWithImports(file: string): string {
  const text = readFileSync(projectPath(file), 'utf8');
  const imported = [...text.matchAll(/from '(\.[^']+\.mjs)'/g)].map(([, path]) => join(dirname(file), path!));
  return [text, ...imported.map((path) => readFileSync(projectPath(path), 'utf8'))].join('\n');
}

/** What is wrong with `file` and the `words` behind it; empty when nothing is. */
function scriptFaults(file: string, words: readonly string[]): string[] {
  const source = file.startsWith('dist/') ? file.replace('dist/', '').replace(/\.js$/, '.ts') : file;
  if (!isFile(source)) return [`${source} is not there`];
  const text = textWithImports(source);
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
  const unknown = options.filter((option) => !new RegExp(`['\\s-]${option}['\\s:\\]]`).test(text));
  const paths = words.filter((word) => /^(?:test|models|docs)\/.*\.\w+$/.test(word) && !isFile(word));
  return [...unknown.map((option) => `${source} has no --${option}`), ...paths.map((path) => `no ${path}`)];
}

/** The script of package.json that `npm run NAME`, `npm start` or `npm test` runs, judged with the words behind `--`. */
function npmFaults(words: readonly string[]): string[] {
  const [name, ...more] = words.filter((word) => !['run', '--silent', '--'].includes(word));
  const script: string | undefined = scripts[name!];
  if (script === undefined) return [`package.json has no script ${name}`];
  const file = script.match(/\S+\.m?js/g)?.at(-1);
  return more.length === 0 || file === undefined ? [] : scriptFaults(file, more);
}

/** Every command of the tree, made to do nothing. */
function idle(program: Command): Command {
  for (const command of program.commands) idle(command.action(() => {}));
  return program.configureOutput({ writeErr: () => {}, writeOut: () => {} });
}

/** A whole line is parsed by the program itself; of one that leaves something out, the command and its options must be there. */
function facematchFaults(words: readonly string[], whole: boolean): string[] {
  const program = idle(buildProgram());
  const left = words.findIndex((word) => /^(?:COMMAND$|\w*…)/.test(word));
  if (whole && left === -1) {
    try {
      program.parse(words, { from: 'user' });
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  }
  let command = program;
  for (const word of words.slice(0, left === -1 ? undefined : left)) {
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) break;
    command = child;
  }
  if (command === program && left !== 0) return [`There is no command ${words[0]}`];
  const known = command.options.map(({ long }) => long);
  return words
    .filter((word) => word.startsWith('--') && !known.includes(word))
    .map((option) => `${command.name()} has no ${option}`);
}

function presetFaults(kind: 'configurePresets' | 'buildPresets' | 'testPresets', name: string | undefined) {
  const presets: { name: string }[] = JSON.parse(readFileSync(projectPath('CMakePresets.json'), 'utf8'))[
    kind
  ];
  return presets.some((preset) => preset.name === name) ? [] : [`${kind} has no ${name}`];
}

const variables = new Set([
  ...Object.keys(settings).map(variableOf),
  ...['FACEMATCH_CONFIG', 'FACEMATCH_UWS', 'FACEMATCH_URL', 'FACEMATCH_KEY', 'KEY'],
]);

/** What is wrong with a line; undefined where nobody knows its program. */
function faultsOf(line: string, whole: boolean): string[] | undefined {
  // The command in KEY=$(…) and in <(…), up to a pipe or a file.
  const inner = /(?:\$|<)\(([^)]*)\)/.exec(line)?.[1];
  if (inner !== undefined && !ofTheSystem.test(line)) return faultsOf(inner, whole);
  const [simple = ''] = line.split(/ [|>] ?/);
  const [, assigned = '', rest = ''] = /^((?:[A-Z_]+=\S+ )*)(?:npx (?!vitest))?(.*)$/.exec(simple)!;
  const unknown = [...assigned.matchAll(/([A-Z_]+)=/g)].filter(([, name]) => !variables.has(name!));
  const [program = '', ...words] = wordsOf(rest);
  const kinds: Record<string, () => string[]> = {
    facematch: () => facematchFaults(words, whole),
    npm: () => npmFaults(words),
    node: () => {
      const [file = '', ...args] = words.filter((word, i) => i > 0 || !word.startsWith('--'));
      return file === 'first-match.mjs' ? [] : scriptFaults(file, args);
    },
    // Its options are its own; the files that it sends must be there.
    autocannon: () =>
      [...rest.matchAll(/"path":"([^"]+)"/g)]
        .filter(([, file]) => !isFile(file!))
        .map(([, file]) => `${file} is missing`),
    npx: () => words.filter((word) => word.includes('/') && !isFile(word)),
    cmake: () => presetFaults(words[0] === '--build' ? 'buildPresets' : 'configurePresets', words.at(-1)),
    ctest: () => presetFaults('testPresets', words.at(-1)),
  };
  if (ofTheSystem.test(rest)) return [];
  const judge = kinds[program] ?? (isFile(program) ? () => scriptFaults(program, words) : undefined);
  return judge && [...unknown.map(([, name]) => `${name} is no setting`), ...judge()];
}

test('the pages have commands, whole ones and mentions', () => {
  expect(commands.filter(({ whole }) => whole).length).toBeGreaterThan(40);
  expect(commands.filter(({ whole }) => !whole).length).toBeGreaterThan(10);
});

test.each(commands)('$file: $line', ({ line, whole }) => {
  expect(faultsOf(line, whole)).toEqual([]);
});

test('every file of settings that is shown is valid', () => {
  const shown = [...pages.values()]
    .flatMap(({ fences }) => fences)
    .filter(({ language, text }) => language === 'json' && /^\{\s*"FACEMATCH_/.test(text));
  expect(shown.length).toBeGreaterThan(0);
  const folder = mkdtempSync(join(tmpdir(), 'facematch-settings-'));
  const file = join(folder, 'facematch.json');
  for (const { text } of shown) {
    writeFileSync(file, text);
    expect(surveySettings({ FACEMATCH_CONFIG: file })).toMatchObject({ faults: [] });
  }
  rmSync(folder, { recursive: true });
});

describe('the judge of commands', () => {
  test.each<[line: string, whole: boolean, fault: RegExp]>([
    ['npx facematch macth a.jpg b.jpg', true, /unknown command/],
    ['facematch macth', false, /no command macth/],
    ['facematch match a.jpg', true, /missing required argument/],
    ['KEY=$(facematch keys create --nmae x)', true, /--name <name>' not specified/],
    ['facematch eval … --reprot DIR', false, /no --reprot/],
    ['FACEMATCH_PROT=1 npm start', true, /no setting/],
    ['npm run benhc', true, /no script benhc/],
    ['npm run bench -- --quikc', true, /no --quikc/],
    ['node scripts/tset.mjs', true, /not there/],
    ['node scripts/test.mjs test/unit/nothing.test.ts', true, /no test\/unit\/nothing/],
    ['cmake --preset asna', true, /no asna/],
  ])('finds the fault of %s', (line, whole, fault) => {
    expect(faultsOf(line, whole)?.join('\n')).toMatch(fault);
  });

  test('joins lines, and leaves out comments and the last &', () => {
    const text = '# first\nnpm start &\nnpm test   # all\n\ncurl -F a=@b \\\n  http://x/#y\n';
    expect(shellLines(text)).toEqual(['npm start', 'npm test', 'curl -F a=@b http://x/#y']);
  });
});
