import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import type { WorkerJobs } from '../../../src/endpoints/worker-jobs.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import type { Pool as PoolClass } from '../../../src/engine/pool.ts';
import { analyseOptions, blank, manifest, pack, samples } from '../../fixtures/images.ts';
import { expectProblem, RawClient, type TestResponse, twoPhotos } from '../../server/support/client.ts';
import { Home, pause, readiness, TestServer } from '../../server/support/server.ts';

/** Tests busy workers and crashed workers. The gate makes workers wait in the addon as long as a test needs. */

const home = new Home();
/** A key whose only token is used by its first request. */
const limitedKey = home.key({ rate: 0.001, burst: 1 });
const thriftyKey = home.key({ rate: 0.001, burst: 6 });
const maxBody = 3_000_000;
const dieFile = join(home.folder, 'die');
const env = {
  FACEMATCH_WORKERS: '2',
  FACEMATCH_QUEUE_CAPACITY: '2',
  FACEMATCH_MAX_BODY_BYTES: String(maxBody),
  DIE_FILE: dieFile,
};
const server = await TestServer.forFile({ env, gate: 'open' }, home);
const { gate } = server;
afterEach(async () => {
  gate.open();
  await server.metricBecomes('facematch_workers_busy', 0);
  await server.metricBecomes('facematch_requests_in_flight', 0);
});

const busy = (workers: number) => server.metricBecomes('facematch_workers_busy', workers);
const waiting = (requests: number) => server.metricBecomes('facematch_queue_depth', requests);
const ask = (key = server.key) => server.match(twoPhotos(), { key });
const codes = (responses: readonly TestResponse[]) =>
  responses.map(({ status, body }) => body.code ?? status);

/**
 * Starts four requests, so that two run and two wait. The returned function opens the gate and resolves to the codes of
 * all.
 */
async function fill(key?: string) {
  gate.close();
  const asked = [ask(key), ask(key)];
  for (const depth of [1, 2]) {
    asked.push(ask(key));
    await waiting(depth);
  }
  return async () => {
    gate.open();
    return codes(await Promise.all(asked));
  };
}
const allServed = [200, 200, 200, 200];

describe('a full queue', () => {
  test('is reported after the rate limit, but before the declared length and the body', async () => {
    await server.getModels({ key: limitedKey });
    const served = await fill();
    const codeFor = async (key: string) =>
      (await server.sendRaw(server.lengthHeaders(maxBody + 1, { 'x-api-key': key }))).body.code;
    expect(await codeFor(limitedKey)).toBe('rate_limit_exceeded');
    expect(await codeFor(server.key)).toBe('overloaded');
    expect(await served()).toEqual(allServed);
    // If the queue has room, the length is checked.
    expect(await codeFor(server.key)).toBe('body_too_large');
  });

  test('rejects a request whose body arrives after the queue has filled up', async () => {
    const late = new RawClient(server.port);
    const bytes = server.photoRequest();
    late.write(bytes.subarray(0, -1000));
    await server.metricBecomes('facematch_requests_in_flight', 1);
    const served = await fill();
    late.write(bytes.subarray(-1000));
    expect((await late.response()).body).toMatchObject({ status: 503, code: 'overloaded' });
    expect(await served()).toEqual(allServed);
  });

  test('does not include requests that are still being uploaded', async () => {
    const uploads = Array.from({ length: 10 }, () => new RawClient(server.port));
    for (const upload of uploads) upload.write(server.lengthHeaders(100_000));
    await server.metricBecomes('facematch_requests_in_flight', 10);
    expect((await ask()).status).toBe(200);
    for (const upload of uploads) upload.leave();
  });
});

