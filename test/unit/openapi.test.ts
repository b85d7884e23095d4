import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import type { FieldRule } from '../../src/endpoints/endpoint.ts';
import { repeatedField } from '../../src/endpoints/images.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { type ErrorCode, errorTable, Problem } from '../../src/errors.ts';
import { problem } from '../../src/http/responses.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { problemName } from '../../src/site/problems.ts';
import { AnswerJudge } from '../fixtures/openapi-answers.ts';

/** The document says what the tables say, and is what the OpenAPI specification calls a document. */

const document = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const judge = new AnswerJudge(document);
const codes = Object.keys(errorTable) as ErrorCode[];
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

// biome-ignore lint/suspicious/noExplicitAny: examples are taken apart in order to damage them
type Any = any;

describe('the document', () => {
  test('is valid OpenAPI 3.1 for a validator that is not ours', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document) as Any)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test.each(['every endpoint', 'the usual ones'])('of %s is to the liking of a linter', async (which) => {
    const some = which === 'the usual ones' ? openApiDocument(readConfig({})) : document;
    const config = await createConfig({
      extends: ['recommended-strict'],
      rules: {
        'no-invalid-schema-examples': 'error',
        'no-schema-type-mismatch': 'error',
        'operation-tag-defined': 'error',
      },
    });
    const found = await lintFromString({
      source: JSON.stringify(some),
      absoluteRef: '/openapi.json',
      config,
    });
    expect(found.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
    // A rule of other linters.
    JSON.parse(JSON.stringify(some), (_, value) => {
      if (value?.type === 'array') expect(value).toHaveProperty('items');
      return value;
    });
  });

  test('has no reference that leads nowhere, and no component that nothing refers to', () => {
    const references = JSON.stringify(document).matchAll(/"#\/components\/(\w+\/[\w-]+)"/g);
    const { securitySchemes: _, ...components } = document.components;
    const present = Object.entries(components).flatMap(([kind, items]) =>
      Object.keys(items).map((name) => `${kind}/${name}`),
    );
    expect(new Set([...references].map(([, target]) => target))).toEqual(new Set(present));
  });

  test('says nothing of an endpoint that is off', () => {
    const { paths, components } = openApiDocument(readConfig({}));
    expect(Object.keys(paths)).not.toContain('/API/v1.0/face/embed/upload');
    for (const name of ['Embed', 'EmbeddedFace', 'Embeddings', 'EmbeddingsRequest']) {
      expect(components.schemas).not.toHaveProperty(name);
      expect(document.components.schemas).toHaveProperty(name);
    }
  });

  test('describes every endpoint, with the key that it asks for', () => {
    const described = operations.map(({ method, path, operation }) => [method, path, operation.security]);
    const wanted = endpoints.map(({ method, path, scope }) => {
      const scopes = scope === 'any' ? [] : [scope];
      const security = scope === 'none' ? [] : [{ api_key: scopes }, { bearer: scopes }];
      return [method, path, security];
    });
    expect(described).toEqual(wanted);
  });
});

const takers = endpoints.flatMap((one) => (one.takes === 'pictures' ? [one] : []));

test.each(takers)('the fields of $id are described as they are judged', ({ id, fields }) => {
  const { operation } = operations.find((found) => found.operation.operationId === id)!;
  const { schema } = operation.requestBody!.content['multipart/form-data']!;
  expect(Object.keys(schema.properties!)).toEqual(Object.keys(fields));
  for (const [name, rule] of Object.entries<FieldRule>(fields)) {
    const described = schema.properties![name]!;
    expect(schema.required!.includes(name)).toBe(rule.kind === 'image');
    if (rule.kind === 'image') {
      expect(described.type).toBe(name === repeatedField(fields) ? 'array' : 'string');
      continue;
    }
    expect(described.default).toBe(rule.default);
    if ('min' in rule) expect(described).toMatchObject({ minimum: rule.min, maximum: rule.max });
    if (rule.kind === 'choice') expect(described.enum).toEqual(rule.values);
  }
});

describe('a problem', () => {
  test.each(codes)('%s as the server would send it fits its schema, and no other fits', (code) => {
    const { value } = document.components.examples[code]! as Any;
    const { type: _, title: __, status: ___, code: ____, request_id, ...extras } = value;
    const sent = JSON.parse(problem(new Problem(code, extras), request_id).body as string);
    expect(sent).toEqual(value);
    const faults = (other: ErrorCode, body: object) =>
      judge.faults(`#/components/schemas/${problemName(other)}`, body);
    expect(codes.filter((other) => faults(other, sent).length === 0)).toEqual([code]);
    for (const name of Object.keys(sent)) {
      const { [name]: ____, ...rest } = sent;
      expect(faults(code, rest)).toContainEqual(expect.stringContaining(name));
    }
  });
});

test.each(['Match', 'Many', 'Embeddings', 'Models'])(
  'the example of %s fits, and does not when any of its members is missing',
  (name) => {
    const { value } = document.components.examples[name]! as Any;
    const faults = (body: object) => judge.faults(`#/components/schemas/${name}`, body);
    const { required } = document.components.schemas[name]!;
    expect(faults(value)).toEqual([]);
    for (const member of required!) expect(faults({ ...value, [member]: undefined })).not.toEqual([]);
  },
);
