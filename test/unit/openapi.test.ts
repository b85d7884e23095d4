import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/document.ts';
import { problemName } from '../../src/api/problems.ts';
import { endpointIds, readConfig } from '../../src/config.ts';
import { type ErrorCode, errorTable, Problem } from '../../src/errors.ts';
import { type FieldRule, fieldTable } from '../../src/http/fields.ts';
import { problem } from '../../src/http/responses.ts';
import { routes } from '../../src/http/routes.ts';
import { AnswerJudge } from '../fixtures/openapi-answers.ts';

/** The document says what the tables say, and is what the OpenAPI specification calls a document. */

const document = openApiDocument(routes, readConfig({}));
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

  test.each<[what: string, damage: (copy: Any) => void]>([
    [
      'without paths and components',
      (copy) => {
        delete copy.paths;
        delete copy.components;
      },
    ],
    [
      'with a parameter that is nowhere',
      (copy) => {
        copy.components.parameters['X-Request-Id'].in = 'nowhere';
      },
    ],
    [
      'with a response without a description',
      (copy) => {
        delete copy.components.responses.not_found.description;
      },
    ],
  ])('would not be %s', async (_what, damage) => {
    const copy = structuredClone(document) as Any;
    damage(copy);
    expect((await new Validator().validate(copy)).valid).toBe(false);
  });

  test('has no reference that leads nowhere, and no component that nothing refers to', () => {
    const text = JSON.stringify(document);
    const targets = new Set(
      [...text.matchAll(/"#\/components\/(\w+\/[\w-]+)"/g)].map(([, target]) => target!),
    );
    const { securitySchemes: _, responses: __, ...components } = document.components;
    const present = Object.entries(components).flatMap(([kind, items]) =>
      Object.keys(items).map((name) => `${kind}/${name}`),
    );
    expect([...targets].sort()).toEqual(present.sort());
  });

  test('describes every route and nothing else', () => {
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(
      routes.map(({ method, path }) => `${method} ${path}`),
    );
  });

  test.each(
    routes.map((route) => [route.endpoint, route] as const),
  )('asks for the key that %s asks for', (endpoint, { scope }) => {
    const { security } = operations.find(({ operation }) => operation.operationId === endpoint)!.operation;
    expect(security).toEqual(scope === 'none' ? [] : [{ api_key: scope === 'any' ? [] : [scope] }]);
  });
});

describe('a form field', () => {
  const forms = (['match', 'match_advanced'] as const).map((endpoint) => {
    const { operation } = operations.find((found) => found.operation.operationId === endpoint)!;
    return { endpoint, schema: operation.requestBody!.content['multipart/form-data'].schema };
  });

  test.each(
    Object.entries<FieldRule>(fieldTable),
  )('%s is described where it is known, as it is judged', (name, rule) => {
    for (const { endpoint, schema } of forms) {
      const described = schema.properties![name];
      expect(described !== undefined).toBe(rule.endpoints.includes(endpoint));
      if (described === undefined) continue;
      expect(schema.required!.includes(name)).toBe(rule.kind === 'image');
      expect(described.description).toContain(rule.description);
      if (rule.kind === 'image') continue;
      expect(String(described.default)).toBe(String(rule.default));
      if ('min' in rule) expect(described).toMatchObject({ minimum: rule.min, maximum: rule.max });
      if (rule.kind === 'choice') expect(described.enum).toEqual(rule.values);
    }
  });
});

describe('a problem', () => {
  const told = new Map<string, string[]>(codes.map((code) => [code, []]));
  for (const { operation } of operations) {
    for (const [status, { content = {} }] of Object.entries(operation.responses)) {
      for (const code of Object.keys(content['application/problem+json']?.examples ?? {})) {
        expect(String(errorTable[code as ErrorCode].status)).toBe(status);
        told.get(code)!.push(operation.operationId);
      }
    }
  }
  const all = ['match', 'match_advanced', 'models', 'openapi', 'docs', 'demo'];
  const keyed = ['match', 'match_advanced', 'models'];
  const form = ['match', 'match_advanced'];
  const whereElse: Partial<Record<ErrorCode, string[]>> = {
    not_found: [],
    method_not_allowed: [],
    endpoint_disabled: all,
    internal_error: all,
    shutting_down: all,
    missing_api_key: keyed,
    invalid_api_key: keyed,
    rate_limit_exceeded: keyed,
    face_index_out_of_range: ['match_advanced'],
    low_quality_face: ['match_advanced'],
  };

  test.each(codes)('%s is described at the endpoints that give it', (code) => {
    expect(told.get(code)).toEqual(whereElse[code] ?? form);
  });

  const judge = new AnswerJudge(document);
  test.each(codes)('%s as the server would send it fits its schema, and no other fits', (code) => {
    const { value } = document.components.examples[code]! as Any;
    const { type: _, title: __, status: ___, code: ____, request_id, ...extras } = value;
    const sent = JSON.parse(problem(new Problem(code, extras), request_id).body as string);
    expect(sent).toEqual(value);
    const fitting = codes.filter(
      (other) => judge.faults(`#/components/schemas/${problemName(other)}`, sent).length === 0,
    );
    expect(fitting).toEqual([code]);
  });

  test.each(codes)('%s without one of its members does not fit', (code) => {
    const value = document.components.examples[code]!.value as Any;
    for (const name of Object.keys(value)) {
      const { [name]: _, ...rest } = value;
      expect(judge.faults(`#/components/schemas/${problemName(code)}`, rest)).toContainEqual(
        expect.stringContaining(name),
      );
    }
  });
});