test('responds to running and waiting requests at the deadline, and discards late results', async () => {
  const options = { env: { ...env, FACEMATCH_DEADLINE_MS: '8000' }, gate: 'open' } as const;
  const server = await TestServer.forTest(options);
  const { gate } = server;
  const busy = (workers: number) => server.metricBecomes('facematch_workers_busy', workers);
  const ask = () => server.match(twoPhotos());
  gate.close();
  const running = [ask(), ask()];
  await busy(2);
  const queued = ask();
  expect(codes(await Promise.all([...running, queued]))).toEqual(Array(3).fill('deadline_exceeded'));
  // The workers still wait at the gate, so they must not get another job.
  expect(await server.metric('facematch_workers_busy')).toBe(2);
  expect(await server.metric('facematch_queue_depth')).toBe(0);
  const logged = JSON.parse(await server.line(server.stderr, /job exceeded its deadline/));
  const sha256 = expect.stringMatching(/^[0-9a-f]{16}$/);
  const images = [{ bytes: expect.any(Number), format: 'jpeg', sha256 }];
  expect(logged).toMatchObject({ level: 'warn', request_id: expect.any(String), images });
  gate.open();
  await busy(0);
  expect((await ask()).status).toBe(200);
});

test('frees the workers of a client that disconnects while its images are analysed', async () => {
  gate.close();
  const client = new RawClient(server.port);
  client.write(server.photoRequest());
  await busy(2);
  client.leave();
  await server.metricBecomes('facematch_requests_in_flight', 0);
  expect(await server.metric('facematch_workers_busy')).toBe(2);
  gate.open();
  await busy(0);
  expect((await ask()).status).toBe(200);
});

test('responds with 500 and without internals only to the request of a worker that crashes', async () => {
  gate.close();
  const running = [ask(), ask()];
  await busy(2);
  const queued = ask();
  await waiting(1);
  server.child.kill('SIGUSR2');
  const dead = await Promise.race(running);
  expectProblem(dead, 'internal_error');
  expect(JSON.stringify(dead.body)).not.toMatch(/worker|exit|terminat/i);
  await server.metricBecomes('facematch_worker_replacements_total', 1);
  gate.open();
  const responses = await Promise.all([...running, queued]);
  expect(codes(responses).sort()).toEqual([200, 200, 'internal_error']);
  const logged = server.stderr.map((line) => JSON.parse(line));
  const ofDead = logged.filter(({ request_id }) => request_id === dead.body.request_id);
  const error = expect.stringMatching(/exited/);
  const images = [expect.objectContaining({ format: 'jpeg' })];
  expect(ofDead).toMatchObject([
    { level: 'error', error, images },
    { status: 500, error },
  ]);
});

const workers = (count: number) => server.metricBecomes('facematch_workers', count);
const replaced = () => server.metric('facematch_worker_replacements_total');
const killOne = async () => {
  const before = await replaced();
  server.child.kill('SIGUSR2');
  while ((await replaced()) <= before) await pause();
};
const served = async () => codes(await Promise.all([ask(), ask()]));

test('replaces a worker that crashes while it is idle, repeatedly', async () => {
  for (let round = 0; round < 3; round++) {
    await killOne();
    await workers(2);
  }
  expect(await served()).toEqual([200, 200]);
});

test('counts workers that crash during startup as missing, until they can start', async () => {
  writeFileSync(dieFile, '');
  await killOne();
  await workers(1);
  expect(await server.probe()).toEqual([200, readiness('ready')]);
  expect(await served()).toEqual([200, 200]);
  await killOne();
  await workers(0);
  expect(await server.probe()).toEqual([503, readiness('recovering')]);
  // This request waits for a worker in the queue.
  const last = ask();
  rmSync(dieFile);
  await workers(2);
  expect(await server.probe()).toEqual([200, readiness('ready')]);
  // The request went to a worker that did not start, or to one that did.
  expect([200, 500, 504]).toContain((await last).status);
  // The workers are replaced as before.
  await killOne();
  await workers(2);
  expect(await served()).toEqual([200, 200]);
});

/**
 * This must be the last test with this server, because it makes a second key active, and a worker is reserved for that.
 */
test('uses no tokens when the queue is full, so that a retry is not rate limited', async () => {
  const served = await fill(thriftyKey);
  for (let tried = 0; tried < 5; tried++) {
    const { body, headers } = await ask(thriftyKey);
    expect([body.code, headers.get('ratelimit')]).toEqual(['overloaded', expect.stringMatching('r=2;')]);
  }
  expect(await served()).toEqual(allServed);
});

