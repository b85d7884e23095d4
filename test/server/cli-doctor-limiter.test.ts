import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { built } from './support/cli.ts';
import { diagnose } from './support/doctor.ts';
import { redisInstalled, TestRedis } from './support/redis.ts';

/** What the doctor says of a Redis in states that are real. */

let folder: string;
let redis: TestRedis;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-doctor-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await redis.stop();
});

const look = async (url: string) => {
  const diagnosis = await diagnose(folder, { FACEMATCH_LIMITER: url });
  expect(diagnosis.stdout + diagnosis.stderr).not.toContain('hunter2');
  return diagnosis.of('limiter');
};

describe.skipIf(!built || !redisInstalled)('the limiter', () => {
  test('that is shared is told with its version', async () => {
    redis = await TestRedis.start('--requirepass', 'hunter2');
    expect(await look(`redis://:hunter2@127.0.0.1:${redis.port}/1`)).toEqual({
      what: 'limiter',
      status: 'ok',
      value: expect.stringMatching(/^redis:\/\/:\*\*\*@127\.0\.0\.1:\d+\/1 answers, Redis \d+\.\d+\.\d+$/),
    });
  });

  test.each([
    ['another password', 'redis://:hunter2@127.0.0.1:PORT', /WRONGPASS/, /user and password/],
    ['no password', 'redis://127.0.0.1:PORT', /NOAUTH/, /user and password/],
    ['a database that is not there', 'redis://:right@127.0.0.1:PORT/99', /DB index/, /database/],
    ['TLS where there is none', 'rediss://127.0.0.1:PORT', /no answer|closed/, /Start Redis/],
  ])('with %s is a warning with its cure', async (_what, url, value, cure) => {
    redis = await TestRedis.start('--requirepass', 'right');
    expect(await look(url.replace('PORT', String(redis.port)))).toMatchObject({
      status: 'warning',
      value: expect.stringMatching(value),
      cure: expect.stringMatching(cure),
    });
  });

  test('where nothing listens is a warning', async () => {
    redis = await TestRedis.absent();
    expect(await look(redis.url)).toMatchObject({
      status: 'warning',
      value: expect.stringMatching(/ECONNREFUSED/),
      cure: expect.stringMatching(/Start Redis/),
    });
  });

  test('that stopped answering does not hold the doctor up', async () => {
    redis = await TestRedis.start();
    redis.pause();
    expect(await look(redis.url)).toMatchObject({ value: expect.stringMatching(/no answer within 1000 ms/) });
  });
});
