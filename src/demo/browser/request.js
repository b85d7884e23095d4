import { settings } from './settings.js';

/** @typedef {import('./types.ts').Fields} Fields */
/** @typedef {import('./types.ts').Plan} Plan */
/** @typedef {import('./types.ts').Problem} Problem */

/**
 * Which endpoint to ask, and with what: the basic one as long as everything is as it does by default, so that a key for
 * it is enough. `refused` are those that the key may not use. undefined when no match endpoint is switched on.
 * @param {Fields} fields
 * @param {ReadonlySet<string>} refused
 * @returns {Plan | undefined}
 */
export function planOf(fields, refused) {
  const { threshold_percent: _, ...special } = fields;
  const order = /** @type {const} */ (['match', 'match_advanced']);
  const able = Object.keys(special).length > 0 ? order.slice(1) : order;
  const open = able.filter((endpoint) => settings.paths[endpoint] !== undefined);
  const endpoint = open.find((candidate) => !refused.has(candidate)) ?? open[0];
  return endpoint && { endpoint, path: settings.paths[endpoint] ?? '', fields };
}

/**
 * Sends the photos as they are. Never rejects: whatever happens is an answer or a problem.
 * @param {Plan} plan
 * @param {string} key
 * @param {readonly { name: string, file: File | undefined }[]} photos
 * @param {AbortSignal} signal
 * @returns {Promise<import('./types.ts').Outcome>}
 */
export async function send({ path, fields }, key, photos, signal) {
  const body = new FormData();
  for (const { name, file } of photos) if (file !== undefined) body.append(name, file, file.name);
  for (const [name, text] of Object.entries(fields)) body.append(name, text);
  const headers = headersOf(key);
  if (headers === undefined) return { problem: unsendableKey, retry_after_s: undefined };
  const started = performance.now();
  try {
    const response = await fetch(path, { method: 'POST', headers, body, signal });
    const text = await response.text();
    const round_trip_ms = performance.now() - started;
    if (response.ok) return { answer: JSON.parse(text), round_trip_ms };
    const wait = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
    return { problem: problemOf(response, text), retry_after_s: Number.isNaN(wait) ? undefined : wait };
  } catch (error) {
    const left = signal.aborted ? cancelled : unreachable(photos, /** @type {Error} */ (error));
    return { problem: left, retry_after_s: undefined };
  }
}

/** RFC 9110 section 5.5: a header carries no line breaks, and fetch nothing beyond Latin-1. @param {string} key */
function headersOf(key) {
  try {
    return new Headers(key === '' ? {} : { 'x-api-key': key });
  } catch {
    return undefined;
  }
}

/** @type {Problem} */
const unsendableKey = {
  code: 'invalid_api_key',
  title: 'The API key is not valid',
  detail: 'The key has a character that no key can have. Copy it again.',
};

/** @type {Problem} */
const cancelled = { code: 'cancelled', title: 'Cancelled', detail: 'The request was taken back.' };

/**
 * In the server's words; a proxy in front of it may have others.
 * @param {Response} response
 * @param {string} text
 * @returns {Problem}
 */
function problemOf({ status, statusText }, text) {
  try {
    const problem = JSON.parse(text);
    if (typeof problem.detail === 'string') return problem;
  } catch {
    // Not JSON, so not from this service.
  }
  const title = `HTTP ${status} ${statusText}`.trim();
  return {
    status,
    code: 'no_problem_json',
    title,
    detail: 'This answer is not of facematch: something between may have sent it.',
  };
}

/**
 * A browser does not say why; a body far beyond the server's limit is the likeliest cause, for it hangs up on that.
 * @param {readonly { file: File | undefined }[]} photos
 * @param {Error} error
 * @returns {Problem}
 */
function unreachable(photos, { message }) {
  const bytes = photos.reduce((sum, { file }) => sum + (file?.size ?? 0), 0);
  const { max_body_bytes } = settings.limits;
  const tooLarge = bytes > max_body_bytes;
  return {
    code: 'unreachable',
    title: tooLarge ? 'The photos are too large' : 'No answer from the server',
    detail: tooLarge
      ? 'The server hung up before they were sent. Send smaller photos.'
      : `Check that the server runs and the photos are still where they were (the browser says: ${message}).`,
    ...(tooLarge ? { limit_bytes: max_body_bytes } : {}),
  };
}
