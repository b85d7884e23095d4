// Serves the page and calls facematch, so that the API key and the reference photo never reach the browser.
//   FACEMATCH_URL=http://127.0.0.1:8080 FACEMATCH_KEY=… node server.mjs REFERENCE.jpg
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { env } from 'node:process';

const { FACEMATCH_URL = 'http://127.0.0.1:8080', FACEMATCH_KEY = '', PORT = '8000' } = env;
const reference = process.argv[2];
if (reference === undefined || FACEMATCH_KEY === '') {
  console.error('usage: FACEMATCH_URL=… FACEMATCH_KEY=… node server.mjs REFERENCE.jpg');
  process.exit(2);
}
const photo = await readFile(reference);
const page = await readFile(new URL('index.html', import.meta.url));

/** Maximum body size. Sixteen frames of 480 pixels have about 500 KB. */
const maxBody_bytes = 4 * 1024 * 1024;

const ask = (path, body) =>
  fetch(`${FACEMATCH_URL}/API/v1.0/face/match/${path}`, {
    method: 'POST',
    headers: { 'x-api-key': FACEMATCH_KEY },
    body,
  });

/** Sends the page's form to facematch, with the reference photo. */
async function check(request) {
  const sent = new Response(await bodyOf(request), {
    headers: { 'content-type': request.headers['content-type'] ?? '' },
  });
  const form = new FormData();
  for (const [name, value] of await sent.formData())
    if (name === 'challenge' || name === 'frame') form.append(name, value);
  form.append('image2', new Blob([photo]), basename(reference));
  return ask('upload/live', form);
}

async function bodyOf(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBody_bytes) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /') return response.setHeader('content-type', 'text/html; charset=utf-8').end(page);
  if (route !== 'POST /challenge' && route !== 'POST /check') return response.writeHead(404).end();
  try {
    const reply = route === 'POST /challenge' ? await ask('challenge') : await check(request);
    const body = await reply.json();
    // The response omits faces and scores, which the page does not show.
    const { challenge, steps, frames, verified, live, live_reasons, detail } = body;
    const shown =
      route === 'POST /challenge' ? { challenge, steps, frames } : { verified, live, live_reasons };
    response.writeHead(reply.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply.ok ? shown : { detail }));
  } catch (error) {
    console.error(error.message);
    response.writeHead(502, { 'content-type': 'application/json' }).end('{"detail":"Try again later."}');
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
