// Express: a user uploads a selfie, and the server compares it with the photo on file.
//   FACEMATCH_KEY=… node server.mjs photos
// POST /users/ID/verify with a form that has the field `selfie`; the photo on file is photos/ID.jpg.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import express from 'express';

const { FACEMATCH_URL = 'http://127.0.0.1:8080', FACEMATCH_KEY = '', PORT = '3000' } = process.env;
const folder = process.argv[2] ?? 'photos';
const maxBytes = 10 * 1024 ** 2;

const app = express();

app.post('/users/:id/verify', async (request, response) => {
  if (!/^[\w-]{1,64}$/.test(request.params.id)) return response.status(404).json({ error: 'unknown user' });
  // Requires a Content-Length, because nothing else limits the memory for the form.
  const length = Number(request.headers['content-length']);
  if (!(length <= maxBytes)) return response.status(413).json({ error: 'send at most 10 MiB' });

  const reference = await readFile(join(folder, `${request.params.id}.jpg`)).catch(() => undefined);
  if (!reference) return response.status(404).json({ error: 'unknown user' });
  const selfie = await fileOf(request, 'selfie').catch(() => undefined);
  if (!selfie) return response.status(400).json({ error: 'send a form with the file "selfie"' });

  const form = new FormData();
  form.append('image1', new Blob([reference]), 'reference');
  form.append('image2', selfie, 'selfie');
  // Compares only the largest faces, so that an impostor cannot match by holding up the person's photo.
  form.append('auto_pair_best', 'false');
  // The key stays on this server; the browser never sees it.
  const upstream = await fetch(new URL('/API/v1.0/face/match/upload/advanced', FACEMATCH_URL), {
    method: 'POST',
    headers: { 'x-api-key': FACEMATCH_KEY },
    body: form,
    signal: AbortSignal.timeout(45_000),
  }).catch(() => undefined);
  if (!upstream) return response.status(503).json({ error: 'the face service is not reachable' });
  const result = await upstream.json();
  if (upstream.ok) {
    const advice = result.warnings.map(({ detail }) => detail);
    return response.json({ verified: result.match, advice });
  }
  // The user can send another photo after these statuses; all others concern this server.
  const isAboutImage = [413, 415, 422].includes(upstream.status);
  if (!isAboutImage) console.error(upstream.status, result.code, result.request_id);
  return response
    .status(isAboutImage ? 422 : 503)
    .json({ error: isAboutImage ? result.detail : 'please try again later' });
});

/** Returns the file of a form field. Rejects if there is none. */
async function fileOf(request, name) {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  const form = await new Response(Readable.toWeb(request), { headers }).formData();
  const file = form.get(name);
  if (!(file instanceof Blob)) throw new TypeError(`no file ${name}`);
  return file;
}

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`);
});
