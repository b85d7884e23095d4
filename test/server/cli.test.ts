import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { everyCommand } from '../../src/cli/help.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { projectPath } from '../../src/config/paths.ts';
import { blank, sample } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

describe('facematch', () => {
  test.each([
    { args: ['--help'], code: 0, stream: 'stdout', text: 'Usage: facematch' },
    { args: ['--version'], code: 0, stream: 'stdout', text: '.' },
    { args: [], code: 2, stream: 'stderr', text: 'Usage: facematch' },
    { args: ['kyes'], code: 2, stream: 'stderr', text: 'Did you mean keys?' },
    { args: ['demo', 'one.jpg'], code: 2, stream: 'stderr', text: 'expected two pictures' },
    {
      args: ['demo', 'one.jpg', 'two.jpg'],
      code: 1,
      stream: 'stderr',
      text: 'one.jpg cannot be read (ENOENT)',
    },
  ] as const)('$args exits with $code', async ({ args, code, stream, text }) => {
    const outcome = await run(program, args, folder);
    expect(outcome.code).toBe(code);
    expect(outcome[stream]).toContain(text);
    expect(outcome[stream === 'stdout' ? 'stderr' : 'stdout']).toBe('');
  });
});

describe('the bin', () => {
  test.each([
    {
      what: 'the program',
      files: ['CMakeLists.txt'],
      message: 'The program has not been built. Run: npm run setup',
    },
    {
      what: 'the addon',
      files: ['CMakeLists.txt', 'dist/src/cli/index.js'],
      message: 'The native addon has not been built. Run: npm run setup',
    },
    {
      what: 'the package for the platform',
      files: ['dist/src/cli/index.js'],
      message: `@facematch/linux-${process.arch} is not installed: there is none for this system, or npm left it out`,
    },
  ])('says what to run when $what is missing', async ({ files, message }) => {
    for (const path of ['scripts', 'dist/src/cli']) mkdirSync(join(folder, path), { recursive: true });
    for (const path of files) writeFileSync(join(folder, path), '');
    const bin = join(folder, 'scripts/facematch.mjs');
    copyFileSync(projectPath('scripts/facematch.mjs'), bin);
    const { code, stdout, stderr } = await run(bin, ['--help'], folder);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: `${message}\n` });
  });
});

test('every command that tells something has --json', () => {
  const leaves = everyCommand(buildProgram()).filter(({ command }) => command.commands.length === 0);
  const without = leaves.filter(({ command }) => command.options.every(({ long }) => long !== '--json'));
  // A server's log and embeddings are JSON anyway.
  expect(without.map(({ path }) => path)).toEqual(['facematch serve', 'facematch embed']);
});

describe('demo --json', () => {
  const put = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);

  test('prints the answer of the server, and leaves nothing behind', async () => {
    put('a.jpg', sample(1));
    put('b.jpg', sample(3));
    const { code, stdout, stderr } = await run(program, ['demo', '--json', 'a.jpg', 'b.jpg'], folder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      match: true,
      threshold_percent: 70,
      accuracy_mode: 'balance',
    });
    expect(readdirSync(folder).sort()).toEqual(['a.jpg', 'b.jpg']);
  });

  test('prints nothing when the server refuses, and fails with its words', async () => {
    put('a.jpg', sample(1));
    put('b.png', await blank(60, 60, 'png'));
    const { code, stdout, stderr } = await run(program, ['demo', '--json', 'a.jpg', 'b.png'], folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('[no_face_found]');
  });
});
