#!/usr/bin/env node
// Do two photos show the same person?
//   FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… node match-fetch.mjs ONE.jpg TWO.jpg
// Exit codes: 0 a match, 1 no match, 2 an error. Needs Node 20 and no package.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** @import { MatchAnswer, MatchFields, Problem } from 'facematch/client-types' */

const maxAttempts = 4;
/** A longer Retry-After is not worth waiting for here: give up instead of coming too early. */
const longestWait_s = 60;
const timeout_ms = 60_000;

/** Of errors of a connection that ended before the answer, or was refused. Sending the request again does no harm. */
const worthRetrying = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'UND_ERR_SOCKET']);

/**
 * @param {MatchFields<string>} files paths of the pictures, and other fields
 * @param {{ url: string, key: string }} server
 * @returns {Promise<MatchAnswer>}
 */
async function match({ image1, image2, ...fields }, { url, key }) {
  const form = new FormData();
  form.set('image1', new Blob([await readFile(image1)]), basename(image1));
  form.set('image2', new Blob([await readFile(image2)]), basename(image2));
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value));

  for (let attempt = 1; ; attempt++) {
    let retryAfter_s = 0; // not told
    let reason = '';
    try {
      const response = await fetch(`${url}/API/v1.0/face/match/upload`, {
        method: 'POST',
        headers: { 'x-api-key': key },
        body: form,
        signal: AbortSignal.timeout(timeout_ms),
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      reason = explain(response.status, text);
      if (response.status !== 429 && response.status !== 503) throw new Error(reason);
      retryAfter_s = Number(response.headers.get('retry-after')) || 0;
    } catch (error) {
      // fetch says "fetch failed" and keeps what happened in its cause.
      if (!worthRetrying.has(error.cause?.code)) throw error.cause ?? error;
      reason = error.cause.message;
    }
    if (attempt === maxAttempts) throw new Error(`${reason}; gave up after ${attempt} attempts`);
    if (retryAfter_s > longestWait_s) throw new Error(`${reason}; it asks to wait ${retryAfter_s} s`);
    // What the server asks for, else half a second and twice as much each time; and up to a second more, so that those
    // who were refused together do not come again together.
    const wait_ms = Math.round(1000 * ((retryAfter_s || 2 ** attempt / 4) + Math.random()));
    console.error(`${reason}; waiting ${wait_ms} ms`);
    await sleep(wait_ms);
  }
}

/**
 * @param {number} status
 * @param {string} text a Problem as JSON, or whatever a proxy on the way says
 */
function explain(status, text) {
  try {
    /** @type {Problem} */
    const { code, detail, request_id } = JSON.parse(text);
    return `${status} ${code}: ${detail} (request_id ${request_id})`;
  } catch {
    return `${status}: ${text.slice(0, 200)}`;
  }
}

try {
  const { FACEMATCH_URL: url = 'http://127.0.0.1:8080', FACEMATCH_KEY: key } = process.env;
  const [image1, image2, ...rest] = process.argv.slice(2);
  if (!image1 || !image2 || rest.length > 0) throw new Error('usage: match-fetch.mjs IMAGE1 IMAGE2');
  if (!key) throw new Error('put your API key into FACEMATCH_KEY');
  const answer = await match({ image1, image2 }, { url, key });
  const verdict = answer.match ? 'match' : 'no match';
  console.log(`${verdict}: ${answer.confidence_percent} % (the threshold is ${answer.threshold_percent} %)`);
  for (const { detail } of answer.warnings) console.log(`warning: ${detail}`);
  process.exitCode = answer.match ? 0 : 1;
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 2;
}
