import { once } from 'node:events';
import sharp, { type Sharp } from 'sharp';
import { afterAll, expect, test } from 'vitest';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import type { Success } from '../../src/endpoints/endpoint.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { packDirectory, readCalibratedManifest } from '../../src/engine/manifest.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { requestOf } from '../../src/site/code-samples.ts';
import { openApiDocument } from '../../src/site/document.ts';
import { blank, manyScans, samples } from '../fixtures/images.ts';
import { livenessNet, livePack } from '../fixtures/packs.ts';
import { ResponseValidator } from '../fixtures/response-validator.ts';
import { newFolder } from '../support/folder.ts';
import { cutOuts } from '../support/portraits.mjs';
import { posesOf, sitter, turnedFrames } from '../support/turned-head.mjs';
import {
  expectProblem,
  type Fields,
  type Json,
  paths,
  RawClient,
  type TestResponse,
  twoPhotos,
} from './support/client.ts';
import { recordExamples } from './support/examples.ts';
import { Home, TestServer } from './support/server.ts';

/**
 * Sends one request to a real port for every endpoint except the documents, and for every row of the error table.
 * The OpenAPI document must describe each response, including headers. `npm run docs` records the document's
 * examples from these responses. Other tests cover the details.
 */

const home = new Home();
const basicOnly = home.key({ scopes: ['match:basic'] });
const limitedKey = home.key({ rate: 1, burst: 1 });
const env = {
  FACEMATCH_QUEUE_CAPACITY: '0',
  FACEMATCH_DEADLINE_MS: '4000',
  FACEMATCH_UPLOAD_TIMEOUT_MS: '2000',
  FACEMATCH_ENDPOINTS: 'match,match_advanced,match_many,match_person,match_embeddings,models,openapi',
};
const server = await TestServer.forFile({ env, gate: 'open' }, home);
const { gate } = server;
/** A server with one endpoint. The gate keeps it from being ready until the test that stops it. */
const startingServer = await TestServer.forFile({
  env: { FACEMATCH_ENDPOINTS: 'match' },
  gate: 'closed',
  until: 'listening',
});

const photos = (fields: Fields = {}) => server.match({ ...twoPhotos(), ...fields });
const busy = (workers: number) => server.metricBecomes('facematch_workers_busy', workers);

const { version } = readCalibratedManifest(packDirectory('default'));
const packOf = { pack: 'default', version, accuracy_mode: 'fast' };
const emptyEmbeddings = { embedding: '', candidates: [{ id: 'a', embedding: '' }], ...packOf };

/** Runs `act` while the only worker waits at the addon's gate. */
async function whileBusy<T>(act: (running: Promise<TestResponse>) => Promise<T>): Promise<T> {
  gate.close();
  const running = photos();
  await busy(1);
  const result = await act(running);
  gate.open();
  await running;
  await busy(0);
  return result;
}

const [person, samePerson, otherPerson] = (await Promise.all(
  (cutOuts() as Sharp[]).slice(0, 3).map((face) => face.jpeg().toBuffer()),
)) as [Buffer, Buffer, Buffer];

interface Row {
  when: string;
  /** Method and path of the request; POST to the basic endpoint by default. */
  at?: readonly [method: string, path: string];
  ask?: () => Promise<TestResponse>;
  members?: object;
  headers?: Record<string, string | RegExp>;
  /** Further members of the log line. */
  logged?: { field?: string; reason?: string };
}

