import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import type { FieldRule } from '../../src/endpoints/endpoint.ts';
import { maxOf } from '../../src/endpoints/images.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { type ErrorCode, errorCodes, Problem } from '../../src/errors.ts';
import { problem } from '../../src/http/responses.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { StaticDocument } from '../../src/site/documents.ts';
import { problemName } from '../../src/site/schemas.ts';
import { ResponseValidator } from '../fixtures/response-validator.ts';
import { without } from '../support/without.mjs';

/** Tests that the document is valid OpenAPI and agrees with the tables. */

const document = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const responseValidator = new ResponseValidator(document);
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

// biome-ignore lint/suspicious/noExplicitAny: tests change examples of any shape
type Any = any;

describe('openApiDocument', () => {
  test('is valid OpenAPI 3.1 for an independent validator', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document) as Any)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test.each(['every endpoint', 'the default endpoints'])('passes the linters with %s', async (which) => {
    const some = which === 'the default endpoints' ? openApiDocument(readConfig({})) : document;
    const further = ['no-invalid-schema-examples', 'no-schema-type-mismatch', 'operation-tag-defined'];
    const rules = Object.fromEntries(further.map((rule) => [rule, 'error' as const]));
    const config = await createConfig({ extends: ['recommended-strict'], rules });
    const source = JSON.stringify(some);
    const found = await lintFromString({ source, absoluteRef: '/openapi.json', config });
    expect(found.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    // Checks a rule that only other linters have.
    JSON.parse(JSON.stringify(some), (_key, value) => {
      if (value?.type === 'array') expect(value).toHaveProperty('items');
      return value;
    });
  });

  test('describes every endpoint, with the key that it requires', () => {
    const described = operations.map(({ method, path, operation }) => [method, path, operation.security]);
    const wanted = endpoints.map(({ method, path, scope }) => {
      const scopes = scope === 'any' ? [] : [scope];
      const security = scope === 'none' ? [] : [{ api_key: scopes }, { bearer: scopes }];
      return [method, path, security];
    });
    expect(described).toEqual(wanted);
  });
});

describe('the errors of an operation', () => {
  const withError = (code: ErrorCode) =>
    operations.flatMap(({ operation: { operationId, responses } }) =>
      JSON.stringify(responses).includes(`"#/components/schemas/${problemName(code)}"`) ? [operationId] : [],
    );
  const rejecting = ['match_advanced', 'match_many', 'match_person', 'match_live', 'embed'];

  test.each<[code: ErrorCode, ids: readonly string[]]>([
    ['face_index_out_of_range', ['match_advanced', 'match_many', 'embed']],
    ['low_quality_face', rejecting],
    ['presentation_attack', rejecting],
  ])('include %s only if its options can cause it', (code, ids) => {
    expect(new Set(withError(code))).toEqual(new Set(ids));
  });

  test('have rate limit headers only with a status that can follow the rate limit check', () => {
    const limited = operations.flatMap(({ operation: { responses } }) =>
      Object.entries(responses).flatMap(([status, { headers }]) => ('RateLimit' in headers ? [status] : [])),
    );
    const statuses = [200, 201, 400, 408, 413, 415, 422, 429, 500, 503, 504];
    expect([...new Set(limited)].map(Number).sort()).toEqual(statuses);
  });
});

const takers = endpoints.flatMap((one) => (one.takes === 'images' ? [one] : []));

