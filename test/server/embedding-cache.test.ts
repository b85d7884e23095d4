import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../fixtures/pictures.ts';
import { type Fields, type Json, lasting, match, paths, twoPhotos } from './support/client.ts';
import { TestServer } from './support/server.ts';

/** FACEMATCH_EMBEDDING_CACHE as callers and operators see it; test/unit/analysis-cache.test.ts has the rest. */

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
    server = await TestServer.start({
      env: { FACEMATCH_EMBEDDING_CACHE: '2', FACEMATCH_ENDPOINTS: 'match,match_advanced,embed' },
    });
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
    expect(bodies.map(lasting)).toEqual([lasting(expected), lasting(expected)]);
    const { queue, total, ...stages } = bodies[1].timings_ms;
    expect(stages).toEqual({ decode: 0, detect: 0, align: 0, embed: 0 });
    expect((await counts(server)).pictures).toBe(2);
  });

  test('what embed gives out is not kept', async () => {
    const embed = () => match(server, { image: samples.two }, { path: paths.embed });
    expect((await embed()).status).toBe(200);
    expect(await added(embed)).toEqual([0, 0]);
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
