import type { FieldRule, Fields, ImageEndpoint } from '../endpoints/endpoint.ts';
import { imageFields, maxOf, minOf, requiredFields } from '../endpoints/images.ts';
import type { Listed } from '../endpoints/index.ts';
import type { NumberRule } from '../endpoints/options.ts';
import { type ErrorCode, errorCodes, errorTable, type RequestKind } from '../errors.ts';
import { samplesOf } from './code-samples.ts';
import { problemName, ref, type Schema } from './schemas.ts';

/** Converts an endpoint to an OpenAPI operation with request, responses and headers. */

export interface Response {
  description: string;
  headers: Record<string, { $ref: string }>;
  content?: Record<string, { schema: Schema; examples?: Record<string, { $ref: string }> }>;
}

/** Names of the securitySchemes, one for each header in which a key may be sent. */
const schemes = ['api_key', 'bearer'];

export type Operation = ReturnType<typeof operationOf>;

export function operationOf(endpoint: Listed) {
  const { id, scope, docs } = endpoint;
  const cost = scope === 'none' ? '' : " Takes 1 token from the key's quota.";
  const status = ('success' in endpoint && endpoint.success.status) || 200;
  const headers = headersOf(status, endpoint);
  const { description, content } = successOf(endpoint);
  const responses: Record<string, Response> = { [status]: { description, headers, content } };
  if ('document' in endpoint)
    responses[304] = {
      description: 'The document has not changed since the version in If-None-Match',
      headers,
    };
  const codes = codesOf(endpoint);
  for (const status of new Set(codes.map((code) => errorTable[code].status))) {
    const ofStatus = codes.filter((code) => errorTable[code].status === status);
    responses[status] = problemResponse(ofStatus, endpoint);
  }
  return {
    operationId: id,
    tags: [docs.tag],
    summary: docs.summary,
    description: docs.description + cost + (docs.further ?? ''),
    // For schemes other than OAuth, the list contains the required roles (OpenAPI 3.1, "Security Requirement Object").
    security:
      scope === 'none'
        ? []
        : schemes.map((scheme) => ({ [scheme]: scope === 'any' ? [] : [scope as string] })),
    parameters: [ref('parameters', 'X-Request-Id')],
    ...bodyOf(endpoint),
    responses,
    'x-codeSamples': samplesOf(endpoint),
  };
}

/** Returns the successful response, with its example. */
function successOf(endpoint: Listed): Required<Pick<Response, 'description' | 'content'>> {
  if ('document' in endpoint) {
    const { type, description, schema } = endpoint.document;
    return { description, content: { [type]: { schema } } };
  }
  const { description, name } = endpoint.success;
  const examples = { [endpoint.id]: ref('examples', name) };
  return { description, content: { 'application/json': { schema: ref('schemas', name), examples } } };
}

/** Returns the error codes of this endpoint, in the order of the error table. */
function codesOf(endpoint: Listed): ErrorCode[] {
  const { takes, scope } = endpoint;
  const images = takes === 'images' ? endpoint : undefined;
  const options = Object.keys(images?.fields ?? {});
  const applies: Record<RequestKind, boolean> = {
    path: true,
    any: true,
    keyed: scope !== 'none',
    scoped: scope !== 'none' && scope !== 'any',
    images: images !== undefined,
    form: images !== undefined,
    json: takes !== 'nothing',
    embeddings: takes === 'embeddings',
    body: takes !== 'nothing',
    faces: false,
    index: options.some((name) => name.endsWith('face_index')),
    rejecting: options.some((name) => name.startsWith('reject_')),
    several: images !== undefined && severalIn(images.fields).length > 0,
    persons: takes === 'embeddings',
    challenge: images?.redeems !== undefined,
    ...Object.fromEntries((images?.errors ?? []).map((group) => [group, true])),
  };
  return errorCodes.filter((code) => applies[errorTable[code].requests]);
}

