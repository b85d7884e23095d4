import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  AdvancedMatchFields,
  EmbedFields,
  ErrorCode,
  ImageField,
  MatchResponse,
  PersonValues,
  Problem,
} from 'facematch/client-types';
import { beforeAll, expect, expectTypeOf, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import type { Match } from '../../../src/endpoints/match.ts';
import type { MatchOptions } from '../../../src/endpoints/options.ts';
import type { errorTable, ErrorCode as OwnErrorCode, ProblemExtras } from '../../../src/errors.ts';
import { blank, samples } from '../../fixtures/images.ts';
import { run } from '../../server/support/cli.ts';
import { paths, twoPhotos } from '../../server/support/client.ts';
import { TestServer } from '../../server/support/server.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests that the client's types accept the server's real responses, in a checkout and as copied files. */

const folder = newFolder();
const copied = ['facematch.mjs', 'facematch.d.mts'];
beforeAll(() => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(projectPath('.'), join(folder, 'node_modules/facematch'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  for (const name of copied) copyFileSync(projectPath(`dist/client/${name}`), join(folder, name));
});

/**
 * Compiles a program of a project that depends on facematch. Returns the compiler's messages, or ''.
 */
async function compile(program: string, module = 'nodenext', types = ''): Promise<string> {
  writeFileSync(join(folder, 'program.ts'), program);
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const bare = ['--target', 'es2023', '--lib', 'es2023', '--types', types, '--noEmit'];
  const roots = ['--typeRoots', projectPath('node_modules/@types')];
  const resolution = module === 'esnext' ? 'bundler' : module;
  const modules = ['--module', module, '--moduleResolution', resolution];
  const tsc = projectPath('node_modules/typescript/bin/tsc');
  const { stdout, stderr } = await run(tsc, [...strict, ...bare, ...roots, ...modules, 'program.ts'], folder);
  return stdout + stderr;
}

test('accepts real responses as values of the types', async () => {
  const server = await TestServer.forTest();
  const advanced = { path: paths.advanced };
  const responses = [
    ['MatchResponse', await server.match({ ...twoPhotos(), colour: 'red' })],
    ['ModelsResponse', await server.getModels()],
    ["Problem<'missing_api_key'>", await server.match(twoPhotos(), { key: null })],
    ["Problem<'invalid_field'>", await server.match({ ...twoPhotos(), accuracy_mode: 'best' }, advanced)],
    ["Problem<'no_face_found'>", await server.match({ ...twoPhotos(), image2: await blank(64, 64, 'png') })],
    ['Problem', await server.match({ image1: samples.one })],
  ] as const;
  const values = responses.map(
    ([type, { body }], i) => `export const v${i}: f.${type} = ${JSON.stringify(body)};\n`,
  );
  const program = `import type * as f from 'facematch/client-types';\n${values.join('')}`;
  expect(await compile(program)).toBe('');
  expect(await compile(program.replace('"match":', '"score":'))).toMatch(/score.* does not exist/);
});

test('narrows the members of a problem by its code, as docs/clients/README.md shows', async () => {
  const page = readFileSync(projectPath('docs/clients/README.md'), 'utf8');
  const [, program] = page.match(/```ts\n(.*?)```/s)!;
  expect(await compile(program!, 'nodenext', 'node')).toBe('');
  const wrong = program!.replace('limit_bytes', 'limit_pixels');
  expect(await compile(wrong, 'nodenext', 'node')).toContain('limit_pixels');
  const rows = page.match(/^\| `.*$/gm)!.join('\n');
  const used = new Set(rows.match(/(?<=`)[A-Z][a-z]\w+/g));
  expect(used).toContain('QualityReason');
  expect(await compile(`import type { ${[...used].join(', ')} } from 'facematch/client-types';\n`)).toBe('');
});

test.each([
  ['facematch/client', 'nodenext'],
  ['./facematch.mjs', 'node16'],
  ['./facematch.mjs', 'esnext'],
])('type-checks a program that imports %s (%s)', async (client, module) => {
  const program = `
import { FacematchClient, FacematchError, type ManyResponse, type MatchResponse, type ImageBytes } from '${client}';
const client = new FacematchClient({ url: 'http://127.0.0.1:8080', key: 'fm' });
export async function ask(one: ImageBytes, two: Uint8Array, signal?: AbortSignal): Promise<number> {
  try {
    const answer: MatchResponse = await client.match(one, two, { accuracy_mode: 'fast' }, { signal });
    const many: ManyResponse = await client.many(one, [two]);
    return answer.confidence_percent + many.matches;
  } catch (error) {
    if (error instanceof FacematchError && error.problem?.code === 'image_too_large') return error.problem.limit_bytes;
    throw error;
  }
}
`;
  expect(await compile(program, module, 'node')).toBe('');
  const wrong = program
    .replace('accuracy_mode', 'acuracy_mode')
    .replace('confidence_percent', 'score')
    .replace('problem.limit_bytes', 'problem.limit_pixels');
  const faults = await compile(wrong, module, 'node');
  for (const name of ['acuracy_mode', 'score', 'limit_pixels']) expect(faults).toContain(name);
});

test.each(copied)('has no imports in %s', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  expect(text).not.toMatch(/^import\b|\b(from|import\(|require\() ?['"]/m);
});

test("exports no code to import, and the OpenAPI document under the package's name", async () => {
  const script = join(folder, 'program.mjs');
  writeFileSync(script, "import 'facematch/client-types';\n");
  expect((await run(script, [], folder)).stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  const load = "import document from 'facematch/openapi.json' with { type: 'json' };\n";
  writeFileSync(script, `${load}console.log(document.openapi);\n`);
  expect((await run(script, [], folder)).stdout).toBe('3.1.0\n');
});

/**
 * The compiler checks this test (node scripts/test.mjs types). The server's types come from its code, not from the
 * OpenAPI document.
 */
test('has the same types as the server', () => {
  expectTypeOf<Match>().toExtend<MatchResponse>();
  expectTypeOf<ErrorCode>().toEqualTypeOf<OwnErrorCode>();
  type AllFields = Omit<AdvancedMatchFields, ImageField> & Omit<EmbedFields, 'image'> & PersonValues;
  expectTypeOf<{ [Name in keyof AllFields]-?: AllFields[Name] }>().toEqualTypeOf<MatchOptions>();
  expectTypeOf<Problem['status']>().toEqualTypeOf<(typeof errorTable)[OwnErrorCode]['status']>();
  expectTypeOf<
    Omit<Problem, 'type' | 'title' | 'status' | 'code' | 'request_id'>
  >().toExtend<ProblemExtras>();
});
