import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import { EmbeddingsRequest } from '../endpoints/compare-embeddings.ts';
import { demo } from '../endpoints/documents.ts';
import { type Success, tags } from '../endpoints/endpoint.ts';
import { DetectedFace, EmbeddedFace, Face, Image } from '../endpoints/face.ts';
import { endpoints } from '../endpoints/index.ts';
import { Pair } from '../endpoints/match.ts';
import { ComparedCandidate, UncomparedCandidate } from '../endpoints/match-embeddings.ts';
import { LiveFrame } from '../endpoints/match-live.ts';
import { Compared, Uncompared } from '../endpoints/match-many.ts';
import { PersonPhoto } from '../endpoints/match-person.ts';
import { Calibration } from '../endpoints/models.ts';
import { Warning } from '../endpoints/warnings.ts';
import { errorCodes, errorTable } from '../errors.ts';
import { examples } from './examples.ts';
import { type Header, headers, type Operation, operationOf, requestIdPattern } from './operations.ts';
import { type ComponentKind, jsonSchemas, problemSchemas, ref } from './schemas.ts';

/** The OpenAPI 3.1 document, built from the tables that the server itself uses. */

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** The version of the interface, not of the program: it changes with /API/v1.0. */
const version = '1.0';

/** Describes the endpoints that are switched on, with the configured limits. */
export function openApiDocument(config: Config) {
  const open = endpoints.filter(({ id }) => config.endpoints.includes(id));
  const paths: Record<string, { get?: Operation; post?: Operation }> = {};
  for (const endpoint of open) {
    const method = endpoint.method === 'GET' ? 'get' : 'post';
    paths[endpoint.path] = { ...paths[endpoint.path], [method]: operationOf(endpoint) };
  }
  const used = Object.values(paths).flatMap(({ get, post }) => [...(get?.tags ?? []), ...(post?.tags ?? [])]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'facematch',
      version,
      summary: 'Do these two photos show the same person?',
      description: introduction(config),
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document came from' }],
    tags: Object.entries(tags)
      .filter(([name]) => used.some((tag) => tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        api_key: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'A key that the operator has made for you',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'The same key, as Authorization: Bearer' },
      },
      parameters: {
        'X-Request-Id': {
          name: 'X-Request-Id',
          in: 'header',
          required: false,
          description: 'Your own id for the request; one of another form is replaced',
          schema: { type: 'string', pattern: requestIdPattern },
        },
      },
      headers: headers as Record<string, Header>,
      schemas: reached('schemas', { ...jsonSchemas(answerSchemas()), ...problemSchemas() }, paths),
      examples: reached('examples', recorded(), paths),
    },
  };
}

/** What the endpoints answer in JSON. */
function successes(): Success[] {
  return endpoints.flatMap((endpoint) => ('success' in endpoint ? [endpoint.success] : []));
}

/** Schemas that several answers have, by the names of their components. */
const shared = {
  Compared,
  Uncompared,
  ComparedCandidate,
  UncomparedCandidate,
  PersonPhoto,
  LiveFrame,
  Image,
  Face,
  DetectedFace,
  EmbeddedFace,
  Pair,
  Warning,
  Calibration,
};

/** All schemas by the names of their components. */
function answerSchemas(): Record<string, z.ZodType> {
  const own = successes().map(({ name, schema }) => [name, schema] as const);
  return { ...Object.fromEntries(own), EmbeddingsRequest, ...shared };
}

/** The components that `from` refers to, directly or not. Those of endpoints that are off are left out. */
function reached<T>(kind: ComponentKind, components: Record<string, T>, from: unknown): Record<string, T> {
  const found = new Set<string>();
  const follow = (text: string): void => {
    for (const name of Object.keys(components)) {
      if (found.has(name) || !text.includes(`"${ref(kind, name).$ref}"`)) continue;
      found.add(name);
      follow(JSON.stringify(components[name]));
    }
  };
  follow(JSON.stringify(from));
  return Object.fromEntries(Object.entries(components).filter(([name]) => found.has(name)));
}

interface Example {
  summary: string;
  value: object;
}

