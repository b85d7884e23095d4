import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import type { FieldRule } from '../../src/endpoints/endpoint.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { errorCodes, errorTable } from '../../src/errors.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { problemDocs } from '../../src/site/problem-examples.ts';

/** docs/api.md is written by hand: it says what the tables say. */

const text = readFileSync(projectPath('docs/api.md'), 'utf8');
const { components } = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const rows = text.match(/^\| .*$/gm)!.map((row) => row.slice(2, -2).split(' | '));
const quoted = new Set([...text.matchAll(/`([\w-]+)`/g)].map(([, word]) => word!));
const names = (cell: string) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, word]) => word!);

test.each(endpoints)(
  '$method $path, its scope and its fields',
  ({ id, method, path, scope, ...endpoint }) => {
    const row = rows.find(([cell]) => cell!.includes(`\`${method} ${path}\``))!;
    expect(row[1]).toBe({ any: 'any', none: 'no key' }[scope as string] ?? `\`${scope}\``);
    expect(row[2]!.includes('off by default')).toBe(!readConfig({}).endpoints.includes(id));
    if (endpoint.takes !== 'pictures') return;
    const [, taken] = new RegExp(`^\`${method} ${path}\` takes (.*)\\.$`, 'm').exec(text)!;
    expect(names(taken!)).toEqual(Object.keys(endpoint.fields));
  },
);

const fields = Object.assign({}, ...endpoints.map((one) => ('fields' in one ? one.fields : {})));

test.each(Object.entries<FieldRule>(fields))('the field %s with its default', (name, rule) => {
  const row = rows.find((cells) => cells.length >= 3 && names(cells[0]!).includes(name))!;
  if (rule.kind === 'image') return expect(row[2]).toBe('required');
  expect(row[2]).toBe(rule.default === undefined ? "the pack's own" : `\`${rule.default}\``);
  if (rule.kind === 'decimal') expect(row[1]).toBe(`${rule.min} to ${rule.max}`);
  if (rule.kind === 'integer') expect(row[1]).toBe(`${rule.min} or more`);
  if (rule.kind === 'choice') expect(names(row[1]!)).toEqual(rule.values);
});

test.each(errorCodes)('the error %s with its status and members', (code) => {
  const { status, title } = errorTable[code];
  const { example } = problemDocs[code];
  const row = rows.find(([, cell]) => cell?.endsWith(`</a>\`${code}\``))!;
  expect([row[0], row[1]]).toEqual([String(status), `<a id="error-${code}"></a>\`${code}\``]);
  expect(row[2]).toContain(`${title}. `);
  expect(names(row[3] ?? '')).toEqual(Object.keys(example).filter((name) => name !== 'detail'));
});

describe('nothing of the document is left out:', () => {
  interface Node {
    properties?: Record<string, Node>;
    items?: Node;
    oneOf?: Node[];
  }
  const membersOf = ({ properties = {}, items, oneOf = [] }: Node): string[] => [
    ...Object.entries(properties).flatMap(([name, member]) => [name, ...membersOf(member)]),
    ...[...(items ? [items] : []), ...oneOf].flatMap(membersOf),
  ];

  test.each(Object.keys(components.schemas))('the members of %s', (name) => {
    const members = membersOf(components.schemas[name] as Node);
    expect(members.filter((member) => !quoted.has(member))).toEqual([]);
  });

  test('the headers, and what warnings are about', () => {
    const { code, reason } = components.schemas.Warning!.properties!;
    const told = [...Object.keys(components.headers), ...code!.enum!, ...reason!.enum!].map(String);
    expect(told.filter((name) => !quoted.has(name))).toEqual([]);
  });
});