/** Client generators write these values as string literals. Some generators (orval) do not escape them. */
test('has no quotes or backslashes in values that become string literals in generated code', () => {
  const values: string[] = [];
  JSON.parse(JSON.stringify(document), (name, value) => {
    if (['const', 'enum', 'default', 'operationId', 'propertyName'].includes(name)) values.push(value);
    return value;
  });
  expect(values.flat().length).toBeGreaterThan(100);
  expect(values.flat().filter((value) => /['"`\\]/.test(value))).toEqual([]);
});

test.each(takers)('describes the fields of $id as they are validated', ({ id, fields }) => {
  const { operation } = operations.find((found) => found.operation.operationId === id)!;
  const { schema } = operation.requestBody!.content['multipart/form-data']!;
  expect(Object.keys(schema.properties!)).toEqual(Object.keys(fields));
  for (const [name, rule] of Object.entries<FieldRule>(fields)) {
    const described = schema.properties![name]!;
    expect(schema.required!.includes(name)).toBe(rule.kind === 'image' || rule.kind === 'token');
    if (rule.kind === 'token') continue;
    if (rule.kind === 'image') {
      expect(described.type).toBe(maxOf(rule) > 1 ? 'array' : 'string');
      continue;
    }
    expect(described.default).toBe(rule.default);
    if ('min' in rule) expect(described).toMatchObject({ minimum: rule.min, maximum: rule.max });
    if (rule.kind === 'choice') expect(described.enum).toEqual(rule.values);
  }
});

test.each(errorCodes)("has a schema that accepts the server's %s and no other error", (code) => {
  const { value } = document.components.examples[code]! as Any;
  const { request_id, ...extras } = without(value, 'type', 'title', 'status', 'code');
  const sent = JSON.parse(problem(new Problem(code, extras), request_id).body as string);
  expect(sent).toEqual(value);
  const faults = (other: ErrorCode, body: object) =>
    responseValidator.violations(`#/components/schemas/${problemName(other)}`, body);
  expect(errorCodes.filter((other) => faults(other, sent).length === 0)).toEqual([code]);
  for (const name of Object.keys(sent)) {
    expect(faults(code, without(sent, name))).toContainEqual(expect.stringContaining(name));
  }
});

/** docs/api.md is written by hand, except for the parts that test/unit/generated-docs.test.ts compares. */

const text = readFileSync(projectPath('docs/api.md'), 'utf8');
const { components } = document;
const quoted = new Set([...text.matchAll(/`([\w-]+)`/g)].map(([, word]) => word!));
describe('docs/api.md', () => {
  interface Node {
    properties?: Record<string, Node>;
    items?: Node;
    oneOf?: Node[];
  }
  const membersOf = ({ properties = {}, items, oneOf = [] }: Node): string[] => [
    ...Object.entries(properties).flatMap(([name, member]) => [name, ...membersOf(member)]),
    ...[...(items ? [items] : []), ...oneOf].flatMap(membersOf),
  ];

  test.each(Object.keys(components.schemas))('names the members of %s', (name) => {
    const members = membersOf(components.schemas[name] as Node);
    expect(members.filter((member) => !quoted.has(member))).toEqual([]);
  });

  test('uses the summaries of operations as headings', () => {
    const summaries = operations.map(({ operation: { operationId, summary } }) => [operationId, summary]);
    const described = without(Object.fromEntries(summaries), 'openapi', 'docs', 'demo');
    const headings = [...text.matchAll(/^## <a id="(\w+)"><\/a>(.*)$/gm)].map(([, id, words]) => [id, words]);
    expect(Object.fromEntries(headings)).toMatchObject(described);
  });

  test('names the response headers, and the codes and reasons of warnings', () => {
    const { code, reason } = components.schemas.Warning!.properties!;
    const documented = [...Object.keys(components.headers), ...code!.enum!, ...reason!.enum!].map(String);
    expect(documented.filter((name) => !quoted.has(name))).toEqual([]);
  });
});

describe('a document of the site', () => {
  const document = new StaticDocument('text/plain', 'text '.repeat(100));
  const headersOf = (accept?: string) => new Map(document.reply(undefined, accept).headers);
  const etag = headersOf().get('ETag')!;

  test.each([etag, `W/${etag}`, `"a,b",W/${etag},"c"`, '*'])(
    'is not sent again to a client with the ETag %s',
    (named) => {
      expect(document.reply(named, undefined).status).toBe(304);
      expect(document.reply(named, 'gzip').status).toBe(named === '*' ? 304 : 200);
    },
  );

  test.each([
    ['gzip', true],
    ['deflate;q=0.5, GZIP;q=1.0', true],
    ['gzip;q=0.001', true],
    ['gzip ; q=0', false],
    ['gzip;q=0.0, identity', false],
    ['x-gzip, gzipped', false],
    ['', false],
  ])('uses gzip for accept-encoding "%s": %s', (accept, takes) => {
    expect(headersOf(accept).has('Content-Encoding')).toBe(takes);
  });
});
