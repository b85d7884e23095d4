import { repeatedField } from '../endpoints/images.ts';
import type { Listed } from '../endpoints/index.ts';
import { type ErrorCode, errorCodes, errorTable } from '../errors.ts';
import { headersOf } from './headers.ts';
import { ref, type Schema } from './json-schema.ts';
import { problemDocs, type Requests } from './problem-examples.ts';
import { problemName } from './problems.ts';
import { bodyOf } from './request-bodies.ts';

/** An endpoint → what OpenAPI calls an operation. */

export interface Response {
  description: string;
  headers: Record<string, { $ref: string }>;
  content?: Record<string, { schema: Schema; examples?: Record<string, { $ref: string }> }>;
}

/** The names of the document's securitySchemes: a key is sent in one way or the other. */
const schemes = ['api_key', 'bearer'];

export type Operation = ReturnType<typeof operationOf>;

export function operationOf(endpoint: Listed) {
  const { id, path, scope, price, docs } = endpoint;
  const cost =
    scope === 'none' ? '' : ` Takes ${price} ${price === 1 ? 'token' : 'tokens'} from the key's quota.`;
  const headers = headersOf(200, endpoint);
  const { description, content } = successOf(endpoint);
  const responses: Record<string, Response> = { 200: { description, headers, content } };
  if ('document' in endpoint)
    responses[304] = { description: 'The document is still the one named in If-None-Match', headers };
  const codes = codesOf(endpoint);
  for (const status of new Set(codes.map((code) => errorTable[code].status))) {
    const behind = codes.filter((code) => errorTable[code].status === status);
    responses[status] = problemResponse(behind, endpoint);
  }
  return {
    operationId: id,
    tags: [docs.tag],
    summary: docs.summary,
    description: docs.description + cost + (docs.further ?? ''),
    // For a scheme other than OAuth, the list names the roles that are needed (OpenAPI 3.1, "Security Requirement Object").
    security:
      scope === 'none'
        ? []
        : schemes.map((scheme) => ({ [scheme]: scope === 'any' ? [] : [scope as string] })),
    parameters: [ref('parameters', 'X-Request-Id')],
    ...bodyOf(endpoint),
    responses,
    // Many viewers of OpenAPI documents show these requests.
    'x-codeSamples': [
      {
        lang: 'Shell',
        label: 'curl',
        source: [`curl "$FACEMATCH_URL${path}"`, ...docs.curl].join(' \\\n  '),
      },
    ],
  };
}

/** The 200 answer, with the example of its schema's component. */
function successOf(endpoint: Listed): Required<Pick<Response, 'description' | 'content'>> {
  if ('document' in endpoint) {
    const { type, description, schema } = endpoint.document;
    return { description, content: { [type]: { schema } } };
  }
  const { description, name } = endpoint.success;
  const examples = { [endpoint.id]: ref('examples', name) };
  return { description, content: { 'application/json': { schema: ref('schemas', name), examples } } };
}

/** The error codes of this endpoint, in the order of the error table. */
function codesOf(endpoint: Listed): ErrorCode[] {
  const { takes, scope } = endpoint;
  const pictures = takes === 'pictures' ? endpoint : undefined;
  const applies: Record<Requests, boolean> = {
    path: true,
    any: true,
    keyed: scope !== 'none',
    scoped: scope !== 'none' && scope !== 'any',
    pictures: pictures !== undefined,
    form: pictures !== undefined,
    json: takes !== 'nothing',
    embeddings: takes === 'embeddings',
    body: takes !== 'nothing',
    faces: false,
    choice: false,
    several: pictures !== undefined && repeatedField(pictures.fields) !== undefined,
    ...Object.fromEntries((pictures?.errors ?? []).map((group) => [group, true])),
  };
  return errorCodes.filter((code) => applies[problemDocs[code].requests]);
}

/** The answer of one status, for the codes that have it. */
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
