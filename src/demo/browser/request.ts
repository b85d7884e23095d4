import { settings } from './dom.ts';
import type { Fields, Plan, ProblemResponse, Received, Task } from './types.ts';

export interface Photo {
  name: string;
  file: File | undefined;
}

/**
 * Chooses the endpoint and fields of a request. Two photos without advanced options go to the basic endpoint, because
 * a key may have only its scope. `forbidden`: endpoints that the key may not use. Returns undefined if no suitable
 * endpoint is enabled.
 */
export function planOf(
  task: Task | 'match_person',
  all: Fields,
  forbidden: ReadonlySet<string>,
): Plan | undefined {
  if (task !== 'match') {
    const path = settings.paths[task];
    const fields = Object.entries(all).filter(([name]) => settings.fields[task]?.includes(name));
    return path === undefined ? undefined : { endpoint: task, path, fields: Object.fromEntries(fields) };
  }
  const isBasic = Object.keys(all).every((name) => name === 'threshold_percent');
  const able = isBasic ? (['match', 'match_advanced'] as const) : (['match_advanced'] as const);
  const open = able.filter((endpoint) => settings.paths[endpoint] !== undefined);
  const endpoint = open.find((candidate) => !forbidden.has(candidate)) ?? open[0];
  return endpoint && { endpoint, path: settings.paths[endpoint]!, fields: all };
}

/** Sends the photos unchanged. Never rejects: resolves to a response or a problem. */
export async function send(
  { path, fields }: Plan,
  key: string,
  photos: readonly Photo[],
  signal: AbortSignal,
): Promise<Received> {
  const body = new FormData();
  for (const { name, file } of photos) if (file !== undefined) body.append(name, file, file.name);
  for (const [name, text] of Object.entries(fields)) body.append(name, text);
  const headers = headersOf(key);
  if (headers === undefined) return { problem: unsendableKey };
  const started = performance.now();
  try {
    const response = await fetch(path, { method: 'POST', headers, body, signal });
    const text = await response.text();
    const round_trip_ms = performance.now() - started;
    if (response.ok) return { response: JSON.parse(text), round_trip_ms };
    const wait = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
    return { problem: problemOf(response, text), retry_after_s: Number.isNaN(wait) ? undefined : wait };
  } catch (error) {
    return { problem: unreachable(photos, error as Error) };
  }
}

/**
 * Returns undefined for a key that cannot be sent: headers cannot contain line breaks (RFC 9110, section 5.5), and
 * fetch sends only Latin-1.
 */
function headersOf(key: string): Headers | undefined {
  try {
    return new Headers(key === '' ? {} : { 'x-api-key': key });
  } catch {
    return undefined;
  }
}

const unsendableKey: ProblemResponse = {
  code: 'invalid_api_key',
  title: 'Invalid API key',
  detail: 'The key contains an invalid character. Copy it again.',
};

/** Returns the server's problem, or a problem of the page if the response is not from facematch. */
function problemOf({ status, statusText }: Response, text: string): ProblemResponse {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.detail === 'string') return problem;
  } catch {
    // The response is not JSON, so it is not from facematch.
  }
  return {
    status,
    code: 'no_problem_json',
    title: `HTTP ${status} ${statusText}`.trim(),
    detail: 'This response is not from facematch; a proxy may have sent it.',
  };
}

/**
 * Describes a failed connection. Browsers do not report the reason. If the photos exceed the limit, their size is
 * the probable reason, because the server closes the connection if a body exceeds its limit by far.
 */
function unreachable(photos: readonly Photo[], { message }: Error): ProblemResponse {
  const code = 'unreachable';
  const { max_body_bytes: limit_bytes } = settings.limits;
  if (photos.reduce((sum, { file }) => sum + (file?.size ?? 0), 0) > limit_bytes) {
    const detail = 'The server closed the connection before the photos were sent. Send smaller photos.';
    return { code, title: 'The photos are too large', detail, limit_bytes };
  }
  const detail = `Check that the server is running and that the photos were not moved or changed (browser error: ${message}).`;
  return { code, title: 'No response from the server', detail };
}
