import type { EndpointId } from '../config.ts';
import { mostCandidates } from '../engine/embeddings.ts';
import { type ErrorCode, errorCodes, errorTable } from '../errors.ts';
import { mostTargets, repeatedField } from '../http/fields.ts';
import type { Route } from '../http/routes.ts';
import { headersOf } from './headers.ts';
import { ref, type Schema } from './json-schema.ts';
import { problemName, problemTable, type Requests } from './problems.ts';
import { bodyOf, takesForm, takesJson } from './request-bodies.ts';

/** A route → what OpenAPI calls an operation. */

export interface Response {
  description: string;
  headers: Record<string, { $ref: string }>;
  content?: Record<string, { schema: Schema; examples?: Record<string, { $ref: string }> }>;
}

export type Operation = ReturnType<typeof operationOf>;

export const tags = {
  match: 'Compare two photos',
  faces: 'Find the faces in one photo',
  about: 'The model pack',
  documents: 'This documentation',
} as const;

interface Account {
  tag: keyof typeof tags;
  summary: string;
  description: string;
  success: { description: string; type: string; schema: Schema };
  /** Arguments of curl after the address, one a line; with -F it sends a POST. */
  curl: readonly string[];
  /** Added to the sentence about the price. */
  further?: string;
}

const json = (description: string, schema: Schema) => ({ description, type: 'application/json', schema });
/** The names of the document's securitySchemes: a key is sent in one way or the other. */
const schemes = ['api_key', 'bearer'];

const key = '-H "x-api-key: $FACEMATCH_KEY"';
const photos = ['-F image1=@one.jpg', '-F image2=@two.jpg'];
const match = json('The pictures were compared, whether they match or not', ref('schemas', 'Match'));
const page = {
  description: 'The page',
  type: 'text/html; charset=utf-8',
  schema: { type: 'string', description: 'HTML' } as Schema,
};

const accounts: Readonly<Record<EndpointId, Account>> = {
  match: {
    tag: 'match',
    summary: 'Compare two photos',
    description:
      'Finds every face in both images, compares each face of the first with each of the second, and answers for the most ' +
      'similar pair. The same as the advanced endpoint with all defaults.',
    success: match,
    curl: [key, ...photos],
  },
  match_advanced: {
    tag: 'match',
    summary: 'Compare two photos, with controls',
    description:
      'Like the basic endpoint, and lets you choose faces, trade accuracy for speed, set the detection score, and refuse poor faces. ' +
      'With one face index, that face is compared with all faces of the other image; with both, those two are; with none, ' +
      '`auto_pair_best` decides.',
    success: match,
    curl: [key, ...photos, '-F threshold_percent=80', '-F image1_face_index=0', '-F accuracy_mode=fast'],
  },
  match_many: {
    tag: 'match',
    summary: 'Compare one photo with several',
    description:
      `Compares \`image1\` with each \`image2\`, of which there may be up to ${mostTargets}. Each has a result or a problem of ` +
      'its own. A fault of `image1` is the problem of the request. If you take only the best of several results, consider ' +
      'their number: there were several chances of a false match.',
    success: json('The image was compared with those that could be compared', ref('schemas', 'Many')),
    curl: [key, '-F image1=@one.jpg', '-F image2=@two.jpg', '-F image2=@three.jpg', '-F accuracy_mode=fast'],
    further: ' For each `image2` but the first it takes one more.',
  },
  detect: {
    tag: 'faces',
    summary: 'Find the faces in one photo',
    description:
      'Every face with its box, landmarks, pose and quality, as in a match. No face is an empty list, not an error.',
    success: json('The faces, if any', ref('schemas', 'Detect')),
    curl: [key, '-F image=@one.jpg'],
  },
  embed: {
    tag: 'faces',
    summary: 'Get embeddings of the faces in one photo',
    description:
      'Like detect, with an embedding for each face, or for the one that `face_index` names. An embedding is a biometric ' +
      'template: it can be used to recognise the person. Off unless the operator switches it on.',
    success: json('The faces were embedded', ref('schemas', 'Embed')),
    curl: [key, '-F image=@one.jpg', '-F face_index=0', '-F reject_low_quality=true'],
  },
  match_embeddings: {
    tag: 'match',
    summary: 'Compare one embedding with many',
    description:
      `Compares an embedding from the embed endpoint with up to ${mostCandidates.toLocaleString('en')} others, as if their ` +
      'images had been compared. `searched` says how many embeddings were searched to find the candidates: the most similar ' +
      'of a million strangers is more similar than one stranger. Off unless the operator switches it on.',
    success: json('The embeddings were compared', ref('schemas', 'Embeddings')),
    curl: [key, '-H "content-type: application/json"', '--data @embeddings.json'],
  },
  models: {
    tag: 'about',
    summary: 'Show the model pack',
    description:
      'Names the loaded model pack, the origin, licence and checksum of each net, and its calibration.',
    success: json('The model pack', ref('schemas', 'Models')),
    curl: [key],
  },
  openapi: {
    tag: 'documents',
    summary: 'Get the OpenAPI document',
    description: 'This interface in OpenAPI 3.1, with the limits and endpoints of this server.',
    success: json('The document', { type: 'object', description: 'An OpenAPI 3.1 document' }),
    curl: [],
  },
  docs: {
    tag: 'documents',
    summary: 'Read the documentation',
    description: 'The same as a page. It runs no script and loads nothing from elsewhere.',
    success: page,
    curl: [],
  },
  demo: {
    tag: 'documents',
    summary: 'Try it in a browser',
    description:
      'A page that takes two photos and a key, sends them to this server and shows the answer: faces, score, pairs, timings. ' +
      'It loads nothing from elsewhere and keeps nothing.',
    success: page,
    curl: [],
  },
};

