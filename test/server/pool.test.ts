import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { loadPack } from '../../src/engine/load-addon.ts';
import type { Outcome, Pool as PoolClass } from '../../src/engine/pool.ts';
import { analyseOptions, blank, manifest, pack, samples } from '../fixtures/images.ts';
import { match, twoPhotos } from './support/client.ts';
import { disturbedAddon, Home, killable, pause, readiness, TestServer } from './support/server.ts';

/** The pool as it is built: a worker thread runs JavaScript, not TypeScript. */
const { Pool } = (await import(projectPath('dist/src/engine/pool.js'))) as { Pool: typeof PoolClass };
/** Looked at by the whole fallback, so that it takes long. */
const faceless = await blank(4000, 3000, 'png');

/** The image in shared memory, as a body is. */
function shared(picture: Buffer): Uint8Array {
  const bytes = new Uint8Array(new SharedArrayBuffer(picture.length));
  bytes.set(picture);
  return bytes;
}

const faces = (outcome: Outcome) => (outcome.ok ? outcome.image.faces.length : Number.NaN);

describe('two workers', () => {
  let pool: PoolClass;
  beforeAll(async () => {
    const onWorkerError = (error: Error) => {
      throw error;
    };
    loadPack(pack, manifest);
    pool = await Pool.start({ workers: 2, pack_directory: pack, onWorkerError });
    return () => pool.close();
  });

  const one = async (image: Uint8Array, slot: number) =>
    (await pool.run({ images: [image], options: analyseOptions, slot }))[0]!;

  test('two images in one job are shared with the worker, do not change, and come back in their order', async () => {
    const images = [shared(faceless), shared(samples.one)];
    const outcomes = await pool.run({ images, options: analyseOptions, slot: 0 });
    expect(outcomes.map(faces)).toEqual([0, 3]);
    expect(samples.one.equals(images[1]!)).toBe(true);
  });

  test('what is cancelled ends at the stage that it is at, and the next one in its slot does not', async () => {
    const running = one(shared(faceless), 1);
    setTimeout(() => pool.cancel(1), 20);
    const outcome = await running;
    if (outcome.ok) expect(outcome.image.look_cut_short).toBe(true);
    else expect(outcome).toMatchObject({ code: 'internal_error', message: 'cancelled' });
    expect(faces(await one(shared(samples.one), 1))).toBe(3);
  });
});

test('what runs or comes when the pool closes ends with the workers, not before', async () => {
  loadPack(pack, manifest);
  const onWorkerError = () => {};
  const pool = await Pool.start({ workers: 1, pack_directory: pack, onWorkerError });
  const images = [shared(faceless)];
  const order: string[] = [];
  const job = () => pool.run({ images, options: analyseOptions, slot: 0 });
  // The worker reads its image while the pool closes.
  const running = job().catch(() => order.push('job'));
  await pool.close().then(() => order.push('workers'));
  await running;
  expect(order).toEqual(['workers', 'job']);
  await expect(job()).rejects.toMatchObject({ code: 'shutting_down' });
  expect(pool.answering).toBe(0);
});

test('a pack that is not loaded rejects the start with the reason', async () => {
  const onWorkerError = () => {};
  await expect(Pool.start({ workers: 2, pack_directory: '/no/such/pack', onWorkerError })).rejects.toThrow(
    /no\/such\/pack.*was not loaded/,
  );
});

/** Workers that die in every phase of their life: all of them are back in the end, and nobody is told otherwise before. */

const home = new Home();
const dieFile = join(home.folder, 'die');
const server = await TestServer.forFile(
  { env: { ...disturbedAddon, FACEMATCH_WORKERS: '2', DIE_FILE: dieFile }, node: killable },
  home,
);

const workers = (count: number) => server.metricBecomes('facematch_workers', count);
const replaced = () => server.metric('facematch_worker_replacements_total');
/** Resolves when its death is known. */
const killOne = async () => {
  const before = await replaced();
  server.child.kill('SIGUSR2');
  while ((await replaced()) <= before) await pause();
};
const served = async () =>
  (await Promise.all([match(server, twoPhotos()), match(server, twoPhotos())])).map(({ status }) => status);

test('one that dies while it is idle is replaced, time after time', async () => {
  for (let round = 0; round < 3; round++) {
    await killOne();
    await workers(2);
  }
  expect(await served()).toEqual([200, 200]);
});

test('those that die while they start are missed, and are back when they can be', {
  timeout: 120_000,
}, async () => {
  writeFileSync(dieFile, '');
  await killOne();
  await workers(1);
  expect(await server.probe()).toEqual([200, readiness('ready')]);
  expect(await served()).toEqual([200, 200]);
  await killOne();
  await workers(0);
  expect(await server.probe()).toEqual([503, readiness('recovering')]);
  // Waits for a worker, as it would in a queue.
  const waiting = match(server, twoPhotos());
  rmSync(dieFile);
  await workers(2);
  expect(await server.probe()).toEqual([200, readiness('ready')]);
  // Given to a worker that never came up, or served by one that did.
  expect([200, 500, 504]).toContain((await waiting).status);
  // They are replaced as before.
  await killOne();
  await workers(2);
  expect(await served()).toEqual([200, 200]);
});
