import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readConfig, unknownVariables } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';

/** The Dockerfile and what it leans on, as far as that shows without building it; deploy/prove-image does build it. */

const { parseDockerfile } = await import(projectPath('deploy/image/dockerfile.mjs'));
const { contextFiles, readIgnore } = await import(projectPath('deploy/image/ignore.mjs'));
const { program } = await import(projectPath('deploy/image/collect.mjs'));

const textOf = (file: string) => readFileSync(projectPath(file), 'utf8');

interface Instruction {
  keyword: string;
  flags: [name: string, value: string][];
  line: number;
  // What the keyword brings along.
  [member: string]: unknown;
}
interface Stage {
  image: string;
  name?: string;
  instructions: Instruction[];
}

const dockerfile: { args: Instruction[]; stages: Stage[] } = parseDockerfile(textOf('Dockerfile'));
const all = dockerfile.stages.flatMap(({ instructions }) => instructions);
const final = dockerfile.stages.at(-1)!.instructions;
const the = (keyword: string) => {
  const found = final.filter((instruction) => instruction.keyword === keyword);
  expect(found).toHaveLength(1);
  return found[0]!;
};
const fromOf = ({ flags }: Instruction) => flags.find(([name]) => name === 'from')?.[1];
function contextSources({ instructions }: Stage): string[] {
  const copies = instructions.filter(({ keyword }) => keyword === 'COPY');
  return copies.filter((copy) => fromOf(copy) === undefined).flatMap(({ sources }) => sources as string[]);
}

describe('our Dockerfile', () => {
  test.each(dockerfile.stages.flatMap(contextSources))('finds %s in its context', (source) => {
    const lets = readIgnore(textOf('.dockerignore'));
    const files = existsSync(projectPath(source)) && contextFiles(projectPath('.'), lets);
    expect(files.some((file: string) => file === source || file.startsWith(`${source}/`))).toBe(true);
  });

  test('copies only from stages before', () => {
    for (const [index, { instructions }] of dockerfile.stages.entries()) {
      const before = dockerfile.stages.slice(0, index).map(({ name }) => name);
      for (const from of instructions.map(fromOf)) if (from !== undefined) expect(before).toContain(from);
    }
  });

  test('does every step of set-up, once and in order', () => {
    const [needed] = textOf('scripts/setup.mjs').split('const devSteps');
    const steps = [...(needed ?? '').matchAll(/^ {4}id: '(\w+)'/gm)].map(([, id]) => id);
    const done = all.flatMap(({ shell }) => /--only (\S+)/.exec(String(shell))?.[1]?.split(',') ?? []);
    expect(steps).toHaveLength(6);
    expect(done.toSorted()).toEqual(steps.toSorted());
    expect(done.indexOf('npm')).toBeLessThan(done.indexOf('addon'));
  });

  test('ends as a user by number who is not root', () => {
    expect(the('USER').uid).toBeGreaterThan(1000);
    expect(the('USER').gid).toBeGreaterThan(1000);
  });

  test('tries the image as that user, at the end', () => {
    const [last] = final.filter(({ keyword }) => keyword === 'RUN').slice(-1);
    expect(last).toMatchObject({ command: ['node', 'scripts/facematch.mjs', 'doctor'] });
    expect(final.indexOf(last!)).toBeGreaterThan(final.indexOf(the('USER')));
  });

  test('starts programs that the project has', () => {
    const folder = String(the('WORKDIR').folder);
    const scripts = [the('ENTRYPOINT'), the('HEALTHCHECK')].map(
      ({ command }) => (command as string[]).at(-1)!,
    );
    expect(scripts.map((script) => script.slice(0, folder.length + 1))).toEqual([`${folder}/`, `${folder}/`]);
    expect(scripts.map((script) => script.slice(folder.length + 1))).toEqual([
      'scripts/facematch.mjs',
      'dist/src/health.js',
    ]);
    expect(existsSync(projectPath('src/health.ts'))).toBe(true);
  });

  test('gives Node the flags that npm start gives it', () => {
    const { scripts } = JSON.parse(textOf('package.json'));
    const words = (the('ENTRYPOINT').command as string[]).slice(0, -1);
    expect(scripts.start).toContain(` ${words.join(' ')} dist/`);
    expect(words.length).toBeGreaterThan(1);
  });

  test('sets variables that are settings, to values that they take', () => {
    const env = Object.fromEntries(the('ENV').pairs as [string, string][]);
    expect(unknownVariables(env)).toEqual([]);
    const { host, admin_host, keys_file, port } = readConfig(env);
    expect([host, admin_host, keys_file]).toEqual(['0.0.0.0', '0.0.0.0', '/etc/facematch/keys.json']);
    expect(the('EXPOSE').port).toBe(port);
  });

  test('stops by the signal that the server drains at', () => {
    expect(the('STOPSIGNAL').signal).toBe('SIGTERM');
  });

  test('holds what it promises of the project', () => {
    const made = /^(?:build|dist)\//;
    const missing = program.filter((path: string) => !made.test(path) && !existsSync(projectPath(path)));
    expect(missing).toEqual([]);
    expect(program).toEqual(expect.arrayContaining(['LICENSE', 'THIRD_PARTY_NOTICES.md']));
  });
});

describe('our .dockerignore', () => {
  const lets = readIgnore(textOf('.dockerignore'));

  test.each([
    'keys.json',
    'keys/keys.json',
    '.env',
    '.git/config',
    '.cache/libonnxruntime-dev/x.h',
    'build/addon/Release/facematch.node',
    'dist/src/main.js',
    'node_modules/zod/index.js',
    'models/packs/default/embed.onnx',
    'models/packs/int8/embed.onnx',
    'test/unit/dockerfile.test.ts',
    'bench/results/results.json',
  ])('keeps %s out', (path) => {
    expect(lets(path)).toBe(false);
  });

  test('lets in no file that the Dockerfile does not copy', () => {
    const copied = dockerfile.stages.flatMap(contextSources);
    const stray = contextFiles(projectPath('.'), lets).filter(
      (file: string) => !copied.some((source) => file === source || file.startsWith(`${source}/`)),
    );
    expect(stray).toEqual([]);
  });
});