/** By the names of components and by codes. One that is new has no example until `npm run docs` records it. */
function recorded(): Record<string, Example> {
  const answers = successes().map(({ name }) => [name, 'An answer; long lists are cut short'] as const);
  const problems = errorCodes.map((code) => [code, errorTable[code].title] as const);
  return Object.fromEntries(
    [...answers, ...problems].map(([name, summary]) => [name, { summary, value: examples[name] ?? {} }]),
  );
}

/** The introduction of the document, in Markdown, with the limits of this server. */
function introduction(config: Config): string {
  return [
    'Tells whether two photos show the same person, and how sure that is. Send both in one form. Images are processed in ' +
      'memory, and nothing is kept.',
    ...(config.endpoints.includes(demo.id) ? [`[${demo.docs.summary}](${demo.path})`] : []),
    '## What the percentage means',
    '`confidence_percent` says how rarely two different people look this similar, for every model pack and mode. ' +
      'Ten points more are ten times fewer false matches:',
    ...falseMatches.map(([percent, rate]) => `- ${percent} %: ${rate}`),
    'Below 40 the scale goes down to 0. With several pairs of faces there are several chances of a false match, and ' +
      '`confidence_percent` takes that into account. `match` is true from `threshold_percent` on.',
    '## Keys and quotas',
    'Send your key in the `x-api-key` header, or as `Authorization: Bearer`; a request with two different keys is refused. Beside `x-api-key`, a ' +
      'Bearer token without the form of a key, such as that of a gateway, is ignored. A key has scopes, which say what it may ' +
      'be used for, and a quota: a bucket of tokens that refills steadily. `RateLimit-Policy` and `RateLimit` describe it. A request that takes much CPU time takes further tokens after its response, so ' +
      'that the bucket may become negative. Without enough tokens the response is ' +
      '429, and `Retry-After` says how long to wait.',
    '## Errors',
    'Every error is `application/problem+json` (RFC 9457). `code` is for programs and never changes its meaning; `detail` ' +
      'says what to do, and names the image or the field. New members and new codes may be added, so ignore those that ' +
      'you do not know.',
    '## Warnings',
    'An answer may have `warnings`: a field that was ignored, or a compared face so poor that the same person is ' +
      'recognised less often. `code` and `reason` are for programs, `detail` says what to send instead. They do not ' +
      'change the verdict.',
    '## Requests',
    'Paths are exact and case-sensitive. HEAD works wherever GET does. An `X-Request-Id` of your own comes back, and is in ' +
      "the server's log. After 408, 429, 503 and 504 the same request may succeed later; after any other 4xx it will not.",
    '## Limits',
    'The operator chose these:',
    ...limits(config).map(([what, most]) => `- ${what}: ${most}`),
  ]
    .join('\n\n')
    .replaceAll(/\n\n(?=- )/g, '\n');
}

const falseMatches = [
  [50, '1 in 100'],
  [60, '1 in 1,000'],
  [70, '1 in 10,000 (the default threshold)'],
  [80, '1 in 100,000'],
  [90, '1 in 1,000,000'],
] as const;

function limits(config: Config): [what: string, most: string][] {
  return [
    ['Body', bytes(config.max_body_bytes)],
    ['Image', bytes(config.max_image_bytes)],
    ['Pixels of an image, width × height', grouped(config.max_pixels)],
    ['Shortest side of an image', `at least ${grouped(config.min_image_side)} pixels`],
    ['Parts of a form', grouped(config.max_parts)],
    ['Headers of a part', bytes(config.max_part_header_bytes)],
    ['Text field', bytes(config.max_field_bytes)],
    ['Time to upload', seconds(config.upload_timeout_ms)],
    ['Pause within an upload', seconds(config.idle_timeout_s * 1000)],
    ['Time from the last byte to the answer', seconds(config.deadline_ms)],
  ];
}

const grouped = (value: number) => value.toLocaleString('en');

function bytes(value: number): string {
  for (const [unit, size] of [
    ['MiB', 1024 * 1024],
    ['KiB', 1024],
  ] as const) {
    if (value % size === 0) return `${grouped(value / size)} ${unit}`;
  }
  return `${grouped(value)} bytes`;
}

const seconds = (ms: number) => `${grouped(ms / 1000)} s`;
