import { existsSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import type { MatchJob, Pool as PoolClass } from '../../src/engine/pool.ts';
import { projectPath } from '../../src/paths.ts';
import { blank, samples } from './support/pictures.ts';

/** The pool as it is built: a worker thread runs JavaScript, not TypeScript. */
const built = projectPath('dist/src/engine/pool.js');
const { Pool } = (await import(built)) as { Pool: typeof PoolClass };
const pack_directory = packDirectory('default');
/** Looked at by the whole fallback, so that a job of two takes long. */
const faceless = await blank(1200, 900, 'jpeg');
const onWorkerError = (error: Error) => {
  throw error;
};

let pool: PoolClass;
/** What the workers moved back. */
const returned: ArrayBuffer[] = [];
beforeAll(async () => {
  expect(existsSync(built)).toBe(true);
  pool = await Pool.start({
    workers: 2,
    pack_directory,
    onMemory: (memory) => returned.push(memory),
    onWorkerError,
  });
});
beforeEach(() => {
  returned.length = 0;
});
afterAll(() => pool.close());

/** `size`: of the memory that the body lies in. */
function job(pictures: readonly Buffer[] = [samples.one, samples.three], size?: number): MatchJob {
  const [one, two] = pictures as [Buffer, Buffer];
  const length = one.length + two.length;
  const body = Buffer.from(new ArrayBuffer(size ?? length), 0, length);
  body.set(one);
  body.set(two, one.length);
  return {
    body,
    image1: { start: 0, end: one.length },
    image2: { start: one.length, end: body.length },
    options: {
      accuracy_mode: 'fast',
      min_det_score: readManifest(pack_directory).min_det_score,
      use_heuristic_fallback: true,
      image1_face_index: -1,
      image2_face_index: -1,
      auto_pair_best: true,
      max_pixels: 50_000_000,
      min_side: 16,
    },
  };
}

test("a body is moved to the worker and not copied: the sender's memory is gone", async () => {
  const sent = job();
  const running = pool.run(sent, 0);
  expect(sent.body.length).toBe(0);
  expect(sent.body.buffer.byteLength).toBe(0);
  expect(await running).toMatchObject({ ok: true });
});

test.each([
  ['an answer', [samples.one, samples.three]],
  ['a failure', [samples.one, Buffer.from('no picture')]],
])("after %s a large body's memory comes back whole, and wiped", async (_what, pictures) => {
  const sent = job(pictures, 1024 * 1024);
  await pool.run(sent, 0);
  expect(sent.body.length).toBe(0);
  expect(returned.map(({ byteLength }) => byteLength)).toEqual([1024 * 1024]);
  expect(new Uint8Array(returned[0]!).every((byte) => byte === 0)).toBe(true);
});

test("a small body's memory does not come back, and neither does that of a job that failed to run", async () => {
  await pool.run(job([Buffer.from('tiny'), Buffer.from('too')]), 0);
  // The binding takes nothing but numbers: this throws in the worker, as nothing that TypeScript lets through does.
  const wrong = job(undefined, 1024 * 1024);
  const image1 = { start: 'a', end: 'b' } as unknown as MatchJob['image1'];
  await expect(pool.run({ ...wrong, image1 }, 0)).rejects.toThrow();
  expect(returned).toEqual([]);
  expect(await pool.run(job(), 0)).toMatchObject({ ok: true });
});

test('a failure comes back as data with its code', async () => {
  const outcome = await pool.run(job([samples.one, Buffer.from('no picture')]), 0);
  expect(outcome).toEqual({
    ok: false,
    code: 'unsupported_image_format',
    field: 'image2',
    detected: 'unknown',
  });
});

test('jobs run side by side and do not mix', async () => {
  const same = [samples.two, samples.two];
  const other = [samples.one, samples.two];
  const outcomes = await Promise.all(
    [same, other, same, other].map((pictures, index) => pool.run(job(pictures), index % 2)),
  );
  const best = outcomes.map((outcome) => (outcome.ok ? outcome.pairs[0]!.similarity : Number.NaN));
  expect(best[0]).toBeGreaterThan(0.99);
  expect(best[2]).toBe(best[0]);
  expect(best[1]).toBeLessThan(0.6);
  expect(best[3]).toBe(best[1]);
});

test('a worker answers its first job before it begins the one that it was given ahead of time', async () => {
  let finished = 0;
  const count = () => {
    finished += 1;
  };
  const first = pool.run(job(), 1).finally(count);
  const ahead = pool.run(job([faceless, faceless]), 1).finally(count);
  await first;
  expect(finished).toBe(1);
  expect(await ahead).toMatchObject({ ok: false, code: 'no_face_found' });
});

test('two pictures on two threads give the same answer, and the same error, as on one', async () => {
  const broken = [Buffer.from('no picture'), Buffer.from('%PDF-1.7')];
  for (const pictures of [
    [samples.one, samples.three],
    [samples.one, broken[0]!],
    [broken[1]!, broken[0]!],
  ]) {
    const timeless = async (parallel: boolean) => ({
      ...(await pool.run(job(pictures), 0, parallel)),
      timings_ms: undefined,
    });
    expect(await timeless(true)).toEqual(await timeless(false));
  }
});

test('a pack that cannot be loaded rejects the start with the reason', async () => {
  await expect(Pool.start({ workers: 2, pack_directory: '/no/such/pack', onWorkerError })).rejects.toThrow(
    /no\/such\/pack|manifest/,
  );
});