export function operationOf(route: Route) {
  const { endpoint, path, scope, cost } = route;
  const { tag, summary, description, success, curl, further = '' } = accounts[endpoint];
  const price =
    scope === 'none' ? '' : ` Takes ${cost} ${cost === 1 ? 'token' : 'tokens'} from the key's quota.`;
  const headers = headersOf(200, route);
  const responses: Record<string, Response> = {
    200: { description: success.description, headers, content: contentOf(route, success) },
  };
  if (tag === 'documents')
    responses[304] = { description: 'The document is still the one named in If-None-Match', headers };
  const codes = codesOf(route);
  for (const status of new Set(codes.map((code) => errorTable[code].status))) {
    const behind = codes.filter((code) => errorTable[code].status === status);
    responses[status] = problemResponse(behind, route);
  }
  return {
    operationId: endpoint,
    tags: [tag],
    summary,
    description: description + price + further,
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
      { lang: 'Shell', label: 'curl', source: [`curl "$FACEMATCH_URL${path}"`, ...curl].join(' \\\n  ') },
    ],
  };
}

/** The content of an answer, with the example of its schema's component. */
function contentOf(
  { endpoint }: Route,
  { type, schema }: Account['success'],
): NonNullable<Response['content']> {
  const component = schema.$ref?.split('/').at(-1);
  if (component === undefined) return { [type]: { schema } };
  return { [type]: { schema, examples: { [endpoint]: ref('examples', component) } } };
}

/** The error codes of this route, in the order of the error table. */
function codesOf({ endpoint, scope }: Route): ErrorCode[] {
  const applies: Record<Requests, boolean> = {
    path: false,
    any: true,
    keyed: scope !== 'none',
    scoped: scope !== 'none' && scope !== 'any',
    form: takesForm(endpoint),
    json: takesJson(endpoint),
    body: takesForm(endpoint) || takesJson(endpoint),
    faces: takesForm(endpoint) && endpoint !== 'detect',
    choice: endpoint === 'match_advanced' || endpoint === 'match_many' || endpoint === 'embed',
    several: takesForm(endpoint) && repeatedField(endpoint) !== undefined,
  };
  return errorCodes.filter((code) => applies[problemTable[code].requests]);
}

/** The answer of one status, for the codes that have it. */
export function problemResponse(codes: readonly ErrorCode[], route?: Route): Response {
  const { status } = errorTable[codes[0]!];
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
