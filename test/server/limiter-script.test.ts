import fc from 'fast-check';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Quota, TokenBucket } from '../../src/auth/limiter.ts';
import { bucketFunction, bucketKey, bucketScript } from '../../src/auth/shared-limiter.ts';
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
    // As text with 17 digits: cjson's own numbers would lose the last of them.
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

  test('is charged exactly once by each of many askers at once', async () => {
    const askers = Array.from({ length: 4 }, () => redis.duplicate());
    const quota = { rate: 0.0001, burst: 50 };
    const asked = askers.flatMap((by) => Array.from({ length: 40 }, () => take('crowd', quota, 1, by)));
    const admitted = await Promise.all(asked);
    for (const asker of askers) asker.disconnect();
    expect(admitted.filter((one) => one === 1)).toHaveLength(quota.burst);
  });
});
