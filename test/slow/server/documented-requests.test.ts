import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../../src/config/config.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { openApiDocument } from '../../../src/site/document.ts';
import { sample } from '../../fixtures/images.ts';
import { livePack, redIsLive } from '../../fixtures/packs.ts';
import { execute } from '../../server/support/cli.ts';
import { TestServer, withCache } from '../../server/support/server.ts';
import { documentedCommands, pages } from '../../support/doc-commands.ts';
import { newFolder } from '../../support/folder.ts';
import { without } from '../../support/without.mjs';

/** The names of photos in the pages, and a sample for each. Samples 1 and 3 show the same person. */
const photos = {
  'passport.jpg': 1,
  'selfie.jpg': 3,
  'frame.jpg': 1,
  'frame2.jpg': 3,
  'alice1.jpg': 3,
  'alice2.jpg': 1,
  'alice3.jpg': 3,
  'one.jpg': 1,
  'two.jpg': 3,
  'three.jpg': 2,
  'alice.jpg': 1,
  'bob.png': 2,
  'a.jpg': 1,
  'b.jpg': 3,
  'b.webp': 3,
  'group.jpg': 4,
  'door-camera.jpg': 3,
  'photos/1.jpg': 1,
  'photos/2.jpg': 2,
  'reference.jpg': 3,
  'frame0.jpg': 1,
  'frame1.jpg': 1,
  'frame3.jpg': 1,
  'frame4.jpg': 1,
  'frame5.jpg': 1,
} as const;

/**
 * The shell of a reader: bash in a folder with the photos that the pages name, and a server with every documented
 * feature.
 */
const folder = newFolder();
const FACEMATCH_PACK = livePack(newFolder(), [{ net: redIsLive, scale: 2.7 }]);
const FACEMATCH_ENDPOINTS = endpointIds.join(',');
const server = await TestServer.forFile({
  env: { ...withCache, FACEMATCH_ENDPOINTS, FACEMATCH_PACK },
});
// npx and the PATH below find the program in this folder.
mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
symlinkSync(projectPath('scripts/facematch.mjs'), join(folder, 'node_modules/.bin/facematch'));
// The README uses photos of this package.
symlinkSync(projectPath('node_modules/@vladmandic'), join(folder, 'node_modules/@vladmandic'));
for (const [name, number] of Object.entries(photos)) {
  const made = join(folder, `sample${number}${extname(name)}`);
  if (!existsSync(made)) await sharp(sample(number)).toFile(made);
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  copyFileSync(made, join(folder, name));
}
const embeddingsBody = await server.embeddingsRequest(sample(1));
writeFileSync(join(folder, 'embeddings.json'), JSON.stringify(embeddingsBody));

/** Replaces the URLs on the pages with the server's. */
const reachable = (text: string) =>
  text
    .replaceAll(/http:\/\/127\.0\.0\.1:808[01]/g, server.origin)
    .replaceAll(/http:\/\/127\.0\.0\.1:909[01]/g, server.adminOrigin);

const env = {
  PATH: `${folder}/node_modules/.bin:${process.env.PATH}`,
  HOME: folder,
  // If SHLVL is unset, bash reads .bashrc, as in a remote shell.
  SHLVL: '1',
  npm_config_offline: 'true',
  FACEMATCH_KEYS_FILE: server.home.keysFile,
  FACEMATCH_URL: server.origin,
  FACEMATCH_KEY: server.key,
  KEY: server.key,
};
/** Replaces CHALLENGE in the text with a real challenge. */
async function challenged(text: string): Promise<string> {
  if (!/\bCHALLENGE\b/.test(text)) return text;
  const { body } = await server.send({ path: '/API/v1.0/face/match/challenge' });
  return text.replaceAll(/\bCHALLENGE\b/g, body.challenge);
}

/** Runs a line until it exits. A pipeline fails if any part fails. */
const run = async (line: string) =>
  execute('bash', ['-euo', 'pipefail', '-c', reachable(await challenged(line))], folder, env);

const [, program] = /```js\n(.*?)^```$/ms.exec(pages.get('docs/getting-started.md')!)!;
writeFileSync(join(folder, 'first-match.mjs'), reachable(program!));

const plain = (line: string) => line.replace('npx ', '');

/** Selects commands that need only this folder and the server. */
const commandLine =
  /^(?:KEY=\$\()?(?:npx )?facematch (?:match|detect|demo|config|keys create|keys list) ?[^…]*$/;
const commands = documentedCommands()
  .filter(({ line }) => /^curl |^node first-match/.test(line) || commandLine.test(line))
  // Leaves out a command that runs until Ctrl-C; test/slow/server/cli-terminal.test.ts starts it.
  .filter(({ line }) => !line.includes('demo --open'))
  // Commands with and without npx are the same.
  .filter(({ line }, at, all) => all.findIndex((one) => plain(one.line) === plain(line)) === at);

const npxLine = commands.find(({ line }) => line.includes('npx facematch'));
/** Omits `npx` from all commands but one, because it takes a second and starts the same program. */
const quick = (command: (typeof commands)[number]) =>
  command === npxLine ? command.line : plain(command.line);

test('finds more than 25 documented commands to run', () => {
  expect(commands.length).toBeGreaterThan(25);
});

const { paths } = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS }));
const samples = Object.values(paths).flatMap((item) =>
  Object.entries(item).flatMap(([method, { operationId, 'x-codeSamples': each }]) =>
    each.map((sample) => ({ method, operationId, ...sample })),
  ),
);