/** Uses the compiled pool, because a worker thread cannot run TypeScript. */
const { Pool } = (await import(projectPath('dist/src/engine/pool.js'))) as { Pool: typeof PoolClass };
const program = pathToFileURL(projectPath('dist/src/endpoints/worker.js'));
/** An image without a face, which takes long because all passes of the fallback search it. */
const faceless = await blank(4000, 3000, 'png');

function shared(photo: Buffer): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(photo.length));
  bytes.set(photo);
  return bytes;
}

const { WorkerThread } = (await import(
  projectPath('dist/src/engine/worker-thread.js')
)) as typeof import('../../../src/engine/worker-thread.ts');

test('starts no second thread after one that throws, even for a job', async () => {
  let started = 0;
  const count = () => {
    started++;
  };
  process.on('worker', count);
  onTestFinished(() => void process.off('worker', count));
  const file = join(home.folder, 'throws.mjs');
  writeFileSync(file, "throw new Error('on purpose');");
  const thread = new WorkerThread({
    program: pathToFileURL(file),
    pack_directory: pack,
    onUp: () => {},
    onEnd: () => {},
  });
  await expect(thread.started).rejects.toThrow('on purpose');
  await expect(thread.run({ name: 'persons', input: [] } as never)).rejects.toThrow('on purpose');
  await pause();
  expect(started).toBe(1);
});

const startPool = (workers: number) =>
  Pool.start<WorkerJobs>({ workers, pack_directory: pack, program, onWorkerError: () => {} });
loadPack(pack, manifest);

/** Returns the outcomes of a job. */
async function facesIn(pool: PoolClass<WorkerJobs>, images: readonly Uint8Array[]) {
  const response = await pool.analyse(0, { images, options: analyseOptions });
  if (!response.ok) throw new Error(JSON.stringify(response));
  expect(response.cpu_ms).toBeGreaterThan(0);
  return response.output;
}

test('shares two images of one job with the worker unchanged, and returns their results in order', async () => {
  const pool = await startPool(1);
  onTestFinished(() => pool.close());
  const images = [shared(faceless), shared(samples.one)];
  const [first, second] = await facesIn(pool, images);
  expect(first).toMatchObject({ ok: true, image: { faces: [] } });
  expect(second).toMatchObject({ ok: true, image: { faces: { length: 3 } } });
  expect(samples.one.equals(images[1]!)).toBe(true);
});

test("ends a cancelled job at its current stage, but not the worker's next job", async () => {
  const pool = await startPool(1);
  onTestFinished(() => pool.close());
  const running = facesIn(pool, [shared(faceless)]);
  setTimeout(() => pool.cancel(0), 20);
  const [outcome] = await running;
  if (outcome!.ok) expect(outcome!.image.search_timed_out).toBe(true);
  else expect(outcome).toMatchObject({ code: 'internal_error', message: 'cancelled' });
  const [next] = await facesIn(pool, [shared(samples.one)]);
  expect(next).toMatchObject({ ok: true, image: { faces: { length: 3 } } });
});

test('returns the problem of a failed calculation with its members', async () => {
  const pool = await startPool(1);
  onTestFinished(() => pool.close());
  const body = shared(Buffer.from('[]'));
  const { name, version, embedder } = manifest;
  const input = { body, pack: name, version, dimensions: embedder.dimensions };
  const response = await pool.run(0, 'embeddings', input);
  expect(response).toMatchObject({ ok: false, code: 'invalid_field', extras: { field: '' } });
});

test('ends jobs that run or arrive while the pool closes', async () => {
  const pool = await startPool(1);
  const images = [shared(faceless)];
  // The worker is reading the image while the pool closes.
  const running = facesIn(pool, images);
  const closed = pool.close();
  await expect(running).rejects.toThrow('exited');
  expect(pool.available).toBe(0);
  await closed;
  await expect(facesIn(pool, images)).rejects.toMatchObject({ code: 'shutting_down' });
});