const scored = { face_index: expect.any(Number), live_score: 0.333 };
const errors: Record<ErrorCode, Row> = {
  invalid_multipart: {
    when: 'the form ends early',
    ask: () =>
      server.send({ body: '--b\r\n', headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
    logged: { reason: 'truncated' },
  },
  invalid_json: {
    when: 'the JSON body ends early',
    at: ['POST', paths.embeddings],
    ask: () => server.postJson(paths.embeddings, '{"pack": "default"'),
    members: { position: 18 },
  },
  missing_field: {
    when: 'image2 is missing',
    ask: () => server.match({ image1: samples.one }),
    members: { field: 'image2' },
  },
  invalid_field: {
    when: 'a value is out of range',
    ask: () => photos({ threshold_percent: '101' }),
    members: { field: 'threshold_percent', expected: expect.stringMatching(/0.*100/) },
  },
  too_many_images: {
    when: 'more than 16 images are sent as image2',
    at: ['POST', paths.many],
    ask: () => server.match({ image1: person, image2: Array(17).fill(person) }, { path: paths.many }),
    members: { limit: 16 },
  },
  photos_disagree: {
    when: 'two photos of a side show two people',
    at: ['POST', paths.person],
    ask: () => server.match({ image1: samples.one, image2: [person, otherPerson] }, { path: paths.person }),
    members: {
      errors: [0, 1].map((index) => ({ field: 'image2', index, agreement_percent: expect.any(Number) })),
    },
  },
  unknown_file: {
    when: 'a file is sent under an unknown field name',
    ask: () => photos({ 'image2[]': otherPerson }),
    members: { field: 'image2[]' },
  },
  invalid_challenge: {
    when: 'a challenge was not issued by the server',
    at: ['POST', paths.live],
    ask: () =>
      liveServer.match(
        { challenge: 'AAAA', frame: Array(6).fill(person), image2: person },
        { path: paths.live },
      ),
    members: { reason: 'malformed' },
  },
  duplicate_field: {
    when: 'a field is sent twice',
    ask: () => photos({ threshold_percent: ['70', '70'] }),
    members: { field: 'threshold_percent' },
  },
  missing_api_key: {
    when: 'no key is sent',
    ask: () => server.send({ key: null }),
    headers: { 'www-authenticate': 'ApiKey, Bearer' },
  },
  invalid_api_key: {
    when: 'the key is unknown',
    ask: () => server.send({ key: 'fm_unknown_key' }),
    headers: { 'www-authenticate': 'ApiKey, Bearer' },
  },
  forbidden_scope: {
    when: 'the key may not use the endpoint',
    at: ['POST', paths.advanced],
    ask: () => server.send({ path: paths.advanced, key: basicOnly }),
    members: { required_scope: 'match:advanced' },
  },
  not_found: {
    when: 'the path is unknown',
    at: ['GET', '/api/v1.0/models'],
    ask: () => startingServer.send({ method: 'GET', path: '/api/v1.0/models' }),
    members: { detail: expect.stringMatching(/^All .* \/API\/v1\.0.*POST .*upload/) },
  },
  endpoint_disabled: { when: 'the endpoint is disabled', at: ['GET', '/API/v1.0/docs'] },
  method_not_allowed: {
    when: 'the path does not support the method',
    at: ['GET', paths.match],
    headers: { allow: 'POST' },
  },
  upload_timeout: { when: 'no body arrives in time', ask: () => server.sendRaw(server.lengthHeaders(1000)) },
  expectation_failed: {
    when: 'the Expect header has an unknown value',
    // fetch rejects this header, so it is sent by a raw socket.
    ask: () => server.sendRaw(server.requestHeaders({ expect: 'wings' })),
  },
  body_too_large: {
    when: 'Content-Length exceeds 20 MiB',
    ask: () => server.sendRaw(server.lengthHeaders(20 * 1024 * 1024 + 1)),
    members: { limit_bytes: 20 * 1024 * 1024 },
  },
  image_too_large: {
    when: 'an image exceeds 10 MiB',
    ask: () => photos({ image2: new Uint8Array(10 * 1024 * 1024 + 1) }),
    members: { field: 'image2', limit_bytes: 10 * 1024 * 1024 },
  },
  unsupported_media_type: {
    when: 'the body is text/plain',
    ask: () => server.send({ body: '{}', headers: { 'content-type': 'text/plain' } }),
  },
  unsupported_image_format: {
    when: 'an image is a GIF',
    ask: async () => photos({ image1: await blank(20, 20, 'gif') }),
    members: { field: 'image1', detected: 'gif' },
    logged: { field: 'image1', reason: 'gif' },
  },
  image_decode_failed: {
    when: 'an image is truncated',
    ask: () => photos({ image2: samples.one.subarray(0, 9000) }),
    members: { field: 'image2' },
    logged: { field: 'image2', reason: 'Corrupt JPEG data: premature end of data segment' },
  },
  image_dimensions: {
    when: 'a side has 15 pixels',
    ask: async () => photos({ image1: await blank(15, 40, 'png') }),
    members: { field: 'image1', width: 15, height: 40, limit_pixels: 64_000_000 },
    logged: { field: 'image1', reason: '15 × 40 pixels' },
  },
  image_too_complex: {
    when: 'reading the scans of a JPEG exceeds the time limit of an image',
    at: ['POST', paths.detect],
    ask: async () => {
      const hurried = await TestServer.forTest({ env: { FACEMATCH_IMAGE_TIMEOUT_MS: '5' } });
      return hurried.match({ image: await manyScans(1000) }, { path: paths.detect });
    },
    members: { field: 'image' },
  },
  no_face_found: {
    when: 'neither image has a face',
    ask: async () => photos({ image1: await blank(90, 90, 'png'), image2: await blank(90, 90, 'jpeg') }),
    members: { errors: ['image1', 'image2'].map((field) => ({ field, code: 'no_face_found' })) },
    logged: { field: 'image1, image2' },
  },
  face_index_out_of_range: {
    when: 'a face index is 3 and the image has three faces',
    at: ['POST', paths.advanced],
    ask: () => server.match({ ...twoPhotos(), image1_face_index: '3' }, { path: paths.advanced }),
    members: { field: 'image1', faces_found: 3, detail: expect.stringMatching(/there is no face 3\.$/) },
  },
  low_quality_face: {
    when: 'a face has 20 pixels and low-quality faces are rejected',
    at: ['POST', paths.advanced],
    ask: async () => {
      const image1 = await sharp(samples.one).resize({ width: 160 }).png().toBuffer();
      const fields = { image1, image2: samples.three, reject_low_quality: 'true' };
      return server.match(fields, { path: paths.advanced });
    },
    members: { errors: [{ field: 'image1', reasons: expect.arrayContaining(['small']) }] },
  },
  presentation_attack: {
    when: "a face's live score is below the threshold",
    at: ['POST', paths.advanced],
    ask: async () => {
      const none = [0, 0, 0] as const;
      const net = livenessNet([none, none, none]);
      const FACEMATCH_PACK = livePack(newFolder(), [{ net, scale: 2.7 }]);
      const own = await TestServer.forTest({ env: { FACEMATCH_PACK } });
      const fields = { ...twoPhotos(), reject_presentation_attack: 'true' };
      return own.match(fields, { path: paths.advanced });
    },
    members: { errors: ['image1', 'image2'].map((field) => ({ ...scored, field })) },
  },
  embedding_mismatch: {
    when: 'the embeddings come from another pack',
    at: ['POST', paths.embeddings],
    ask: () => server.postJson(paths.embeddings, { ...emptyEmbeddings, pack: 'yunet' }),
    members: { given: `yunet ${version}` },
  },
  invalid_embedding: {
    when: 'an embedding is empty',
    at: ['POST', paths.embeddings],
    ask: () => server.postJson(paths.embeddings, emptyEmbeddings),
    members: { field: '/embedding' },
  },
  rate_limit_exceeded: {
    when: 'a key exceeds its rate',
    at: ['GET', paths.models],
    ask: async () => {
      await server.getModels({ key: limitedKey });
      return server.getModels({ key: limitedKey });
    },
    members: { detail: 'Wait 1 s, then send again.' },
    headers: { 'retry-after': '1', ratelimit: /r=0/, 'ratelimit-policy': /q=1/ },
  },
  overloaded: {
    when: 'the worker is busy and the queue capacity is 0',
    ask: () => whileBusy(() => photos()),
    headers: { 'retry-after': '1' },
  },
  deadline_exceeded: { when: 'no worker responds in time', ask: () => whileBusy((running) => running) },
  internal_error: {
    when: 'the worker dies',
    ask: () =>
      whileBusy((running) => {
        server.child.kill('SIGUSR2');
        return running;
      }),
  },
  not_ready: {
    when: 'the first inference has not finished',
    ask: () => startingServer.match(twoPhotos()),
    headers: { 'retry-after': '1' },
  },
  shutting_down: {
    when: 'the server is shutting down',
    ask: async () => {
      const ending = startingServer;
      ending.gate.open();
      await ending.line(ending.stdout, /listens on/);
      ending.gate.close();
      const running = ending.match(twoPhotos());
      await ending.metricBecomes('facematch_workers_busy', 1);
      // Connects before the shutdown, because the server then accepts no new connections.
      const kept = new RawClient(ending.port);
      await once(kept.socket, 'connect');
      await ending.metricBecomes('facematch_connections', 2);
      ending.child.kill('SIGTERM');
      await ending.line(ending.stderr, /shutting down/);
      kept.write(ending.lengthHeaders(1000));
      const response = await kept.response();
      ending.gate.open();
      await running;
      return response;
    },
    headers: { 'retry-after': '5', connection: 'close' },
  },
};

const responseValidator = new ResponseValidator(
  openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') })),
);

const frames: Buffer[] = await turnedFrames(posesOf(['left']).slice(0, 6));
/** Files by their name in the documented requests. */
const files: Readonly<Record<string, Buffer | undefined>> = {
  ...Object.fromEntries(frames.map((frame, i) => [`frame${i}.jpg`, frame])),
  'reference.jpg': await sitter()!.jpeg().toBuffer(),
  'frame.jpg': person,
  'one.jpg': person,
  'two.jpg': samePerson,
  'three.jpg': Buffer.from('Notes of the meeting'),
};
const liveServer = await TestServer.forFile({
  env: { FACEMATCH_ENDPOINTS: endpointIds.join(','), FACEMATCH_CHALLENGE_STEPS: '1' },
});
const examples = new Map<string, Json>();
afterAll(() => recordExamples(examples));

/** Returns a challenge with the step that the frames show. */
async function challenge(): Promise<string> {
  for (;;) {
    const { body } = await liveServer.send({ path: paths.challenge });
    if (body.steps.join() === 'left') return body.challenge;
  }
}

const responding = endpoints.flatMap((one) => ('success' in one ? [one] : []));
test.each(responding)('responds to the documented request: $id', async (endpoint) => {
  const { method, path, success }: { method: string; path: string; success: Success } = endpoint;
  const { parts, json } = requestOf(endpoint);
  const form = new FormData();
  for (const { name, isFile, value } of parts)
    if (isFile) form.append(name, new Blob([new Uint8Array(files[value]!)]), value);
    else form.append(name, value === 'CHALLENGE' ? await challenge() : value);
  const ask = async () => {
    if (json === undefined) return liveServer.send({ method, path, ...(parts.length > 0 && { body: form }) });
    return liveServer.postJson(path, await liveServer.embeddingsRequest(person));
  };
  const response = await ask();
  expect(response.status).toBe(success.status ?? 200);
  expect(responseValidator.violationsOf(method, path, response)).toEqual([]);
  if (!examples.has(success.name)) examples.set(success.name, response.body);
});

const rows = Object.entries(errors).map(([code, row]) => ({ code: code as ErrorCode, ...row }));
test.each(rows)('responds with $code: $when', async ({ code, at, ask, members, headers = {}, logged }) => {
  const [method, path] = at ?? ['POST', paths.match];
  const response = await (ask?.() ?? server.send({ method, path }));
  expect(responseValidator.violationsOf(method, path, response)).toEqual([]);
  expectProblem(response, code, members);
  examples.set(code, response.body);
  for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toMatch(value);
  if (logged === undefined) return;
  expect(JSON.stringify(response.body)).not.toContain('reason');
  const { field, reason } = await server.logged(response.body.request_id);
  expect({ field, reason }).toEqual(logged);
});