test.each(samples.filter(({ lang }) => lang !== 'Python'))(
  'runs $operationId with $label, as the OpenAPI document shows',
  async (sample) => {
    writeFileSync(join(folder, 'sample.mjs'), await challenged(sample.source));
    const line = {
      Shell: sample.source.replace(/^curl /, 'curl --fail-with-body '),
      JavaScript: 'node sample.mjs',
    }[sample.lang]!;
    // The API's page exceeds the capacity of a pipe.
    const { code, stderr } = await run(`${line} > answer`);
    const response = readFileSync(join(folder, 'answer'), 'utf8');
    expect(code, `${response}\n${stderr}`).toBe(0);
    expect(response.slice(0, 100)).not.toMatch(/^{"type":/);
  },
);

test('writes valid Python, as the OpenAPI document shows', async () => {
  // Parses the programs instead of running them, because they need a package.
  const programs = samples.filter(({ lang }) => lang === 'Python');
  expect(programs.length).toBeGreaterThan(10);
  const files = programs.map(({ operationId, source }) => {
    writeFileSync(join(folder, `${operationId}.py`), source);
    return `${operationId}.py`;
  });
  const parse = 'import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]';
  expect(await execute('python3', ['-c', parse, ...files], folder, env)).toMatchObject({
    code: 0,
    stderr: '',
  });
});

let demoResponse: string | undefined;
test.each(commands)('runs $line ($file)', async (command) => {
  const line = quick(command);
  // Makes curl fail if the server returns an error response.
  const { code, stdout, stderr } = await run(line.replace(/^curl /, 'curl --fail-with-body '));
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  // Standard output must be only JSON.
  if (line.includes('--json')) JSON.parse(stdout);
  if (line === 'facematch demo --json') demoResponse = stdout;
});

/**
 * Programs of docs/examples in languages without a separate test. `needs` is a command that fails if something is
 * missing.
 */
const languages = [
  {
    needs: 'command -v javac',
    program: 'java/Match.java',
    // The flags halve the CPU time of a program that runs only once.
    command: 'java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC Match.java',
  },
  {
    // Some installations of Mono lack this assembly.
    needs: 'echo "class Probe {}" > probe.cs && mcs -target:library -r:System.Net.Http probe.cs',
    program: 'csharp/match.cs',
    command: 'mcs -r:System.Net.Http match.cs && mono match.exe',
  },
  { needs: 'command -v ruby', program: 'ruby/match.rb', command: 'ruby match.rb' },
].filter(({ needs, program }) => {
  const isThere = spawnSync('sh', ['-c', needs], { cwd: folder }).status === 0;
  if (!isThere) console.warn(`Skipped docs/examples/${program}, because this fails: ${needs}`);
  return isThere;
});

test.each(languages)('runs docs/examples/$program', async ({ program, command }) => {
  copyFileSync(projectPath(`docs/examples/${program}`), join(folder, basename(program)));
  const { stdout, stderr } = await run(`${command} one.jpg two.jpg`);
  expect(stdout + stderr).toMatch(/"match": ?true/);
});

test("shows the demo's response and a waiting curl command in the README", async () => {
  const readme = pages.get('README.md')!;
  const [, request] = /^(curl (?:.*\\\n)*.*)$/m.exec(readme)!;
  expect(request).toContain('--retry-connrefused');
  const shown = JSON.parse(/^```json\n(.*?)^```$/ms.exec(readme)![1]!);
  demoResponse ??= (await run('facematch demo --json')).stdout;
  const given = JSON.parse(demoResponse);
  const [image1, image2] = [given.image1, given.image2].map((image) => without(image, 'faces'));
  // The last digit may differ between CPUs, and times and ids differ on each run.
  const own = ['request_id', 'timings_ms', 'confidence_percent', 'similarity'] as const;
  const alike = Object.fromEntries(own.map((name) => [name, expect.anything()]));
  const all = { ...without(given, 'pairs'), image1, image2 };
  expect(shown).toEqual({ ...all, ...alike });
  expect(Object.keys(shown)).toEqual(Object.keys(all));
  expect(Object.keys(shown.timings_ms)).toEqual(Object.keys(given.timings_ms));
  expect(shown.confidence_percent).toBeCloseTo(given.confidence_percent, 0);
  expect(shown.similarity).toBeCloseTo(given.similarity, 2);
});
