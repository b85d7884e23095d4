import { open } from 'node:fs/promises';
import type { Sharp } from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { samples } from '../../fixtures/images.ts';
import { diagnose } from '../../server/support/cli.ts';
import { expectProblem, type Fields, paths } from '../../server/support/client.ts';
import { Home, readiness, TestServer, withCache } from '../../server/support/server.ts';
import { namedPipe } from '../../support/folder.ts';
import { cutOuts } from '../../support/portraits.mjs';

/**
 * Tests workers in a native call that does not return. For an image with STUCK in it, the call reads a FIFO without a
 * writer (test/server/support/addon.cjs). Neither the cancellation flag nor the end of the thread interrupts that.
 */

const home = new Home();
const fifo = namedPipe();
const env = { FACEMATCH_WORKERS: '2', FACEMATCH_DEADLINE_MS: '3000', STUCK_FIFO: fifo };
const server = await TestServer.forFile({ env, gate: 'open' }, home);

/** Returns a photo that blocks a worker; each number makes a different file. */
const sticky = (number: number) => Buffer.concat([samples.one, Buffer.from(`STUCK ${number}`)]);
const detect = (image: Buffer) => server.match({ image }, { path: paths.detect });
const stuck = (count: number) => server.metricBecomes('facematch_workers_stuck', count);
const workers = (count: number) => server.metricBecomes('facematch_workers', count);
/** Lets `calls` stuck calls return, by writing a byte for each. */
async function release(pipe: string, calls: number): Promise<void> {
  const writer = await open(pipe, 'w');
  await writer.write('.'.repeat(calls));
  await writer.close();
}
const deadlines = (responses: readonly { status: number }[]) =>
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 504));

describe('a worker that is stuck in a native call', () => {
  test('is replaced after the timeout, and its image is rejected from then on', async () => {
    deadlines([await detect(sticky(1))]);
    await stuck(1);
    await workers(2);
    expect(await server.metric('facematch_workers_busy')).toBe(0);
    expect(await server.probe()).toEqual([200, readiness('ready', 1)]);
    expect(await server.probe('/healthz')).toEqual([200, { status: 'alive' }]);
    expect((await detect(samples.one)).status).toBe(200);
    expectProblem(await detect(sticky(1)), 'image_too_complex');
    expect(JSON.parse(await server.line(server.stderr, /worker stuck in a native call/))).toMatchObject({
      level: 'error',
      images: [{ format: 'jpeg' }],
    });
  });

  test('is not replaced while two replaced ones are stuck; the process is then unhealthy', async () => {
    deadlines([await detect(sticky(2))]);
    await stuck(2);
    await workers(2);
    deadlines(await Promise.all([detect(sticky(3)), detect(sticky(4))]));
    await stuck(4);
    expect(await server.probe()).toEqual([503, readiness('stuck', 4)]);
    expect(await server.probe('/healthz')).toEqual([503, { status: 'stuck' }]);
  });

  test('leaves a process that the doctor recognises on the admin port', async () => {
    const { of } = await diagnose(home.folder, { FACEMATCH_ADMIN_PORT: new URL(server.adminOrigin).port });
    const value = expect.stringContaining('is used by a running facematch');
    expect(of('admin port')).toMatchObject({ status: 'warning', value });
  });

  test('is not counted after the call returns', async () => {
    await release(fifo, 4);
    await stuck(0);
    expect(await server.probe('/healthz')).toEqual([200, { status: 'alive' }]);
    expect(await server.probe()).toEqual([200, readiness('ready')]);
    expect((await detect(samples.one)).status).toBe(200);
  });
});

describe('a worker that is stuck in a second search', () => {
  const pipe = namedPipe();
  const searched = (number: number) => Buffer.concat([samples.one, Buffer.from(`STUCK LATER ${number}`)]);
  let other: Buffer;
  let single: TestServer;
  beforeAll(async () => {
    other = await (cutOuts() as Sharp[])[4]!.jpeg().toBuffer();
    const FACEMATCH_ENDPOINTS = 'match_advanced,detect';
    const own = { ...withCache, FACEMATCH_ENDPOINTS, FACEMATCH_DEADLINE_MS: '5000', STUCK_FIFO: pipe };
    single = await TestServer.start({ env: own, gate: 'open' });
  });
  afterAll(() => single?.stop());

  const find = (image: Buffer) => single.match({ image }, { path: paths.detect });
  /** Compares images of different people. Only image1 is searched again. */
  const compare = (image1: Buffer, fields: Fields = {}) =>
    single.match({ image1, image2: other, image2_face_index: '0', ...fields }, { path: paths.advanced });

  test('rejects the searched image from then on, and not the image analysed last', async () => {
    deadlines([await compare(searched(1))]);
    await single.metricBecomes('facematch_workers_stuck', 1);
    await single.metricBecomes('facematch_workers', 1);
    expectProblem(await find(searched(1)), 'image_too_complex');
    expect((await find(other)).status).toBe(200);
  });

  test('accepts the image again if the search ends after little CPU time', async () => {
    await release(pipe, 1);
    await single.metricBecomes('facematch_workers_stuck', 0);
    expect((await find(searched(1))).status).toBe(200);
  });

  test('rejects the searched image although its analysis is cached', async () => {
    const withoutSearch = { image1_face_index: '0' };
    expect((await compare(searched(2), withoutSearch)).status).toBe(200);
    deadlines([await compare(searched(2))]);
    await single.metricBecomes('facematch_workers_stuck', 1);
    await single.metricBecomes('facematch_workers', 1);
    expectProblem(await compare(searched(2)), 'image_too_complex');
    await release(pipe, 1);
  });
});
