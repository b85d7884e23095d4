// The server of a peer: fastify with its multipart plugin. Unlike facematch, it compares only one face of each image,
// which makes the peers faster.
//   node server.mjs --peer NAME --workers N --key KEY
import cluster from 'node:cluster';
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { Piscina } from 'piscina';

const text = { type: 'string' };
const { values } = parseArgs({ options: { peer: text, workers: text, key: text } });
const workers = Number(values.workers);

function byCosine(a, b) {
  let similarity = 0;
  for (let i = 0; i < a.length; i++) similarity += a[i] * b[i];
  // About one in a thousand non-mated pairs exceeds this threshold.
  return { match: similarity >= 0.35, similarity };
}

const distance = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));

/** Compares as face-api's documentation recommends. */
function byDistance(a, b) {
  return { match: distance(a, b) <= 0.6, similarity: 1 - distance(a, b) };
}

/** Compares like human's `match.similarity` with default options, without loading the library in this thread. */
function byHuman(a, b) {
  const root = Math.sqrt(25) * distance(a, b);
  const similarity = Math.min(1, Math.max(0, (1 - root / 100 - 0.2) / 0.6));
  return { match: similarity >= 0.5, similarity };
}

const here = (file) => new URL(file, import.meta.url).href;

/**
 * `worker` is a module whose default export maps { bytes } to { embedding }, or to {} without a face. `tasks` is the
 * number of images per worker at the same time, so that decoding on libuv's threads overlaps inference. opencv4nodejs
 * needs `processes`, because it crashes if a second thread loads it.
 */
const peers = {
  'do-it-yourself': { worker: 'nets.mjs', pixels: 'pixels.mjs', tasks: 3, compare: byCosine },
  opencv4nodejs: { pixels: 'opencv-pixels.mjs', processes: true, tasks: 3, compare: byCosine },
  'face-api-ssd': { worker: 'face-api.mjs', tasks: 1, compare: byDistance },
  human: { worker: 'human.mjs', tasks: 1, compare: byHuman },
};

/**
 * Returns a function that queues tasks in FIFO order and runs at most `slots` at once. piscina's own queue is not fair:
 * version 5.3.2 moves the first task to the end if no worker is free.
 */
function queued(slots, run) {
  let free = slots;
  const waiting = [];
  const next = () => {
    if (free === 0 || waiting.length === 0) return;
    const { task, resolve, reject } = waiting.shift();
    free -= 1;
    run(task)
      .then(resolve, reject)
      .finally(() => {
        free += 1;
        next();
      });
  };
  return (task) =>
    new Promise((resolve, reject) => {
      waiting.push({ task, resolve, reject });
      next();
    });
}

/** Listens on a free port, and resolves to its URL. */
async function listen(recognise, compare) {
  const app = fastify({ bodyLimit: 20 * 2 ** 20 });
  await app.register(multipart, { limits: { fileSize: 10 * 2 ** 20, parts: 16 } });
  const key = Buffer.from(values.key);
  app.addHook('onRequest', async (request, reply) => {
    const given = Buffer.from(request.headers['x-api-key'] ?? '');
    if (given.length === key.length && timingSafeEqual(given, key)) return;
    return reply.code(401).send({ code: 'invalid_api_key' });
  });
  app.post('/API/v1.0/face/match/upload/advanced', async (request, reply) => {
    const form = {};
    for await (const part of request.parts())
      form[part.fieldname] = part.type === 'file' ? await part.toBuffer() : part.value;
    const { image1, image2 } = form;
    if (!image1 || !image2) return reply.code(400).send({ code: 'missing_field' });
    const [first, second] = await Promise.all([image1, image2].map((bytes) => recognise({ bytes })));
    if (!first.embedding || !second.embedding) return reply.code(422).send({ code: 'no_face_found' });
    return compare(first.embedding, second.embedding);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}

function announce(origin) {
  process.on('SIGTERM', () => process.exit(0));
  console.log(JSON.stringify({ origin }));
}

const { worker, pixels, processes, tasks, compare } = peers[values.peer];
if (!processes) {
  const pool = new Piscina({
    filename: here(worker),
    workerData: { pixels: pixels && here(pixels) },
    minThreads: workers,
    maxThreads: workers,
    concurrentTasksPerWorker: tasks,
    idleTimeout: Number.POSITIVE_INFINITY,
  });
  announce(
    await listen(
      queued(workers * tasks, (task) => pool.run(task)),
      compare,
    ),
  );
} else if (cluster.isPrimary) {
  const all = Array.from({ length: workers }, () => cluster.fork());
  // Ends the measurement if a process dies, because its result would be wrong.
  cluster.on('exit', () => process.exit(1));
  const [[{ port }]] = await Promise.all(all.map((one) => once(one, 'listening')));
  announce(`http://127.0.0.1:${port}`);
} else {
  const { recogniser } = await import('./nets.mjs');
  await listen(queued(tasks, await recogniser(await import(here(pixels)))), compare);
}
