import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { everyCommand } from '../../src/cli/help.ts';
import { openLab } from '../../src/cli/laboratory.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { settings, variableOf } from '../../src/config/config.ts';
import { projectPath, version } from '../../src/config/paths.ts';
import { blank, sample } from '../fixtures/images.ts';
import { newFolder } from '../support/folder.ts';
import { execute, expectFailure, facematch, facematchInHost, program, run } from './support/cli.ts';
import { TestServer } from './support/server.ts';

let folder: string;

beforeEach(() => {
  folder = newFolder();
});

describe('facematch', () => {
  test.each<[words: string[], code: number, text: string]>([
    [[], 2, 'Usage: facematch'],
    [['kyes'], 2, 'Did you mean keys?'],
    [['demo', 'one.jpg'], 2, 'expected two images'],
    [['demo', 'one.jpg', 'two.jpg'], 1, 'one.jpg cannot be read (ENOENT)'],
  ])('exits for %j with code %i and a message', async (words, code, text) => {
    expectFailure(await facematchInHost(words, folder), code, text);
  });

  test.each([
    ['--help', /^Usage: facematch/],
    ['--version', /^\d+\.\d+\.\d+\n$/],
  ])('prints only the requested text for %s', async (option, text) => {
    const stdout = expect.stringMatching(text);
    expect(await facematch(option, folder)).toEqual({ code: 0, stdout, stderr: '' });
  });
});

const platform = `@facematch/linux-${process.arch}`;
const unbuilt = 'has not been built. Run: npm run setup';
const tarballs = ['', `linux-${process.arch}-`]
  .map((name) => `./facematch-${name}${version()}.tgz`)
  .join(' ');
test.each<[what: string, files: string[], message: string]>([
  ['the program', ['CMakeLists.txt'], `The program ${unbuilt}`],
  ['the addon', ['CMakeLists.txt', 'dist/src/cli/index.js'], `The native addon ${unbuilt}`],
  [
    'the package for the platform',
    ['dist/src/cli/index.js'],
    `The package ${platform} is not installed. Run: rm -rf node_modules && npm install ${tarballs}`,
  ],
])('prints the command to run when %s is missing', async (_what, files, message) => {
  mkdirSync(join(folder, 'dist/src/cli'), { recursive: true });
  for (const path of files) writeFileSync(join(folder, path), '');
  const bin = copyBin();
  const { code, stdout, stderr } = await run(bin, ['--help'], folder);
  expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: `${message}\n` });
});

/** Copies the bin to `folder`, with the modules that it loads first. Returns the bin's path. */
function copyBin(): string {
  const early = ['src/cli/system-requirements.mjs', 'src/config/installation.mjs'];
  for (const path of ['scripts/facematch.mjs', 'package.json', ...early])
    cpSync(projectPath(path), join(folder, path), { recursive: true });
  return join(folder, 'scripts/facematch.mjs');
}

test.each([
  [
    'darwin',
    'arm64',
    'there is no build for macOS, only for Linux with glibc. On a Mac, run the container image',
  ],
  [
    'win32',
    'x64',
    'there is no build for Windows, only for Linux with glibc. On Windows, install it in WSL 2',
  ],
])('prints another way to run facematch on %s %s, in one line', async (system, arch, words) => {
  const code = `for (const [name, value] of Object.entries({ platform: '${system}', arch: '${arch}' }))
    Object.defineProperty(process, name, { value })`;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
  const outcome = await execute(process.execPath, [...flags, copyBin(), 'demo'], folder, {});
  expect(outcome).toMatchObject({ code: 1, stdout: '' });
  expect(outcome.stderr).toMatch(/^facematch does not run here: .*\n$/);
  expect(outcome.stderr).toContain(words);
});

/** Returns flags that make Node report another version. */
function asNode(version: string) {
  const value = `{ ...process.versions, node: '${version}' }`;
  return ['--import', `data:text/javascript,Object.defineProperty(process, 'versions', { value: ${value} })`];
}

test.each([
  ['18.20.8', /^\n✗ facematch does not run here: Node 18\.20\.8 is too old\. Install Node 24\.\n$/],
  ['99.0.0', /^\n✗ --only: unknown step nothing\n$/],
])('checks Node %s in setup before the first step', async (version, words) => {
  for (const part of ['scripts', 'src/cli/system-requirements.mjs', 'package.json'])
    cpSync(projectPath(part), join(folder, part), { recursive: true });
  // A supported Node gets the next error, an unknown step.
  const command = [...asNode(version), 'scripts/setup.mjs', '--only', 'nothing'];
  const { stderr } = await execute(process.execPath, command, folder, { PATH: process.env.PATH });
  expect(stderr).toMatch(words);
});

test('rejects an old Node in serve before anything else', async () => {
  const env = { PATH: process.env.PATH, FACEMATCH_PORT: 'wrong' };
  const outcome = await execute(process.execPath, [...asNode('18.20.8'), program, 'serve'], folder, env);
  expectFailure(outcome, 1, 'error: facematch does not run here: Node 18.20.8 is too old. ');
});