describe('an answer', () => {
  const judge = new AnswerJudge(document);
  const faults = (name: string, damage: (copy: Any) => void) => {
    const copy = structuredClone(document.components.examples[name]!.value);
    damage(copy);
    return judge.faults(`#/components/schemas/${name}`, copy);
  };

  test.each(['Match', 'Models'])('of the kind %s is shown by an example that fits', (name) => {
    expect(faults(name, () => {})).toEqual([]);
  });

  test.each<[what: string, name: string, damage: (copy: Any) => void]>([
    [
      'more than certain',
      'Match',
      (copy) => {
        copy.confidence_percent = 100.1;
      },
    ],
    [
      'a similarity beyond 1',
      'Match',
      (copy) => {
        copy.similarity = 1.01;
      },
    ],
    [
      'a match in words',
      'Match',
      (copy) => {
        copy.match = 'yes';
      },
    ],
    [
      'a member that nobody knows',
      'Match',
      (copy) => {
        copy.embedding = [];
      },
    ],
    [
      'a face without a box',
      'Match',
      (copy) => {
        delete copy.image1.faces[0].box;
      },
    ],
    [
      'a face of no width',
      'Match',
      (copy) => {
        copy.image2.faces[0].box.width = 0;
      },
    ],
    [
      'a face found by magic',
      'Match',
      (copy) => {
        copy.image1.faces[0].found_by = 'magic';
      },
    ],
    [
      'a point of three numbers',
      'Match',
      (copy) => {
        copy.image1.faces[0].landmarks.nose = [1, 2, 3];
      },
    ],
    [
      'a picture without faces',
      'Match',
      (copy) => {
        copy.image1.faces = [];
      },
    ],
    [
      '21 faces',
      'Match',
      (copy) => {
        copy.image1.faces = Array(21).fill(copy.image1.faces[0]);
      },
    ],
    [
      'an orientation of 9',
      'Match',
      (copy) => {
        copy.image1.orientation = 9;
      },
    ],
    [
      'half a pixel of width',
      'Match',
      (copy) => {
        copy.image1.width = 0.5;
      },
    ],
    [
      'a format in capitals',
      'Match',
      (copy) => {
        copy.image1.format = 'JPEG';
      },
    ],
    [
      'no pair',
      'Match',
      (copy) => {
        copy.pairs = [];
      },
    ],
    [
      'a warning without a field',
      'Match',
      (copy) => {
        copy.warnings = [{ code: 'unknown_field' }];
      },
    ],
    [
      'a warning for a reason that there is not',
      'Match',
      (copy) => {
        copy.warnings = [{ code: 'low_quality_face', field: 'image1', reason: 'ugly', detail: 'x' }];
      },
    ],
    [
      'time that runs backwards',
      'Match',
      (copy) => {
        copy.timings_ms.total = -1;
      },
    ],
    [
      'a checksum cut short',
      'Models',
      (copy) => {
        copy.files[0].sha256 = 'abc';
      },
    ],
    [
      'a rate of 0',
      'Models',
      (copy) => {
        copy.calibration.fast.points[0][1] = 0;
      },
    ],
    [
      'no calibration for a mode',
      'Models',
      (copy) => {
        delete copy.calibration.balance;
      },
    ],
  ])('with %s does not fit', (_what, name, damage) => {
    expect(faults(name, damage)).not.toEqual([]);
  });
});

describe('the headers of an answer', () => {
  const judge = new AnswerJudge(document);
  const good = {
    'content-type': 'application/json',
    'x-request-id': 'a',
    'cache-control': 'no-store',
    'ratelimit-policy': '"default";q=100;w=2',
    ratelimit: '"default";r=99;t=1',
  };
  const faults = (headers: Record<string, string | undefined>) => {
    const sent = Object.entries({ ...good, ...headers }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    );
    const body = document.components.examples.Models!.value;
    return judge.faultsOf('GET', '/API/v1.0/models', { status: 200, headers: new Headers(sent), body });
  };

  test('are as described, or told', () => {
    expect(faults({})).toEqual([]);
    expect(faults({ ratelimit: undefined })).toEqual([]);
  });

  test.each<[string, string | undefined]>([
    ['x-request-id', undefined],
    ['x-request-id', 'a b'],
    ['cache-control', undefined],
    ['ratelimit', 'r=99'],
    ['x-powered-by', 'something'],
    ['content-type', 'text/plain'],
  ])('are not as described with %s: %s', (name, value) => {
    expect(faults({ [name]: value })).toHaveLength(1);
  });
});

describe('the document of a server', () => {
  test('tells its own limits', () => {
    const { description } = openApiDocument(
      routes,
      readConfig({
        FACEMATCH_MAX_BODY_BYTES: '3145728',
        FACEMATCH_MAX_IMAGE_BYTES: '1000',
        FACEMATCH_DEADLINE_MS: '2500',
      }),
    ).info;
    expect(description).toContain('- Body: 3 MiB\n- Picture: 1,000 bytes\n');
    expect(description).toContain('to the answer: 2.5 s');
    expect(document.info.description).toContain('- Body: 20 MiB\n- Picture: 10 MiB\n');
  });

  test('leaves out what is switched off', () => {
    const { paths, tags } = openApiDocument(routes, readConfig({ FACEMATCH_ENDPOINTS: 'match,docs' }));
    expect(Object.keys(paths)).toEqual(['/API/v1.0/face/match/upload', '/API/v1.0/docs']);
    expect(tags.map(({ name }) => name)).toEqual(['match', 'documents']);
  });

  test('describes every endpoint that can be switched on', () => {
    expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual([...endpointIds].sort());
  });
});
