// The server that every peer stands behind: fastify, its multipart plugin, and a pool of worker threads. It answers the
// same request as facematch does, with one difference in the peers' favour: of several faces in a picture only the largest
// is compared.
import { timingSafeEqual } from 'node:crypto';
import { parseArgs } from 'node:util';
import multipart from '@fastify/multipart';
import fastify from 'fastify';
import { Piscina } from 'piscina';
import { Fifo } from './fifo.mjs';

const { values: options } = parseArgs({
  options: { workers: { type: 'string' }, key: { type: 'string' }, variant: { type: 'string' } },
});

/**
 * Serves until it is told to end. The worker's default export takes { bytes, mode } and answers { embedding }, or {} when
 * there is no face. `compare(a, b)` answers { match, similarity }; `tasksPerWorker` is how many pictures a worker has at once.
 */
export async function serve({ worker, workerData = {}, tasksPerWorker, compare }) {
  const workers = Number(options.workers);
  const pool = new Piscina({
    filename: worker.href,
    workerData: { ...workerData, variant: options.variant },
    minThreads: workers,
    maxThreads: workers,
    concurrentTasksPerWorker: tasksPerWorker,
    idleTimeout: Number.POSITIVE_INFINITY,
  });
  const queue = new Fifo(workers * tasksPerWorker, (task) => pool.run(task));

  const app = fastify({ bodyLimit: 20 * 2 ** 20 });
  await app.register(multipart, { limits: { fileSize: 10 * 2 ** 20, parts: 16 } });
  const key = Buffer.from(options.key);
  app.addHook('onRequest', async (request, reply) => {
    const given = Buffer.from(request.headers['x-api-key'] ?? '');
    if (given.length === key.length && timingSafeEqual(given, key)) return;
    return reply.code(401).send({ code: 'invalid_api_key' });
  });
  app.post('/API/v1.0/face/match/upload/advanced', async (request, reply) => {
    const form = {};
    for await (const part of request.parts()) {
      form[part.fieldname] = part.type === 'file' ? await part.toBuffer() : part.value;
    }
    const { image1, image2, accuracy_mode: mode = 'balance' } = form;
    if (!image1 || !image2) return reply.code(400).send({ code: 'missing_field' });
    const [first, second] = await Promise.all([image1, image2].map((bytes) => queue.push({ bytes, mode })));
    if (!first.embedding || !second.embedding) return reply.code(422).send({ code: 'no_face_found' });
    return compare(first.embedding, second.embedding);
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  process.on('SIGTERM', () => process.exit(0));
  console.log(JSON.stringify({ address }));
}
