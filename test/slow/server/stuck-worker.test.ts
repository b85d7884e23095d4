import { execFileSync } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { samples } from '../../fixtures/images.ts';
import { expectProblem, paths } from '../../server/support/client.ts';
import { Home, readiness, TestServer } from '../../server/support/server.ts';

/**
 * Tests workers in a native call that does not return. For an image with STUCK in it, the call reads a FIFO without a
 * writer. Neither the cancellation flag nor the end of the thread interrupts that.
 */

const home = new Home();
const fifo = join(home.folder, 'fifo');
execFileSync('mkfifo', [fifo]);
const env = { FACEMATCH_WORKERS: '2', FACEMATCH_DEADLINE_MS: '3000', STUCK_FIFO: fifo };
const server = await TestServer.forFile({ env, gate: 'open' }, home);

/** Returns a photo that blocks a worker; each number makes a different file. */
const sticky = (number: number) => Buffer.concat([samples.one, Buffer.from(`STUCK ${number}`)]);
const detect = (image: Buffer) => server.match({ image }, { path: paths.detect });
const stuck = (count: number) => server.metricBecomes('facematch_workers_stuck', count);
const workers = (count: number) => server.metricBecomes('facematch_workers', count);
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

  test('is replaced at most once, and makes the process unhealthy only if all workers are blocked', async () => {
    deadlines([await detect(sticky(2))]);
    await stuck(2);
    await workers(2);
    deadlines(await Promise.all([detect(sticky(3)), detect(sticky(4))]));
    await stuck(4);
    expect(await server.probe()).toEqual([503, readiness('stuck', 4)]);
    expect(await server.probe('/healthz')).toEqual([503, { status: 'stuck' }]);
  });

  test('is not counted after the call returns', async () => {
    const writer = await open(fifo, 'w');
    await writer.write('....');
    await writer.close();
    await stuck(0);
    expect(await server.probe('/healthz')).toEqual([200, { status: 'alive' }]);
    expect(await server.probe()).toEqual([200, readiness('ready')]);
    expect((await detect(samples.one)).status).toBe(200);
  });
});
