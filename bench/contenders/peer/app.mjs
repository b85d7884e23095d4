// What every peer answers with: fastify and its multipart plugin. It answers the same request as facematch does, with one
// difference in the peers' favour: of several faces in a picture only the largest is compared.
import { timingSafeEqual } from 'node:crypto';
import { parseArgs } from 'node:util';
import multipart from '@fastify/multipart';
import fastify from 'fastify';

const { values } = parseArgs({
  options: { workers: { type: 'string' }, key: { type: 'string' }, variant: { type: 'string' } },
});

/** What the bench asks for on the command line. */
export const asked = { workers: Number(values.workers), key: values.key, variant: values.variant };

/**
 * Listens on a free port and answers its address. `recognise({ bytes, mode })` answers { embedding }, or {} when there is
 * no face; `compare(a, b)` answers { match, similarity }.
 */
export async function listen({ recognise, compare }) {
  const app = fastify({ bodyLimit: 20 * 2 ** 20 });
  await app.register(multipart, { limits: { fileSize: 10 * 2 ** 20, parts: 16 } });
  const key = Buffer.from(asked.key);
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
    const [first, second] = await Promise.all([image1, image2].map((bytes) => recognise({ bytes, mode })));
    if (!first.embedding || !second.embedding) return reply.code(422).send({ code: 'no_face_found' });
    return compare(first.embedding, second.embedding);
  });
  return app.listen({ host: '127.0.0.1', port: 0 });
}

/** Tells the bench where to send its requests. From then on it may end this process at any time. */
export function announce(address) {
  process.on('SIGTERM', () => process.exit(0));
  console.log(JSON.stringify({ address }));
}
