import { createHash } from 'node:crypto';
import { prefix } from '../endpoints/endpoint.ts';
import { type ErrorCode, errorTable, type Problem, waitText } from '../errors.ts';
import type { Headers, Reply } from './exchange.ts';
import type { Request } from './request.ts';

/** Converts results and problems to responses with headers. */

/** Beginning of each problem's type, relative to the server's URL (RFC 9457, section 3.1.1). The code follows it. */
export const problemTypes = `${prefix}/docs#error-`;

/** Prevents browsers from guessing another type than Content-Type. */
const nosniff = ['X-Content-Type-Options', 'nosniff'] as const;

const problemHeaders: Headers = [['Content-Type', 'application/problem+json'], nosniff];

/** Both authentication schemes in one list (RFC 9110, section 11.6.1). */
const challenge = ['WWW-Authenticate', 'ApiKey, Bearer'] as const;

/** Headers of error codes that need additional headers. Retry-After is in seconds. */
const codeHeaders: Partial<Record<ErrorCode, Headers>> = {
  missing_api_key: [...problemHeaders, challenge],
  invalid_api_key: [...problemHeaders, challenge],
  overloaded: [...problemHeaders, ['Retry-After', '1']],
  not_ready: [...problemHeaders, ['Retry-After', '1']],
  shutting_down: [...problemHeaders, ['Retry-After', '5']],
};

export function json(status: number, body: unknown, headers: Headers = []): Reply {
  return {
    status,
    headers: [['Content-Type', 'application/json'], nosniff, ...headers],
    body: JSON.stringify(body),
  };
}

/** Returns an application/problem+json response (RFC 9457). `retry_s`: seconds to wait, for `detail`. */
export function problem({ code, extras }: Problem, request_id: string, retry_s?: number): Reply {
  const { status, title } = errorTable[code];
  const { detail: words = errorTable[code].detail, ...members } = extras;
  const detail = retry_s === undefined ? words : words.replace(waitText, `${retry_s} s`);
  return {
    status,
    headers: codeHeaders[code] ?? problemHeaders,
    body: JSON.stringify({ type: problemTypes + code, title, status, detail, code, request_id, ...members }),
  };
}

/** A rejection by the admin listener: it has no code of the error table, because clients never receive it. */
export function forbidden(detail: string, request_id: string): Reply {
  const members = { type: 'about:blank', title: 'Forbidden', status: 403, detail, request_id };
  return { status: 403, headers: problemHeaders, body: JSON.stringify(members) };
}

/** `Server-Timing: queue;dur=0.2, decode;dur=3.1` (W3C Server Timing). */
export function serverTiming(timings_ms: Readonly<Record<string, number>>): readonly [string, string] {
  const stages = Object.entries(timings_ms).map(([stage, ms]) => `${stage};dur=${ms}`);
  return ['Server-Timing', stages.join(', ')];
}

/** A document that does not change while the server runs. */
export interface Document {
  reply(if_none_match: string | undefined, accept_encoding: string | undefined): Reply;
}

/** Returns the reply at once if possible, because µWS pipelines only responses sent in its callback. */
export function documentReply(
  { headers }: Request,
  document: Document | Promise<Document>,
): Reply | Promise<Reply> {
  const reply = (made: Document) => made.reply(headers.get('if-none-match'), headers.get('accept-encoding'));
  return document instanceof Promise ? document.then(reply) : reply(document);
}

/**
 * Headers for cross-origin requests (Fetch standard, section 3.2). Credentials are not allowed, because keys are
 * never sent in cookies.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Returns the headers for any response to this request. */
  headers(request: Request): Headers {
    if (this.#origins.size === 0) return [];
    // Vary is sent for rejected origins too, because caches must know that responses depend on the origin.
    const vary = ['Vary', 'Origin'] as const;
    const origin = request.headers.get('origin');
    if (!this.#allows(origin)) return [vary];
    return [vary, ['Access-Control-Allow-Origin', origin], ['Access-Control-Expose-Headers', exposed]];
  }

  /**
   * Returns the headers for an allowed preflight request (OPTIONS), which gets 204 without a key; otherwise
   * undefined.
   */
  preflight(request: Request, methods: readonly string[]): Headers | undefined {
    const asks = request.headers.has('access-control-request-method');
    if (!asks || methods.length === 0 || !this.#allows(request.headers.get('origin'))) return undefined;
    return [
      ['Access-Control-Allow-Methods', methods.join(', ')],
      ['Access-Control-Allow-Headers', allowedHeaders(request.headers.get('access-control-request-headers'))],
      ['Access-Control-Max-Age', '600'],
      // In addition to `Vary: Origin` of every response.
      ['Vary', 'Access-Control-Request-Headers'],
    ];
  }

  #allows(origin: string | undefined): origin is string {
    return origin !== undefined && (this.#origins.has('*') || this.#origins.has(origin));
  }
}

/** Headers that the service reads. */
const ownHeaders = 'x-api-key, authorization, x-request-id, traceparent, content-type';

/** Maximum length of Access-Control-Request-Headers. */
const maxRequestedHeaders_characters = 4096;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Allows all requested headers (`#field-name`, RFC 9110, section 5.6.1), because libraries add their own headers and
 * the service ignores unknown headers.
 */
function allowedHeaders(requested = ''): string {
  if (requested.length > maxRequestedHeaders_characters) return ownHeaders;
  const names = requested
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  return names.length > 0 && names.every((name) => token.test(name)) ? names.join(', ') : ownHeaders;
}

const exposed = 'X-Request-Id, traceparent, Server-Timing, RateLimit, RateLimit-Policy, Retry-After';

/** Returns the hash by which a Content-Security-Policy (level 3) allows an inline script or style. */
export const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Returns the Content-Security-Policy of a page. `allowed`: additional directives. */
export const policyOf = (...allowed: string[]) =>
  [
    "default-src 'none'",
    ...allowed,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
