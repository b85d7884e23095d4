// The two requests to facematch: an image → an embedding, and embeddings → percents.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const mostAttempts = 4;
const brokenOff = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A server and a key with the scopes `embed` and `match:embeddings`: from the environment. */
export function serverFromEnvironment() {
  const { FACEMATCH_URL: url = 'http://127.0.0.1:8080', FACEMATCH_KEY: key } = process.env;
  if (!key) throw new Error('put your API key into FACEMATCH_KEY');
  return { url, key };
}

/**
 * Of the largest face, and how many there are. Throws a Refusal, such as no_face_found or, where `reject_low_quality` is set,
 * low_quality_face.
 */
export async function embed(server, file, { reject_low_quality = false } = {}) {
  const form = new FormData();
  form.set('image', new Blob([await readFile(file)]), basename(file));
  form.set('face_index', '0');
  form.set('reject_low_quality', String(reject_low_quality));
  const { image, embedding } = await post(server, 'face/embed/upload', form);
  const { pack, version, accuracy_mode } = embedding;
  return {
    face: { pack, version, accuracy_mode, embedding: image.faces[0].embedding },
    faces: image.faces.length,
  };
}

/**
 * The answer of match/embeddings. `probe` and candidates have `embeddings`, a list for each person. `searched`: among how many people the
 * candidates were found. Throws a Refusal where the probe's photos disagree.
 */
export async function judge(server, probe, candidates, { searched, threshold_percent = 70 } = {}) {
  const body = { ...probe, candidates, searched, threshold_percent };
  return post(server, 'face/match/embeddings', JSON.stringify(body), { 'content-type': 'application/json' });
}

/** Of the image, or of photos that are not of one person: others may do. */
export class Refusal extends Error {}

async function post(server, path, body, headers = {}) {
  const response = await send(`${server.url}/API/v1.0/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, ...headers },
    body,
  });
  const answer = await response.json();
  if (!response.ok) {
    const Kind = [413, 415, 422].includes(response.status) ? Refusal : Error;
    throw new Kind(`${response.status} ${answer.code}: ${answer.detail}`);
  }
  return answer;
}

/** Waits where the server asks to. A connection that lay idle may be closed just when it is used again. */
async function send(url, init) {
  for (let attempt = 1; ; attempt++) {
    const last = attempt === mostAttempts;
    let wait_s = 0;
    try {
      const response = await fetch(url, init);
      if (last || (response.status !== 429 && response.status !== 503)) return response;
      await response.body.cancel();
      wait_s = Number(response.headers.get('retry-after')) + Math.random();
    } catch (error) {
      if (last || !brokenOff.has(error.cause?.code)) throw error;
    }
    await sleep(1000 * wait_s);
  }
}
