import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Quota, TokenBucket } from '../../src/auth/limiter.ts';
import { bucketFunction, bucketKey, bucketScript } from '../../src/auth/redis-client.ts';
import { redisInstalled, TestRedis } from './support/redis.ts';

/** The script in a real Redis, beside the bucket that it repeats. */

interface Step {
  after_ms: number;
  cost: number;
  quota: Quota;
}

const fraction = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const quotas = fc.record({ rate: fraction(0.001, 1000), burst: fraction(1, 1000) });
/** Fractions of a millisecond, as Redis's clock has them, and steps back. */
const steps = (quota: fc.Arbitrary<Quota>) =>
  fc.array(
    fc.record({ after_ms: fraction(-50, 5000), cost: fc.oneof(fraction(0, 1200), fraction(-50, 0)), quota }),
    {
      minLength: 1,
      maxLength: 30,
    },
  );

/** All steps in one script: Redis's own clock stands still meanwhile, so no bucket expires by it. */
const replay = `${bucketFunction}
local answers = {}
for index, step in ipairs(cjson.decode(ARGV[1])) do
  answers[index] = take(KEYS[1], tonumber(step[1]), tonumber(step[2]), tonumber(step[3]), tonumber(step[4]))
end
return answers
`;

describe.skipIf(!redisInstalled)('the bucket in Redis', () => {
  let redis: Redis;
  beforeAll(async () => {
    const server = await TestRedis.start();
    redis = new Redis({ port: server.port, host: '127.0.0.1', protocol: 2 });
    return () => {
      redis.disconnect();
      return server.kill();
    };
  });

  const inRedis = async (timed: readonly (Step & { now_ms: number })[]) => {
    await redis.del('replayed');
    // They go as text with 17 digits, because cjson's own numbers would lose the last of them.
    const rows = timed.map(({ now_ms, quota, cost }) => [now_ms, quota.rate, quota.burst, cost].map(String));
    return (await redis.eval(replay, 1, 'replayed', JSON.stringify(rows))) as [number, string][];
  };

  const inProcess = (timed: readonly (Step & { now_ms: number })[]) => {
    const first = timed[0]!;
    const bucket = new TokenBucket(first.quota, first.now_ms);
    return timed.map(({ now_ms, quota, cost }) => {
      bucket.requota(quota, now_ms);
      const admitted = cost < 0 || bucket.take(cost, now_ms);
      if (cost < 0) bucket.giveBack(-cost, now_ms);
      return [Number(admitted), bucket.tokens(now_ms)] as const;
    });
  };

  test.each([
    ['one quota', quotas.chain((quota) => steps(fc.constant(quota)))],
    ['quotas that change', steps(quotas)],
  ])('decides as the bucket of the process does, to the last bit, with %s', async (_what, requests) => {
    await fc.assert(
      fc.asyncProperty(requests, fc.nat(2 ** 41), async (list, start_ms) => {
        let now_ms = start_ms;
        const timed = list.map((step) => {
          now_ms += step.after_ms;
          return { ...step, now_ms };
        });
        const answers = (await inRedis(timed)).map(([admitted, tokens]) => [admitted, Number(tokens)]);
        expect(answers).toEqual(inProcess(timed));
      }),
      { numRuns: 200 },
    );
  });

  const take = async (caller: string, quota: Quota, cost: number, by = redis) => {
    const values = [quota.rate, quota.burst, cost].map(String);
    const [admitted] = (await by.eval(bucketScript, 1, bucketKey(caller), ...values)) as [number];
    return admitted;
  };

  test.each([
    { what: 'a day where it is full sooner', rate: 1000, cost: 0, kept_ms: 86_400_000 },
    { what: 'until it is full where that takes longer', rate: 0.0001, cost: 10, kept_ms: 100_000_000 },
  ])('is kept $what: a missing one is full by any other quota', async ({ rate, cost, kept_ms }) => {
    await take('kept', { rate, burst: 10 }, cost);
    const left_ms = await redis.pttl(bucketKey('kept'));
    expect(left_ms).toBeGreaterThan(kept_ms - 60_000);
    expect(left_ms).toBeLessThanOrEqual(kept_ms);
    await redis.del(bucketKey('kept'));
  });

  const quota = { rate: 0.001, burst: 10 };
  const set = (value: string | Buffer) => () => redis.set(bucketKey('odd'), value);
  test.each<[string, () => Promise<unknown>]>([
    ['another type: a list', () => redis.rpush(bucketKey('odd'), 'x')],
    ['another type: a hash', () => redis.hset(bucketKey('odd'), 'tokens', '1')],
    ['another type: a set', () => redis.sadd(bucketKey('odd'), 'x')],
    ['another type: a stream', () => redis.xadd(bucketKey('odd'), '*', 'a', 'b')],
    ['nothing', set('')],
    ['words', set('garbage')],
    ['four words', set('a b c d')],
    ['bytes', set(Buffer.from([0, 255, 32, 128, 32, 1, 32, 2]))],
    ['a member less', set('0 1 1')],
    ['a member more', set('0 1 1 10 5')],
    ['JSON', set('{"tokens": 0, "at_ms": 1, "rate": 1, "burst": 10}')],
    ...['nan', '-nan', 'inf', '-inf', '1e999', '-1'].map((tokens): [string, () => Promise<unknown>] => [
      `${tokens} tokens`,
      set(`${tokens} 1 0.001 10`),
    ]),
    ['more tokens than its burst', set('11 1 0.001 10')],
    ['no time', set('0 nan 0.001 10')],
    ['a time that never comes', set('0 inf 0.001 10')],
    ['no rate', set('0 1 0 10')],
    ['a rate below 0', set('5 1 -1 10')],
    ['no burst', set('0 1 0.001 nan')],
  ])('is taken for a missing one where it holds %s', async (_what, spoil) => {
    await redis.del(bucketKey('odd'));
    await spoil();
    const values = [quota.rate, quota.burst, 1].map(String);
    expect(await redis.eval(bucketScript, 1, bucketKey('odd'), ...values)).toEqual([1, '9']);
    expect(await redis.get(bucketKey('odd'))).toMatch(/^9 \S+ 0\.001\d* 10$/);
  });

  test.each([
    ['a time to come, which is that of a clock that was set back', '4 9e15 0.001 10', '3'],
    ['a time long past', '0 -9e300 0.001 10', '9'],
  ])('goes on from %s', async (_what, held, tokens) => {
    await redis.set(bucketKey('odd'), held);
    const values = [quota.rate, quota.burst, 1].map(String);
    expect(await redis.eval(bucketScript, 1, bucketKey('odd'), ...values)).toEqual([1, tokens]);
  });

  test.each([
    [1e6, 1e6],
    [1e6, 1],
    [Number.MIN_VALUE, 1e6],
    [1e-12, 1],
  ])('is kept at any rate and burst: %d, %d', async (rate, burst) => {
    expect(await take('any', { rate, burst }, burst)).toBe(1);
    expect(await redis.pttl(bucketKey('any'))).toBeGreaterThan(0);
    await redis.del(bucketKey('any'));
  });

  test('is charged exactly once by each of many askers at once', async () => {
    const askers = Array.from({ length: 4 }, () => redis.duplicate());
    const quota = { rate: 0.0001, burst: 50 };
    const asked = askers.flatMap((by) => Array.from({ length: 40 }, () => take('crowd', quota, 1, by)));
    const admitted = await Promise.all(asked);
    for (const asker of askers) asker.disconnect();
    expect(admitted.filter((one) => one === 1)).toHaveLength(quota.burst);
  });
});
