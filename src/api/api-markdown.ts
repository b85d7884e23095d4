import type { OpenApiDocument } from './document.ts';
import { block, codes, compactJson, page, table } from './markdown-text.ts';
import { type Endpoint, endpointsOf, errorAnchor, headerAnchor } from './operation-view.ts';
import type { Operation, Response } from './operations.ts';
import { errorCodes, problemName } from './problems.ts';
import type { Schema } from './schema.ts';
import { schemaAnchor } from './schema-view.ts';

/** docs/api.md: the OpenAPI document for people who read it before they have a server. */
export function apiMarkdown(document: OpenApiDocument): string {
  const { version, summary, description } = document.info;
  return page(
    '# API reference',
    `${summary} HTTP API version ${version}, made from the [OpenAPI document](openapi.json) of a server with every default. ` +
      'Yours serves the same with its own limits and endpoints: `/API/v1.0/docs` for people, `/API/v1.0/openapi.json` for ' +
      'programs. To begin: [getting started](getting-started.md).',
    description,
    '## Operations',
    operationsTable(document),
    ...endpointsOf(document).map(operationSection),
    '## Schemas',
    ...schemaSections(document),
    '## Headers of answers',
    table(
      ['header', 'what'],
      Object.entries(document.components.headers).map(([name, header]) => [
        `${anchor(headerAnchor(name))}\`${name}\``,
        header.description,
      ]),
    ),
  );
}

function operationsTable(document: OpenApiDocument): string {
  const rows = endpointsOf(document).map(({ method, path, operation }) => [
    `[${operation.summary}](#${operation.operationId})`,
    `\`${method} ${path}\``,
    needs(operation),
  ]);
  return table(['operation', 'request', 'needs'], rows);
}

function operationSection({ method, path, operation }: Endpoint): string {
  const { operationId, summary, description, requestBody } = operation;
  const form = requestBody?.content['multipart/form-data'];
  return [
    `## ${anchor(operationId)}${summary}`,
    `\`${method} ${path}\`, needs ${needs(operation)}.`,
    description,
    ...operation['x-codeSamples'].map(({ source }) => block('sh', source)),
    ...(requestBody && form ? [`**Fields.** ${requestBody.description}`, fieldsTable(form.schema)] : []),
    '**Answers**',
    answersTable(operation),
  ].join('\n\n');
}

function needs({ security }: Operation): string {
  if (security.length === 0) return 'no key';
  const scopes = security.flatMap(({ api_key }) => api_key);
  return scopes.length === 0 ? 'a key of any scope' : `a key with the scope ${codes(scopes)}`;
}

/** Headers that all answers have stand in the first row alone. */
function answersTable({ responses }: Operation): string {
  const [first, ...rest] = Object.values(responses).map(({ headers }) => Object.keys(headers));
  const everywhere = (first ?? []).filter((name) => rest.every((names) => names.includes(name)));
  const rows = Object.entries(responses).map(([status, response]) => [
    status,
    meaning(response),
    headerLinks(Object.keys(response.headers).filter((name) => !everywhere.includes(name))),
  ]);
  return table(
    ['status', 'what', 'headers'],
    [['any', 'whatever is answered', headerLinks(everywhere)], ...rows],
  );
}

/** Links to the problems, or what there is beside. */
function meaning({ description, content = {} }: Response): string {
  const problems = content['application/problem+json']?.examples;
  if (problems) {
    return Object.keys(problems)
      .map((code) => `[\`${code}\`](errors.md#${errorAnchor(code)})`)
      .join(', ');
  }
  const $ref = Object.values(content)[0]?.schema.$ref;
  return $ref === undefined ? description : `${description}: ${componentLink($ref)}`;
}

function headerLinks(names: readonly string[]): string {
  return names.map((name) => `[\`${name}\`](#${headerAnchor(name)})`).join(', ');
}

/** The problems' own schemas stand in errors.md. */
function schemaSections({ components }: OpenApiDocument): string[] {
  const problems = new Set(errorCodes.map(problemName));
  return Object.entries(components.schemas)
    .filter(([name]) => !problems.has(name))
    .map(([name, schema]) => {
      const example = components.examples[name]?.value;
      return [
        `### ${anchor(schemaAnchor(name))}${name}`,
        schema.description ?? '',
        membersTable(schema),
        ...(example === undefined ? [] : ['For example:', block('json', compactJson(example))]),
      ].join('\n\n');
    });
}

function fieldsTable({ properties = {}, required }: Schema): string {
  const rows = Object.entries(properties).map(([name, field]) => {
    const fallback = field.default === undefined ? "the pack's own" : `\`${field.default}\``;
    return [
      `\`${name}\``,
      field.description ?? '',
      form(field),
      required?.includes(name) ? 'required' : fallback,
    ];
  });
  return table(['field', 'what', 'takes', 'default'], rows);
}

function membersTable(schema: Schema): string {
  return table(['member', 'what', 'form'], memberRows(schema, ''));
}

/** Members of members as `box.x`, of items of a list as `files[].role`. */
function memberRows({ properties = {}, required }: Schema, owner: string): string[][] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const must = required?.includes(name) ?? false;
    const row = [`\`${owner}${name}\`${must ? '' : ', optional'}`, member.description ?? '', form(member)];
    if (member.properties) return [row, ...memberRows(member, `${owner}${name}.`)];
    return member.items?.properties ? [row, ...memberRows(member.items, `${owner}${name}[].`)] : [row];
  });
}

/** What a value looks like: its type and its bounds. */
function form(schema: Schema): string {
  return [kind(schema), bounds(schema)].filter((note) => note !== undefined).join(', ');
}

function kind(schema: Schema): string | undefined {
  if (schema.$ref !== undefined) return componentLink(schema.$ref);
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(' | ');
  if (schema.prefixItems !== undefined) {
    return `[${schema.prefixItems.map((item) => item.description ?? kind(item)).join(', ')}]`;
  }
  if (schema.items !== undefined) return `list of ${kind(schema.items)}`;
  return schema.format === 'binary' ? 'file' : schema.type;
}

function bounds({ minimum, maximum, exclusiveMinimum, pattern }: Schema): string | undefined {
  if (pattern !== undefined) return `\`${pattern}\``;
  if (exclusiveMinimum !== undefined)
    return `above ${exclusiveMinimum}${maximum === undefined ? '' : ` to ${maximum}`}`;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return minimum === undefined ? undefined : `from ${minimum}`;
}

function componentLink($ref: string): string {
  const name = $ref.slice($ref.lastIndexOf('/') + 1);
  return `[${name}](#${schemaAnchor(name)})`;
}

function anchor(id: string): string {
  return `<a id="${id}"></a>`;
}
