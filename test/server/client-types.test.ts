import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import type {
  AdvancedMatchFields,
  ErrorCode,
  MatchAnswer,
  ModelsAnswer,
  ProblemMembers,
} from '../../docs/clients/client-types.d.ts';
import type { errorTable, ErrorCode as OwnErrorCode } from '../../src/errors.ts';
import type { FieldValues } from '../../src/http/fields.ts';
import type { modelsBody } from '../../src/http/handlers/models.ts';
import type { matchBody } from '../../src/http/match-result.ts';
import { projectPath } from '../../src/paths.ts';
import { run } from './support/cli.ts';
import { type form, type Json, match, paths, send, twoPhotos } from './support/client.ts';
import { blank, samples } from './support/pictures.ts';
import { TestServer } from './support/server.ts';

/** A client's program that imports `facematch/client-types` takes what the server really sends, and nothing else. */

const folder = mkdtempSync(join(tmpdir(), 'facematch-types-'));
const answers: Record<
  'match' | 'warned' | 'models' | 'no_face' | 'poor_face' | 'bad_field' | 'no_key',
  Json
> = {} as never;

beforeAll(async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(projectPath('.'), join(folder, 'node_modules/facematch'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const server = await TestServer.start();
  const bodyOf = async (fields: Parameters<typeof form>[0], options = {}) =>
    (await match(server, fields, options)).body;
  answers.match = await bodyOf(twoPhotos());
  answers.warned = await bodyOf({ ...twoPhotos(), colour: 'red' });
  answers.models = (await send(server, { path: paths.models, method: 'GET' })).body;
  answers.no_face = await bodyOf({ image1: samples.one, image2: await blank(64, 64, 'png') });
  const image1 = await sharp(samples.one).resize({ width: 160 }).png().toBuffer();
  const strict = { image1, image2: samples.three, reject_low_quality: 'true' };
  answers.poor_face = await bodyOf(strict, { path: paths.advanced });
  answers.bad_field = await bodyOf({ ...twoPhotos(), accuracy_mode: 'best' }, { path: paths.advanced });
  answers.no_key = await bodyOf(twoPhotos(), { key: null });
  await server.stop();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What the compiler says of a program of a project that has facematch among its packages; '' when it is content. */
async function compile(
  program: string,
  options: readonly string[] = ['--module', 'nodenext'],
): Promise<string> {
  writeFileSync(join(folder, 'program.ts'), program);
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const bare = ['--target', 'es2023', '--lib', 'es2023', '--types', '', '--noEmit'];
  const tsc = projectPath('node_modules/typescript/bin/tsc');
  const { stdout, stderr } = await run(tsc, [...strict, ...bare, ...options, 'program.ts'], folder);
  return stdout + stderr;
}

const declare = (type: string, value: Json) =>
  `import type * as facematch from 'facematch/client-types';\n` +
  `export const value: facematch.${type} = ${JSON.stringify(value)};\n`;

describe('a real answer, pasted as a value', () => {
  test.each<[type: string, name: keyof typeof answers, shows: object]>([
    ['MatchAnswer', 'match', { match: true }],
    ['MatchAnswer', 'warned', { warnings: [{ code: 'unknown_field' }] }],
    ['ModelsAnswer', 'models', { calibration: { fast: {} } }],
    ['Problem', 'no_face', { code: 'no_face_found' }],
    ["Problem<'no_face_found'>", 'no_face', {}],
    ['Problem', 'bad_field', { code: 'invalid_field' }],
    ["Problem<'low_quality_face'>", 'poor_face', { errors: [{ field: 'image1' }] }],
    ["Problem<'missing_api_key'>", 'no_key', { code: 'missing_api_key' }],
  ])('is a %s (%s)', async (type, name, shows) => {
    expect(answers[name]).toMatchObject(shows);
    expect(await compile(declare(type, answers[name]))).toBe('');
  });

  test('is one for a bundler as well', async () => {
    const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler'];
    expect(await compile(declare('MatchAnswer', answers.match), bundler)).toBe('');
  });
});

describe('the compiler refuses', () => {
  test.each<
    [what: string, type: string, name: keyof typeof answers, damage: (copy: Json) => void, says: RegExp]
  >([
    ['a match in words', 'MatchAnswer', 'match', (copy) => (copy.match = 'yes'), /'string'.*'boolean'/],
    [
      'a member of another version',
      'MatchAnswer',
      'match',
      (copy) => (copy.score = 1),
      /score.* does not exist in type 'MatchAnswer'/,
    ],
    ['no warnings', 'MatchAnswer', 'match', (copy) => delete copy.warnings, /'warnings' is missing/],
    ['a third mode', 'MatchAnswer', 'match', (copy) => (copy.accuracy_mode = 'best'), /"best".*AccuracyMode/],
    [
      'a face without a box',
      'MatchAnswer',
      'match',
      (copy) => delete copy.image1.faces[0].box,
      /'box' is missing/,
    ],
    [
      'a box with a left edge',
      'MatchAnswer',
      'match',
      (copy) => (copy.image1.faces[0].box.left = 1),
      /left.* does not exist in type 'Box'/,
    ],
    [
      'a point in space',
      'MatchAnswer',
      'match',
      (copy) => copy.image1.faces[0].landmarks.nose.push(1),
      /number/,
    ],
    [
      'a face found by magic',
      'MatchAnswer',
      'match',
      (copy) => (copy.image1.faces[0].found_by = 'magic'),
      /FoundBy/,
    ],
    [
      'a warning of no known code',
      'MatchAnswer',
      'warned',
      (copy) => (copy.warnings[0].code = 'odd'),
      /WarningCode/,
    ],
    ['a pack without files', 'ModelsAnswer', 'models', (copy) => delete copy.files, /'files' is missing/],
    ['a code that there is not', 'Problem', 'no_key', (copy) => (copy.code = 'no_luck'), /"no_luck"/],
    ['a status of another code', 'Problem', 'no_key', (copy) => (copy.status = 200), /200/],
    ['a problem as an answer', 'MatchAnswer', 'no_key', () => {}, /not.*assignable|does not exist/],
    [
      'a problem as another',
      "Problem<'no_face_found'>",
      'bad_field',
      () => {},
      /invalid_field|does not exist/,
    ],
  ])('%s', async (_what, type, name, damage, says) => {
    const copy = structuredClone(answers[name]);
    damage(copy);
    expect(await compile(declare(type, copy))).toMatch(says);
  });

  test.each<[what: string, statement: string, says: RegExp]>([
    ['a threshold as text', "{ image1: 'a', image2: 'b', threshold_percent: '70' }", /'string'.*'number'/],
    ['a form of one picture', "{ image1: 'a' }", /'image2' is missing/],
    [
      'a field of the advanced form',
      "{ image1: 'a', image2: 'b', accuracy_mode: 'fast' }",
      /'accuracy_mode'/,
    ],
  ])('%s in the basic form', async (_what, value, says) => {
    const program = `import type { MatchFields } from 'facematch/client-types';\nexport const form: MatchFields<string> = ${value};\n`;
    expect(await compile(program)).toMatch(says);
  });

  test('a value: there is no code to import', async () => {
    const program = "import { MatchAnswer } from 'facematch/client-types';\nconsole.log(MatchAnswer);\n";
    expect(await compile(program)).toMatch(/only refers to a type/);
    const script = join(folder, 'program.mjs');
    writeFileSync(script, "import 'facematch/client-types';\n");
    const { code, stderr } = await run(script, [], folder);
    expect(code).not.toBe(0);
    expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });
});

test('a code tells which members a problem has, as docs/clients/README.md shows', async () => {
  const page = readFileSync(projectPath('docs/clients/README.md'), 'utf8');
  const [, program] = page.match(/```ts\n(.*?)```/s)!;
  expect(await compile(program!)).toBe('');
  expect(await compile(program!.replace('limit_bytes', 'limit_pixels'))).toContain('limit_pixels');
});

test('the OpenAPI document is to be had by the name of the package', async () => {
  const script = join(folder, 'document.mjs');
  const attribute = "with { type: 'json' }";
  writeFileSync(
    script,
    `import document from 'facematch/openapi.json' ${attribute};\nconsole.log(document.openapi);\n`,
  );
  expect((await run(script, [], folder)).stdout).toBe('3.1.0\n');
});

/** Checked by the compiler (node scripts/test.mjs types); the server's own types come from its code, not from the document. */
test('the types are those of the server', () => {
  expectTypeOf<ReturnType<typeof matchBody>>().toExtend<MatchAnswer>();
  expectTypeOf<ReturnType<typeof modelsBody>>().toExtend<ModelsAnswer>();
  expectTypeOf<ErrorCode>().toEqualTypeOf<OwnErrorCode>();
  type Sent = Required<Omit<AdvancedMatchFields, 'image1' | 'image2'>>;
  expectTypeOf<Sent>().toEqualTypeOf<FieldValues>();
  expectTypeOf<ProblemMembers[ErrorCode]['status']>().toEqualTypeOf<
    (typeof errorTable)[OwnErrorCode]['status']
  >();
});