/** Returns the error response of one status, with all its codes. */
function problemResponse(codes: readonly ErrorCode[], endpoint: Listed): Response {
  const { status } = errorTable[codes[0]!];
  const schemas = codes.map((code) => ref('schemas', problemName(code)));
  const discriminator = {
    propertyName: 'code',
    mapping: Object.fromEntries(codes.map((code, i) => [code, schemas[i]!.$ref])),
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].title}`).join('\n\n'),
    headers: headersOf(status, endpoint),
    content: {
      'application/problem+json': {
        schema: codes.length === 1 ? schemas[0]! : { oneOf: schemas, discriminator },
        examples: Object.fromEntries(codes.map((code) => [code, ref('examples', code)])),
      },
    },
  };
}

interface RequestBody {
  description: string;
  required: true;
  content: Record<string, { schema: Schema; encoding?: Record<string, { contentType: string }> }>;
}

function bodyOf(endpoint: Listed): { requestBody?: RequestBody } {
  switch (endpoint.takes) {
    case 'nothing':
      return {};
    case 'images':
      return { requestBody: formBody(endpoint) };
    case 'embeddings': {
      const schema = ref('schemas', 'EmbeddingsRequest');
      const description =
        'JSON of at most 4 MiB, 32 nesting levels and 100,000 values. Unknown members are ignored and reported in `warnings`; optional members may be null.';
      return { requestBody: { description, required: true, content: { 'application/json': { schema } } } };
    }
  }
}

function formBody({ fields }: ImageEndpoint): RequestBody {
  const several = severalIn(fields);
  const images = imageFields(fields);
  const schemaOf = (image: Schema): Schema => ({
    type: 'object',
    required: requiredFields(fields),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, rule]) => {
        const items = fieldSchema(rule, image);
        const [minItems, maxItems] = [minOf(rule), maxOf(rule)];
        return [name, maxItems > 1 ? { type: 'array', minItems, maxItems, items } : items];
      }),
    ),
  });
  return {
    description:
      'A form as multipart/form-data (RFC 7578). Parts may be in any order. Each field may be sent at most once' +
      `${several.length === 0 ? '' : `, except ${several.join(' and ')}`}. Booleans are true and false, in upper or lower case, or 1 and 0. ` +
      'Empty fields, and null in JSON, select the default. ' +
      'Alternatively, send JSON with the same members. Images are then base64 (RFC 4648, section 4, with or without padding, or as a data: URL), ' +
      'and numbers and booleans are JSON values, or strings as in a form. Limits apply to the decoded bytes of an image. ' +
      'Unknown fields, and fields in the query string, are ignored and reported in `warnings`.',
    required: true,
    content: {
      'multipart/form-data': {
        // `format: binary` is the notation of OpenAPI 3.0 for a file. Tools with a file picker still use it.
        schema: schemaOf({ type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }),
        encoding: Object.fromEntries(
          images.map((name) => [name, { contentType: 'image/jpeg, image/png, image/webp' }]),
        ),
      },
      'application/json': { schema: schemaOf({ type: 'string', contentEncoding: 'base64' }) },
    },
  };
}

/** Returns the schema of a field. `image`: schema of an image in this body format. */
function fieldSchema(rule: FieldRule, image: Schema): Schema {
  const { description } = rule;
  switch (rule.kind) {
    case 'image':
      return { ...image, description };
    case 'token':
      return { type: 'string', maxLength: rule.max, description };
    case 'decimal': {
      const form = 'Digits with an optional decimal point: no sign, no exponent';
      return { type: 'number', ...bounds(rule), description: `${description}. ${form}` };
    }
    case 'integer':
      return { type: 'integer', ...bounds(rule), description };
    case 'boolean':
      return { type: 'boolean', default: rule.default, description };
    case 'choice':
      return { type: 'string', enum: [...rule.values], default: rule.default, description };
  }
}

/** Names of the image fields that may repeat. */
const severalIn = (fields: Fields) => imageFields(fields).filter((name) => maxOf(fields[name]) > 1);

function bounds({ min, max, default: fallback }: NumberRule): Schema {
  return { minimum: min, maximum: max, ...(fallback === undefined ? {} : { default: fallback }) };
}

/** Response headers, and which responses have them. */

export interface Header {
  description: string;
  required?: boolean;
  schema: Schema;
}

/** Pattern of request ids, as in src/http/request.ts. */
export const requestIdPattern = '^[A-Za-z0-9._-]{1,128}$';

const string: Schema = { type: 'string' };
const seconds: Schema = { type: 'integer', minimum: 1 };

export const headers = {
  'X-Request-Id': {
    description:
      'Id of the request in the response and in the server log: the id from the client, or a new id',
    required: true,
    schema: { ...string, pattern: requestIdPattern },
  },
  'Cache-Control': {
    description: 'no-store for results; documents may be cached',
    required: true,
    schema: string,
  },
  'X-Content-Type-Options': {
    description: 'Prevents browsers from guessing another type than Content-Type',
    schema: { ...string, const: 'nosniff' },
  },
  ETag: {
    description: 'Version of the document (RFC 9110 section 8.8.3)',
    required: true,
    schema: string,
  },
  'Server-Timing': {
    description: 'Stages of timings_ms in milliseconds, as W3C Server Timing: `decode;dur=3.1, …`',
    required: true,
    schema: string,
  },
  'RateLimit-Policy': {
    description:
      'Quota of the key (draft-ietf-httpapi-ratelimit-headers-11): q is the maximum number of tokens, w the number of seconds that an empty bucket takes to fill',
    schema: { ...string, pattern: '^"default";q=\\d+;w=\\d+$' },
  },
  RateLimit: {
    description:
      'Remaining quota: r is the number of tokens, t the number of seconds until the bucket is full or, after a 429, until the next attempt',
    schema: { ...string, pattern: '^"default";r=\\d+;t=\\d+$' },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next attempt (RFC 9110 section 10.2.3)',
    required: true,
    schema: seconds,
  },
  'WWW-Authenticate': {
    description:
      'Accepted schemes (RFC 9110 section 11.6.1): the key in the x-api-key header, or as Authorization: Bearer',
    required: true,
    schema: { ...string, const: 'ApiKey, Bearer' },
  },
  Allow: {
    description: 'Methods that the path allows (RFC 9110 section 10.2.1)',
    required: true,
    schema: string,
  },
} satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** Additional headers of an error response, by status. */
const problemHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Statuses of responses that are sent before the rate limit is checked, and therefore lack its headers. */
const beforeRateLimit: readonly number[] = [401, 403, 404, 405, 417];

/** Returns references to the headers of the responses with this status. */
function headersOf(status: number, endpoint: Listed): Record<string, { $ref: string }> {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options'];
  if (status < 400 && 'document' in endpoint) names.push('ETag');
  if (status < 400 && endpoint.takes !== 'nothing') names.push('Server-Timing');
  if (endpoint.scope !== 'none' && !beforeRateLimit.includes(status))
    names.push('RateLimit-Policy', 'RateLimit');
  names.push(...(problemHeaders[status] ?? []));
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]));
}
