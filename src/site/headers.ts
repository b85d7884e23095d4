import type { Listed } from '../endpoints/index.ts';
import { ref, type Schema } from './json-schema.ts';

/** The headers of answers, and which answers have them. */

export interface Header {
  description: string;
  required?: boolean;
  schema: Schema;
}

/** For ids of the client and of the server: src/http/request.ts. */
export const requestIdPattern = '^[A-Za-z0-9._-]{1,128}$';

const string: Schema = { type: 'string' };
const seconds: Schema = { type: 'integer', minimum: 1 };

export const headers = {
  'X-Request-Id': {
    description: "Names the request in the answer and in the server's log: the client's own, or a new one",
    required: true,
    schema: { ...string, pattern: requestIdPattern },
  },
  'Cache-Control': {
    description: 'no-store for answers; documents may be kept for a while',
    required: true,
    schema: string,
  },
  'X-Content-Type-Options': {
    description: 'A browser must not take the answer for something else than its Content-Type says',
    schema: { ...string, const: 'nosniff' },
  },
  ETag: {
    description: 'Names this version of the document (RFC 9110 section 8.8.3)',
    required: true,
    schema: string,
  },
  'Server-Timing': {
    description: 'The stages of timings_ms, as W3C Server Timing: `decode;dur=3.1, …`, milliseconds',
    required: true,
    schema: string,
  },
  'RateLimit-Policy': {
    description:
      "The key's quota (draft-ietf-httpapi-ratelimit-headers-11): q tokens at most, w seconds to fill from empty",
    schema: { ...string, pattern: '^"default";q=\\d+;w=\\d+$' },
  },
  RateLimit: {
    description:
      'What is left of the quota: r tokens; t seconds until it is full, or, after a 429, until the next try',
    schema: { ...string, pattern: '^"default";r=\\d+;t=\\d+$' },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try (RFC 9110 section 10.2.3)',
    required: true,
    schema: seconds,
  },
  'WWW-Authenticate': {
    description:
      'The schemes that are taken (RFC 9110 section 11.6.1): a key in the x-api-key header, or as Bearer in Authorization',
    required: true,
    schema: { ...string, const: 'ApiKey, Bearer' },
  },
  Allow: {
    description: 'The methods that the path takes (RFC 9110 section 10.2.1)',
    required: true,
    schema: string,
  },
} satisfies Record<string, Header>;

type HeaderName = keyof typeof headers;

/** The headers of a problem, by its status. */
const problemHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Decided before the rate limit, so these answers have no rate headers. */
const beforeRateLimit: readonly number[] = [401, 403, 404, 405];

function successHeaders(endpoint: Listed): readonly HeaderName[] {
  if ('document' in endpoint) return ['ETag'];
  return endpoint.takes === 'nothing' ? [] : ['Server-Timing'];
}

/** References to the headers of an endpoint's answers with this status. */
export function headersOf(status: number, endpoint: Listed): Record<string, { $ref: string }> {
  const names: HeaderName[] = ['X-Request-Id', 'Cache-Control', 'X-Content-Type-Options'];
  if (status < 400) names.push(...successHeaders(endpoint));
  if (endpoint.scope !== 'none' && !beforeRateLimit.includes(status))
    names.push('RateLimit-Policy', 'RateLimit');
  names.push(...(problemHeaders[status] ?? []));
  return Object.fromEntries(names.map((name) => [name, ref('headers', name)]));
}
