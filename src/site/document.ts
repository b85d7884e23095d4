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

/** Builds the OpenAPI 3.1 document from the same tables that the server uses. */

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** Version of the API, not of the program. */
const version = '1.0';

/** Returns the document with the enabled endpoints and the configured limits. */
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
    servers: [{ url: '/', description: 'The server that returned this document' }],
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
          description: 'API key, issued by the operator',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'The same API key, as Authorization: Bearer' },
      },
      parameters: {
        'X-Request-Id': {
          name: 'X-Request-Id',
          in: 'header',
          required: false,
          description: 'Request id of the client; the server replaces an invalid id',
          schema: { type: 'string', pattern: requestIdPattern },
        },
      },
      headers: headers as Record<string, Header>,
      schemas: reached('schemas', { ...jsonSchemas(responseSchemas()), ...problemSchemas() }, paths),
      examples: reached('examples', recorded(), paths),
    },
  };
}

/** Returns the successful JSON responses. */
function successes(): Success[] {
  return endpoints.flatMap((endpoint) => ('success' in endpoint ? [endpoint.success] : []));
}

/** Schemas that several responses share, by component name. */
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

/** Returns all response schemas by component name. */
function responseSchemas(): Record<string, z.ZodType> {
  const own = successes().map(({ name, schema }) => [name, schema] as const);
  return { ...Object.fromEntries(own), EmbeddingsRequest, ...shared };
}

/** Returns the components to which `from` refers directly or indirectly. Omits those of disabled endpoints. */
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

/** Returns the examples by component name and by error code. A new example is empty until `npm run docs` records it. */
function recorded(): Record<string, Example> {
  const responses = successes().map(({ name }) => [name, 'A response; long lists are shortened'] as const);
  const problems = errorCodes.map((code) => [code, errorTable[code].title] as const);
  return Object.fromEntries(
    [...responses, ...problems].map(([name, summary]) => [name, { summary, value: examples[name] ?? {} }]),
  );
}

/** Returns the introduction of the document in Markdown, with the limits of this server. */
function introduction(config: Config): string {
  return [
    'Compares the faces in two photos and returns a calibrated score. Images are processed in memory and not stored.',
    ...(config.endpoints.includes(demo.id) ? [`[${demo.docs.summary}](${demo.path})`] : []),
    '## Confidence',
    '`confidence_percent` is a log scale of the false match rate (FMR), the rate at which different people score at least as high. ' +
      'It has the same meaning for every model pack and accuracy mode: 10 points more mean 10 times fewer false matches. It is not the ' +
      'probability that both photos show the same person.',
    ...falseMatches.map(([percent, rate]) => `- ${percent} %: ${rate}`),
    'Below 40 the scale is linear down to 0. If several pairs of faces are compared, `confidence_percent` is corrected for their ' +
      'number. `match` is true if `confidence_percent` is at least `threshold_percent`.',
    '## Keys and quotas',
    'Send your key in the `x-api-key` header or as `Authorization: Bearer`. A request with two different keys is rejected. If `x-api-key` is ' +
      'present, a Bearer token that does not have the format of a key, such as the token of a gateway, is ignored. A key has scopes, which determine the ' +
      'endpoints that it may use, and a quota. The quota is a token bucket that refills at a constant rate; `RateLimit-Policy` and `RateLimit` describe it. ' +
      'A request that uses much CPU time takes more tokens when it ends, so the bucket may become negative. ' +
      'Without enough tokens the server returns 429 with `Retry-After`.',
    '## Errors',
    'Every error is `application/problem+json` (RFC 9457). `code` is machine-readable and never changes its meaning; `detail` ' +
      'says what to do and names the image or the field. Treat an unknown error code by its status, and ignore unknown members, because future versions may add some.',
    '## Warnings',
    'A response may have `warnings`, such as an ignored field or a compared face of low quality. `code` and `reason` are ' +
      'machine-readable; `detail` says how to correct the request. Warnings never change the verdict.',
    '## Requests',
    'Paths are exact and case-sensitive. HEAD is available for every path with GET. The server returns your `X-Request-Id` and logs ' +
      'it. After 408, 429, 503 and 504 the same request may succeed later; after any other 4xx it will not. ' +
      'Only match/upload/live needs a new challenge after a 504.',
    '## Limits',
    'Limits of this server:',
    ...limits(config).map(([what, limit]) => `- ${what}: ${limit}`),
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

function limits(config: Config): [what: string, limit: string][] {
  return [
    ['Body size', bytes(config.max_body_bytes)],
    ['Image size', bytes(config.max_image_bytes)],
    ['Pixels of an image (width × height)', grouped(config.max_pixels)],
    ['Shorter side of an image', `at least ${grouped(config.min_image_side)} pixels`],
    ['Parts of a form', grouped(config.max_parts)],
    ['Headers of a form part', bytes(config.max_part_header_bytes)],
    ['Text field', bytes(config.max_field_bytes)],
    ['Upload time', seconds(config.upload_timeout_ms)],
    ['Pause within an upload', seconds(config.upload_idle_timeout_s * 1000)],
    ['Time from the last byte of the request to the response', seconds(config.deadline_ms)],
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
