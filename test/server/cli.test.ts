import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { everyCommand } from '../../src/cli/help.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { settings, variableOf } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { blank, sample } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';
import { Home, TestServer } from './support/server.ts';

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
    { args: ['demo', 'one.jpg'], code: 2, stream: 'stderr', text: 'expected two images' },
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

const config = (env: NodeJS.ProcessEnv, ...args: string[]) => run(program, ['config', ...args], folder, env);
const write = (content: object) => {
  writeFileSync(join(folder, 'facematch.json'), JSON.stringify(content));
  return { FACEMATCH_CONFIG: 'facematch.json' };
};

describe('facematch config', () => {
  test('has a line for every setting, with its value and where that comes from, also as JSON', async () => {
    const file = write({ FACEMATCH_PORT: 8081, FACEMATCH_ENDPOINTS: ['match', 'models'] });
    const { code, stdout, stderr } = await config({ ...file, FACEMATCH_QUEUE: '3' });
    expect([code, stderr]).toEqual([0, '']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(rows.map(([variable]) => variable)).toEqual(Object.keys(settings).map(variableOf));
    expect(rows).toContainEqual(['FACEMATCH_CONFIG', 'facematch.json', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_PORT', '8081', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_ENDPOINTS', 'match,models', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_QUEUE', '3', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_CORS_ORIGINS', '-', 'default']);
    const { ok, faults, warnings, settings: shown } = JSON.parse((await config(file, '--json')).stdout);
    expect({ ok, faults, warnings }).toEqual({ ok: true, faults: [], warnings: [] });
    expect(shown).toMatchObject({
      FACEMATCH_PORT: { value: 8081, from: 'file' },
      FACEMATCH_CORS_ORIGINS: { value: [], from: 'default' },
    });
  });

  test('shows all that is wrong, and fails', async () => {
    const env = { ...write({ FACEMATCH_PROT: 1 }), FACEMATCH_QUEUE: 'many', FACEMATCH_HSOT: 'x' };
    const { code, stdout, stderr } = await config(env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FACEMATCH_QUEUE +16? .*default$|^FACEMATCH_QUEUE +\d+ +default$/m);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: FACEMATCH_HSOT is not a setting and is ignored',
      'error: FACEMATCH_PROT: is not a setting; facematch config shows them all (facematch.json)',
      'error: FACEMATCH_QUEUE: expected a whole number from 0 to 100000 but received "many"',
    ]);
    expect(await config(env, '--check')).toMatchObject({ code: 1, stdout: '', stderr });
    const json = await config(env, '--check', '--json');
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      faults: stderr.match(/(?<=error: ).*/g),
      warnings: stderr.match(/(?<=warning: ).*/g),
    });
  });

  test('says nothing of what is right with --check, and lets a foreign variable pass', async () => {
    expect(await config({}, '--check')).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stderr } = await config({ FACEMATCH_HSOT: 'x' }, '--check');
    expect([code, stderr]).toEqual([0, 'warning: FACEMATCH_HSOT is not a setting and is ignored\n']);
  });
});

describe('a file of settings', () => {
  test('is what a server runs with', async () => {
    const home = new Home();
    const file = join(home.folder, 'facematch.json');
    writeFileSync(file, JSON.stringify({ FACEMATCH_ENDPOINTS: ['models'], FACEMATCH_LOG_LEVEL: 'debug' }));
    const server = await TestServer.start({ env: { FACEMATCH_CONFIG: file } }, home);
    expect((await fetch(server.url('/API/v1.0/openapi.json'))).status).toBe(404);
    expect(
      (await fetch(server.url('/API/v1.0/models'), { headers: { 'x-api-key': server.key } })).status,
    ).toBe(200);
    await server.stop();
  });

  test('does not make the demo speak TLS', async () => {
    const file = write({ FACEMATCH_TLS_CERT: 'x.pem', FACEMATCH_TLS_KEY: 'x.pem' });
    const { code, stdout, stderr } = await run(program, ['demo', '--json'], folder, file);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout)).toMatchObject({ match: true });
  });
});
