import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/addon.ts';
import type { MatchJob, Pool as PoolClass } from '../../src/engine/pool.ts';
import { projectPath } from '../../src/paths.ts';
import { bodyOf, matchOptions, pack } from '../fixtures/pictures.ts';
import { type Fields, type Json, match, paths, twoPhotos } from './support/client.ts';
import { samples } from './support/pictures.ts';
import { TestServer } from './support/server.ts';

/** FACEMATCH_EMBEDDING_CACHE as callers and operators see it; test/native/embedding-cache.test.ts has the rest. */

const timeless = ({ request_id, timings_ms, ...rest }: Json) => rest;

async function counts(server: TestServer) {
  const read = (name: string) => server.metric(`facematch_embedding_cache_${name}`);
  return {
    hits: await read('hits_total'),
    misses: await read('misses_total'),
    pictures: await read('pictures'),
  };
}

describe('by default', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server.stop());

  test('nothing is kept, looked for or spared', async () => {
    await match(server, twoPhotos());
    const { body } = await match(server, twoPhotos());
    expect(body.timings_ms.decode).toBeGreaterThan(0);
    expect(await counts(server)).toEqual({ hits: 0, misses: 0, pictures: 0 });
    expect(await server.metrics()).toContain('facematch_embedding_cache_hits_total 0');
  });
});

describe('with a cache for two pictures', () => {
  let server: TestServer;
  let plain: TestServer;
  beforeAll(async () => {
    server = await TestServer.start({ env: { FACEMATCH_EMBEDDING_CACHE: '2' } });
    plain = await TestServer.start();
  });
  afterAll(() => Promise.all([server.stop(), plain.stop()]));

  const added = async (act: () => Promise<unknown>) => {
    const before = await counts(server);
    await act();
    const { hits, misses } = await counts(server);
    return [hits - before.hits, misses - before.misses];
  };

  test('a second request gets the same answer but for its id and times', async () => {
    const expected = (await match(plain, twoPhotos())).body;
    const bodies: Json[] = [];
    const ask = async () => bodies.push((await match(server, twoPhotos())).body);
    expect(await added(ask)).toEqual([0, 2]);
    expect(await added(ask)).toEqual([2, 0]);
    expect(bodies.map(timeless)).toEqual([timeless(expected), timeless(expected)]);
    const { queue, total, ...stages } = bodies[1].timings_ms;
    expect(stages).toEqual({ decode: 0, detect: 0, align: 0, embed: 0 });
    expect((await counts(server)).pictures).toBe(2);
  });

  test('another choice of a face is a hit, another mode and a changed byte are not', async () => {
    const advanced = (fields: Fields) =>
      match(server, { ...twoPhotos(), ...fields }, { path: paths.advanced });
    await advanced({});
    expect(await added(() => advanced({ image1_face_index: '1' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ auto_pair_best: 'false' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ threshold_percent: '20' }))).toEqual([2, 0]);
    expect(await added(() => advanced({ accuracy_mode: 'fast' }))).toEqual([0, 2]);
    const image1 = Buffer.concat([samples.one, Buffer.of(0)]);
    expect(await added(() => advanced({ image1, accuracy_mode: 'fast' }))).toEqual([1, 1]);
  });
});

describe('workers', () => {
  /** The pool as it is built: a worker thread runs JavaScript, not TypeScript. */
  const built = projectPath('dist/src/engine/pool.js');
  const onWorkerError = (error: Error) => {
    throw error;
  };
  const job = (): MatchJob => {
    const { body, ...ranges } = bodyOf(samples.one, samples.three);
    // In memory of its own, as a body is.
    return { body: new Uint8Array(body), ...ranges, options: matchOptions };
  };

  test('share one cache: what one has looked at, the next one knows', async () => {
    const { Pool } = (await import(built)) as { Pool: typeof PoolClass };
    const addon = loadAddon();
    addon.keepEmbeddings(2);
    const start = (embedding_cache: boolean) =>
      Pool.start({ workers: 1, pack_directory: pack, embedding_cache, onWorkerError });
    const pools = await Promise.all([start(true), start(true), start(false)]);
    const before = addon.embeddingCache();
    const outcomes = [];
    for (const pool of pools) outcomes.push(await pool.run(job(), 0));
    const { hits, misses } = addon.embeddingCache();
    // The third was not told that there is a cache, so it hashes nothing.
    expect([hits - before.hits, misses - before.misses]).toEqual([2, 2]);
    const [first, second, third] = outcomes.map((outcome) => ({ ...outcome, timings_ms: undefined }));
    expect(first).toMatchObject({ ok: true });
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    addon.keepEmbeddings(0);
    await Promise.all(pools.map((pool) => pool.close()));
  });
});
