import type { EndpointId } from '../config.ts';
import { type ErrorCode, errorTable } from '../errors.ts';
import type { Route } from '../http/routes.ts';
import { formBody, type RequestBody, takesForm } from './form-schema.ts';
import { headersOf } from './headers.ts';
import { ref, type Schema } from './json-schema.ts';
import { codesOf, problemName } from './problems.ts';

/** A route → what OpenAPI calls an operation. */

export interface MediaType {
  schema: Schema;
  examples?: Record<string, { $ref: string }>;
}

export interface Response {
  description: string;
  headers: Record<string, { $ref: string }>;
  content?: Record<string, MediaType>;
}

export interface Operation {
  operationId: EndpointId;
  tags: [Tag];
  summary: string;
  description: string;
  security: { api_key: string[] }[];
  parameters: { $ref: string }[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
  /** Of many readers of OpenAPI documents: requests ready to be tried. */
  'x-codeSamples': { lang: string; label: string; source: string }[];
}

export const tags = {
  match: 'Compare two photos',
  about: 'What the answers rest on',
  documents: 'This documentation',
} as const;
type Tag = keyof typeof tags;

interface Account {
  tag: Tag;
  summary: string;
  description: string;
  success: { description: string; content_type: string; schema: Schema };
  /** Arguments of curl behind the address, one a line; with -F it sends a POST. */
  curl: readonly string[];
}

const photos = ['-F image1=@one.jpg', '-F image2=@two.jpg'];
const key = '-H "x-api-key: $FACEMATCH_KEY"';
const compared = {
  description: 'The pictures were compared, whether they match or not',
  content_type: 'application/json',
  schema: ref('schemas', 'Match'),
};

const accounts: Readonly<Record<EndpointId, Account>> = {
  match: {
    tag: 'match',
    summary: 'Compare two photos',
    description:
      'Finds every face in both pictures, compares each of the first with each of the second, and answers for the pair ' +
      'that is most alike. The same as the advanced endpoint with every default.',
    success: compared,
    curl: [key, ...photos],
  },
  match_advanced: {
    tag: 'match',
    summary: 'Compare two photos, with controls',
    description:
      'As the basic endpoint, and lets you choose faces, trade accuracy for speed, say what counts as a face, and refuse poor ones. ' +
      'With one face index given, that face is compared with all of the other picture; with both, those two; with none, ' +
      '`auto_pair_best` decides.',
    success: compared,
    curl: [key, ...photos, '-F threshold_percent=80', '-F image1_face_index=0', '-F accuracy_mode=fast'],
  },
  models: {
    tag: 'about',
    summary: 'Show the model pack',
    description:
      'Names the loaded model pack, the origin, licence and checksum of each net, and its calibration.',
    success: {
      description: 'The model pack',
      content_type: 'application/json',
      schema: ref('schemas', 'Models'),
    },
    curl: [key],
  },
  openapi: {
    tag: 'documents',
    summary: 'Get the OpenAPI document',
    description: 'This interface in OpenAPI 3.1, with the limits and endpoints of this very server.',
    success: {
      description: 'The document',
      content_type: 'application/json',
      schema: { type: 'object', description: 'An OpenAPI 3.1 document' },
    },
    curl: [],
  },
  docs: {
    tag: 'documents',
    summary: 'Read the documentation',
    description: 'The same as a page for people. It runs no script and loads nothing from elsewhere.',
    success: {
      description: 'The page',
      content_type: 'text/html; charset=utf-8',
      schema: { type: 'string', description: 'HTML' },
    },
    curl: [],
  },
  demo: {
    tag: 'documents',
    summary: 'Try it in a browser',
    description:
      'A page that takes two photos and a key, sends them to this server and shows the answer: faces, score, pairs, timings. ' +
      'It loads nothing from elsewhere and keeps nothing.',
    success: {
      description: 'The page',
      content_type: 'text/html; charset=utf-8',
      schema: { type: 'string', description: 'HTML' },
    },
    curl: [],
  },
};

export function operationOf(route: Route): Operation {
  const { endpoint, path, scope, cost } = route;
  const account = accounts[endpoint];
  const { tag, summary, description, curl } = account;
  const price =
    scope === 'none' ? '' : ` Takes ${cost} ${cost === 1 ? 'token' : 'tokens'} from the key's quota.`;
  const fields = takesForm(endpoint) ? { requestBody: formBody(endpoint) } : {};
  return {
    operationId: endpoint,
    tags: [tag],
    summary,
    description: description + price,
    security: securityOf(scope),
    parameters: [ref('parameters', 'X-Request-Id')],
    ...fields,
    responses: { ...successOf(route, account), ...problemsOf(route) },
    'x-codeSamples': [
      {
        lang: 'Shell',
        label: 'curl',
        source: [`curl "$FACEMATCH_URL${path}"`, ...curl].join(' \\\n  '),
      },
    ],
  };
}

/** OpenAPI 3.1, "Security Requirement Object": for a scheme other than OAuth, the list names the roles that are needed. */
function securityOf(scope: Route['scope']): Operation['security'] {
  if (scope === 'none') return [];
  return [{ api_key: scope === 'any' ? [] : [scope] }];
}

function successOf(route: Route, { success, tag }: Account): Record<string, Response> {
  const { description, content_type, schema } = success;
  const headers = headersOf(200, route);
  const isJson = schema.$ref !== undefined;
  const examples = isJson
    ? { examples: { [route.endpoint]: ref('examples', schema.$ref!.split('/').at(-1)!) } }
    : {};
  const found = { 200: { description, headers, content: { [content_type]: { schema, ...examples } } } };
  if (tag !== 'documents') return found;
  return { ...found, 304: { description: 'The document is still the one named in If-None-Match', headers } };
}

function problemsOf(route: Route): Record<string, Response> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(route)) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, problemResponse(status, codes, route)]),
  );
}

/** One status, and the problems that may be behind it. */
export function problemResponse(status: number, codes: readonly ErrorCode[], route?: Route): Response {
  const schemas = codes.map((code) => ref('schemas', problemName(code)));
  const discriminator = {
    propertyName: 'code',
    mapping: Object.fromEntries(codes.map((code, i) => [code, schemas[i]!.$ref])),
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].title}`).join('\n\n'),
    headers: headersOf(status, route),
    content: {
      'application/problem+json': {
        schema: codes.length === 1 ? schemas[0]! : { oneOf: schemas, discriminator },
        examples: Object.fromEntries(codes.map((code) => [code, ref('examples', code)])),
      },
    },
  };
}
