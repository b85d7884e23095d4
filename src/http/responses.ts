import { type ErrorCode, errorTable, type Problem } from '../errors.ts';
import type { Headers, Reply } from './exchange.ts';

/** Turns results and problems into bytes. No other file does. */

/** Where the docs page explains the codes; a reference relative to the host that was asked (RFC 9457 section 3.1.1). */
const problemTypes = '/API/v1.0/docs#error-';

const problemHeaders: Headers = [['Content-Type', 'application/problem+json']];

/** Those of the codes that have more. Retry-After is in seconds. */
const codeHeaders: Partial<Record<ErrorCode, Headers>> = {
  missing_api_key: [...problemHeaders, ['WWW-Authenticate', 'ApiKey']],
  invalid_api_key: [...problemHeaders, ['WWW-Authenticate', 'ApiKey']],
  overloaded: [...problemHeaders, ['Retry-After', '1']],
  not_ready: [...problemHeaders, ['Retry-After', '1']],
  shutting_down: [...problemHeaders, ['Retry-After', '5']],
};

export function json(status: number, body: unknown, headers: Headers = []): Reply {
  return {
    status,
    headers: [['Content-Type', 'application/json'], ...headers],
    body: JSON.stringify(body),
  };
}

export function text(status: number, body: string, content_type = 'text/plain; charset=utf-8'): Reply {
  return { status, headers: [['Content-Type', content_type]], body };
}

/** application/problem+json (RFC 9457). The extras follow the standard members; `detail` among them wins. */
export function problem({ code, extras }: Problem, request_id: string): Reply {
  const { status, title } = errorTable[code];
  const { detail = errorTable[code].detail, ...members } = extras;
  return {
    status,
    headers: codeHeaders[code] ?? problemHeaders,
    body: JSON.stringify({ type: problemTypes + code, title, status, detail, code, request_id, ...members }),
  };
}

/** `Server-Timing: queue;dur=0.2, decode;dur=3.1` (W3C Server Timing). */
export function serverTiming(timings_ms: Readonly<Record<string, number>>): readonly [string, string] {
  const stages = Object.entries(timings_ms).map(([stage, ms]) => `${stage};dur=${ms}`);
  return ['Server-Timing', stages.join(', ')];
}
