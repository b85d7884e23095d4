// Check-in with a camera: the page takes three pictures, and this server compares them with the visitor's photos on file.
//   FACEMATCH_KEY=… node server.mjs visitors
// The photos of a visitor are visitors/NAME/*.jpg. The key needs the scope `match:person`. Browsers allow access to the
// camera on localhost and with HTTPS only. The program does not detect a photo held in front of the camera, so someone
// should watch.
import { openAsBlob } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';

const { FACEMATCH_URL = 'http://127.0.0.1:8080', FACEMATCH_KEY = '', PORT = '3000' } = process.env;
const folder = process.argv[2] ?? 'visitors';
const page = await readFile(new URL('index.html', import.meta.url));
const maxBytes = 4 * 1024 ** 2;

const server = createServer(async (request, response) => {
  const reply = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(body));
  };
  try {
    if (request.method === 'GET' && request.url === '/') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      return response.end(page);
    }
    if (request.method !== 'POST' || request.url !== '/check-in') return reply(404, { error: 'not found' });
    if (!(Number(request.headers['content-length']) <= maxBytes)) return reply(413, { error: 'too large' });
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    return reply(...(await checkIn(await new Response(Readable.toWeb(request), { headers }).formData())));
  } catch (error) {
    console.error(error);
    return reply(500, { error: 'please ask at the desk' });
  }
});

/** Returns status and body of the response to a form with the visitor's `name` and one to four `frame`s. */
async function checkIn(form) {
  const name = form.get('name');
  const frames = form.getAll('frame').filter((frame) => frame instanceof Blob);
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) return [422, { error: 'unknown visitor' }];
  const photos = (await readdir(join(folder, name)).catch(() => [])).filter((file) => /\.jpe?g$/i.test(file));
  if (photos.length === 0) return [422, { error: 'unknown visitor' }];

  const body = new FormData();
  for (const frame of frames.slice(0, 4)) body.append('image1', frame, 'frame');
  for (const photo of photos.slice(0, 16))
    body.append('image2', await openAsBlob(join(folder, name, photo)), photo);
  const response = await fetch(new URL('/API/v1.0/face/match/upload/person', FACEMATCH_URL), {
    method: 'POST',
    headers: { 'x-api-key': FACEMATCH_KEY },
    body,
    signal: AbortSignal.timeout(45_000),
  });
  const result = await response.json();
  if (response.ok) return [200, { welcome: result.match }];
  if (response.status !== 422) throw new Error(`${response.status} ${result.code} ${result.request_id}`);
  return [422, { error: result.detail }];
}

server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