test.each([
  ['eval', ['eval', 'pairs.tsv', '--images', 'photos']],
  ['packs add', ['packs', 'add', 'mine', '--embedder', 'net.onnx']],
])('names the package to install for %s without the laboratory', async (path, line) => {
  const message = `${path} requires the package @facematch/lab. Install it next to facematch: npm run setup`;
  await expect(buildProgram(undefined).parseAsync(line, { from: 'user' })).rejects.toMatchObject({
    code: 'commander.error',
    message: `error: ${message}`,
  });
});

test('offers --json for every command with output', async () => {
  const program = buildProgram(await openLab());
  const leaves = everyCommand(program).filter(({ command }) => command.commands.length === 0);
  const without = leaves.filter(({ command }) => command.options.every(({ long }) => long !== '--json'));
  // A server's log and embeddings are always JSON.
  expect(without.map(({ path }) => path)).toEqual(['facematch serve', 'facematch embed']);
});

describe('demo --json', () => {
  const put = (name: string, bytes: Uint8Array) => writeFileSync(join(folder, name), bytes);

  test("prints the server's response, ignores TLS in a settings file, and leaves no files", async () => {
    put('a.jpg', sample(1));
    put('b.jpg', sample(3));
    const file = write({ FACEMATCH_TLS_CERT: 'x.pem', FACEMATCH_TLS_KEY: 'x.pem' });
    const { code, stdout, stderr } = await facematch('demo --json a.jpg b.jpg', folder, file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ match: true, threshold_percent: 70 });
    expect(readdirSync(folder).sort()).toEqual(['a.jpg', 'b.jpg', 'facematch.json']);
  });

  test('prints nothing when the server rejects the request, and fails with its message', async () => {
    put('a.jpg', sample(1));
    put('b.png', await blank(60, 60, 'png'));
    expectFailure(await facematch('demo --json a.jpg b.png', folder), 1, '[no_face_found]');
  });
});

const config = (env: NodeJS.ProcessEnv, line = 'config') => facematchInHost(line, folder, env);
const write = (content: object) => {
  writeFileSync(join(folder, 'facematch.json'), JSON.stringify(content));
  return { FACEMATCH_CONFIG: 'facematch.json' };
};

describe('facematch config', () => {
  test('prints every setting with its value and source, also as JSON', async () => {
    const file = write({ FACEMATCH_PORT: 8081, FACEMATCH_ENDPOINTS: ['match', 'models'] });
    const { code, stdout, stderr } = await facematch('config', folder, {
      ...file,
      FACEMATCH_QUEUE_CAPACITY: '3',
    });
    expect([code, stderr]).toEqual([0, '']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(rows.map(([variable]) => variable)).toEqual(Object.keys(settings).map(variableOf));
    expect(rows).toContainEqual(['FACEMATCH_CONFIG', 'facematch.json', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_PORT', '8081', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_ENDPOINTS', 'match,models', 'file']);
    expect(rows).toContainEqual(['FACEMATCH_QUEUE_CAPACITY', '3', 'environment']);
    expect(rows).toContainEqual(['FACEMATCH_CORS_ORIGINS', '-', 'default']);
    const { settings: shown, ...verdict } = JSON.parse((await config(file, 'config --json')).stdout);
    expect(verdict).toEqual({ ok: true, faults: [], warnings: [] });
    expect(shown.FACEMATCH_PORT).toMatchObject({ value: 8081, from: 'file' });
    expect(shown.FACEMATCH_CORS_ORIGINS).toMatchObject({ value: [], from: 'default' });
  });

  test('reports all invalid settings, and fails', async () => {
    const env = { ...write({ FACEMATCH_PROT: 1 }), FACEMATCH_QUEUE_CAPACITY: 'many', FACEMATCH_HSOT: 'x' };
    const { code, stdout, stderr } = await config(env);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^FACEMATCH_QUEUE_CAPACITY +16? .*default$|^FACEMATCH_QUEUE_CAPACITY +\d+ +default$/m,
    );
    expect(stderr.trimEnd().split('\n')).toEqual([
      'warning: FACEMATCH_HSOT is not a setting and is ignored',
      'error: FACEMATCH_PROT: is not a setting; facematch config lists all settings (facematch.json)',
      'error: FACEMATCH_QUEUE_CAPACITY: expected a whole number from 0 to 100000 but received "many"',
    ]);
    expect(await config(env, 'config --check')).toMatchObject({ code: 1, stdout: '', stderr });
    const json = await config(env, 'config --check --json');
    expect(json).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      faults: stderr.match(/(?<=error: ).*/g),
      warnings: stderr.match(/(?<=warning: ).*/g),
    });
  });

  test('prints nothing for valid settings with --check, and warns about unknown variables', async () => {
    expect(await config({}, 'config --check')).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stderr } = await config({ FACEMATCH_HSOT: 'x' }, 'config --check');
    expect([code, stderr]).toEqual([0, 'warning: FACEMATCH_HSOT is not a setting and is ignored\n']);
  });
});

describe('a settings file', () => {
  test('configures the server', async () => {
    write({ FACEMATCH_ENDPOINTS: ['models'], FACEMATCH_LOG_LEVEL: 'debug' });
    const env = { FACEMATCH_CONFIG: join(folder, 'facematch.json') };
    const server = await TestServer.forTest({ env });
    expect((await fetch(server.url('/API/v1.0/openapi.json'))).status).toBe(404);
    expect((await server.getModels()).status).toBe(200);
  });
});
