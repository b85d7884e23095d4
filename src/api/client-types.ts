import { type ErrorCode, errorTable } from '../errors.ts';
import { qualityWords } from '../http/face-quality.ts';
import { type FieldName, fieldTable } from '../http/fields.ts';
import { formBody } from './form-schema.ts';
import { matchSchemas } from './match-schema.ts';
import { modelsSchemas } from './models-schema.ts';
import { errorCodes, extrasOf, problemSchema } from './problems.ts';
import type { Schema } from './schema.ts';
import { comment, membersOf, type Naming, typeOf } from './schema-type.ts';

/**
 * docs/clients/client-types.d.ts: request, answers and problems as TypeScript types, made from the schemas of the OpenAPI
 * document. Types alone: whoever imports them loads nothing.
 */

const schemas: Readonly<Record<string, Schema>> = { ...matchSchemas, ...modelsSchemas };

/** Components whose type has another name: a type called Match would say nothing in somebody else's program. */
const componentNames: Readonly<Record<string, string>> = { Match: 'MatchAnswer', Models: 'ModelsAnswer' };

/** Members of components that deserve a name of their own. */
const memberNames: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Face: { box: 'Box', landmarks: 'Landmarks', found_by: 'FoundBy', pose: 'Pose', quality: 'Quality' },
  Image: { format: 'ImageFormat' },
  Warning: { code: 'WarningCode', reason: 'QualityReason' },
  Match: { model: 'Model', timings_ms: 'Timings' },
};

const fieldNames = Object.keys(fieldTable);
const pictures = fieldNames.filter((name) => fieldTable[name as FieldName].kind === 'image');

/** Lists of words that deserve one wherever they stand. */
const wordNames: Readonly<Record<string, readonly string[]>> = {
  AccuracyMode: fieldTable.accuracy_mode.values,
  QualityReason: Object.keys(qualityWords),
  ImageField: pictures,
  FieldName: fieldNames,
  'Exclude<FieldName, ImageField>': fieldNames.filter((name) => !pictures.includes(name)),
};

const nameOf: Naming = (schema) => {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    return componentNames[name] ?? name;
  }
  for (const [name, words] of Object.entries(wordNames)) {
    if (schema.enum?.join() === words.join()) return name;
  }
  for (const [component, members] of Object.entries(memberNames)) {
    for (const [member, name] of Object.entries(members)) {
      if (schemas[component]?.properties?.[member] === schema) return name;
    }
  }
  return undefined;
};

/** The text of the file. */
export function clientTypes(): string {
  const named = Object.entries(memberNames).flatMap(([component, members]) =>
    Object.entries(members).map(([member, name]) => declare(name, schemas[component]!.properties![member]!)),
  );
  const components = Object.entries(schemas).map(([name, schema]) =>
    declare(componentNames[name] ?? name, schema),
  );
  const blocks = [
    '// Made by scripts/generate-docs.mjs from the schemas of the OpenAPI document; change those instead.',
    'export type FieldName = keyof AdvancedMatchFields;',
    declare('ImageField', { type: 'string', enum: pictures }),
    declare('AccuracyMode', { type: 'string', enum: fieldTable.accuracy_mode.values }),
    ...fields(),
    ...components,
    ...named,
    ...problems(),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** `export interface …` of an object, `export type …` of anything else. */
function declare(name: string, schema: Schema): string {
  const notes = comment(schema.description ?? '');
  // Its own name would say that it is itself.
  const own: Naming = (inner) => (inner === schema ? undefined : nameOf(inner));
  const line =
    schema.properties === undefined
      ? `export type ${name} = ${plainType(schema)};`
      : `export interface ${name} ${membersOf(schema, own)}`;
  return [...notes, line].join('\n');
}

const plainType = (schema: Schema) => typeOf(schema, () => undefined);

/** The form's fields. What a picture is depends on the client: Blob, File, Buffer, path. */
function fields(): string[] {
  const schemaOf = (endpoint: 'match' | 'match_advanced') =>
    formBody(endpoint).content['multipart/form-data'].schema;
  const [basic, advanced] = [schemaOf('match'), schemaOf('match_advanced')];
  const picture: Naming = (schema) => (schema.format === 'binary' ? 'Picture' : nameOf(schema));
  const more = Object.fromEntries(
    Object.entries(advanced.properties!).filter(([name]) => !Object.hasOwn(basic.properties!, name)),
  );
  const text = 'Each becomes a part of the form; what is no picture, as text: `String(value)`.';
  return [
    [
      ...comment(`The form of the basic endpoint. ${text}`),
      `export interface MatchFields<Picture = unknown> ${membersOf(basic, picture)}`,
    ].join('\n'),
    [
      ...comment(`The form of the advanced endpoint. ${text}`),
      `export interface AdvancedMatchFields<Picture = unknown> extends MatchFields<Picture> ${membersOf({ properties: more }, nameOf)}`,
    ].join('\n'),
  ];
}

/** One table of what each code carries, and a union over it that `code` tells apart. */
function problems(): string[] {
  const standard = Object.entries(problemSchema('internal_error').properties!).filter(
    ([name]) => name !== 'code' && name !== 'status',
  );
  const base: Schema = {
    properties: Object.fromEntries(standard.map(([name, schema]) => [name, withoutConst(schema)])),
    required: standard.map(([name]) => name),
  };
  const members: Schema = {
    properties: Object.fromEntries(errorCodes.map((code) => [code, membersOfProblem(code)])),
    required: errorCodes,
  };
  return [
    [
      ...comment('What a problem has whatever its code (RFC 9457).'),
      `export interface ProblemBase ${membersOf(base, nameOf)}`,
    ].join('\n'),
    [
      ...comment('What a problem carries beside that, by its code.'),
      `export interface ProblemMembers ${membersOf(members, nameOf)}`,
    ].join('\n'),
    [
      ...comment('What is wrong, for programs. New codes may come.'),
      'export type ErrorCode = keyof ProblemMembers;',
    ].join('\n'),
    [
      ...comment(
        'Every answer that is not 200: `application/problem+json`. `code` tells which members it has.',
      ),
      'export type Problem<Code extends ErrorCode = ErrorCode> = {',
      '  [One in Code]: ProblemBase & { code: One } & ProblemMembers[One];',
      '}[Code];',
    ].join('\n'),
  ];
}

function membersOfProblem(code: ErrorCode): Schema {
  const { properties } = problemSchema(code);
  const names = ['status', ...extrasOf(code)];
  return {
    description: errorTable[code].title,
    properties: Object.fromEntries(names.map((name) => [name, properties![name]!])),
    required: names,
  };
}

/** The same text each time, but a client should not count on it. */
function withoutConst({ const: _, ...schema }: Schema): Schema {
  return schema;
}
