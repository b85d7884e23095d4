import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { Limiter, type Quota, rateHeaders, TokenBucket } from '../../src/auth/limiter.ts';
import { bucketFunction, bucketKey, bucketScript } from '../../src/auth/redis-client.ts';
import { redisInstalled, TestRedis } from '../server/support/redis.ts';

/** Tests token buckets in the process, and those of the script in a real Redis. */

/** A request that arrives `after_ms` after the previous one and needs `cost` tokens. */
interface Step {
  after_ms: number;
  cost: number;
}

const quota = (rate: number, burst: number) => ({ rate, burst });
const fraction = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const quotas = fc.record({ rate: fraction(0.001, 1000), burst: fraction(1, 1000) });
const steps = fc.array(fc.record({ after_ms: fc.nat(5000), cost: fraction(0, 1200) }), { maxLength: 40 });

function run(bucket: TokenBucket, requests: readonly Step[], start_ms: number) {
  let now_ms = start_ms;
  return requests.map(({ after_ms, cost }) => {
    now_ms += after_ms;
    return { now_ms, cost, admitted: bucket.take(cost, now_ms) };
  });
}

describe('a token bucket', () => {
  test('admits exactly the requests that stay within rate and burst in every time window', () => {
    // Rates in eighths of a token per millisecond and whole costs are exact in binary, so there are no rounding errors.
    const exact = fc.record({
      rate: fc.integer({ min: 1, max: 80 }).map((k) => k * 125),
      burst: fc.integer({ min: 1, max: 50 }),
    });
    const whole = fc.array(fc.record({ after_ms: fc.nat(20), cost: fc.nat(60) }), { maxLength: 40 });
    fc.assert(
      fc.property(exact, whole, (quota, all) => {
        const requests = all.map((step) => ({ ...step, cost: Math.min(step.cost, quota.burst) }));
        const past: { now_ms: number; cost: number }[] = [];
        for (const { now_ms, cost, admitted } of run(new TokenBucket(quota, 0), requests, 0)) {
          let sum = cost;
          let allowed = sum <= quota.burst;
          for (const earlier of past.toReversed()) {
            sum += earlier.cost;
            allowed &&= sum <= quota.burst + (quota.rate * (now_ms - earlier.now_ms)) / 1000;
          }
          expect(admitted).toBe(allowed);
          if (admitted) past.push({ now_ms, cost });
        }
      }),
    );
  });

  test('accepts returned tokens, up to the burst', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 3 }, 0);
    bucket.take(2, 0);
    bucket.settle(-1, 0);
    expect(bucket.tokens(0)).toBe(2);
    bucket.settle(-5, 0);
    expect(bucket.tokens(0)).toBe(3);
  });

  test('becomes negative through later costs, and admits a request once the tokens are refilled', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 3 }, 0);
    bucket.take(1, 0);
    bucket.settle(7, 0);
    expect(bucket.tokens(0)).toBe(-5);
    expect([bucket.take(0, 0), bucket.tokens(0)]).toEqual([true, -5]);
    expect(bucket.state(0, 1)).toMatchObject({ remaining: 0, reset_seconds: 6 });
    expect(bucket.state(0)).toMatchObject({ remaining: 0, reset_seconds: 8 });
    expect([bucket.take(1, 5999), bucket.take(1, 6000)]).toEqual([false, true]);
  });

  test('admits a client after the reported time, rounded up to a millisecond', () => {
    fc.assert(
      fc.property(quotas, steps, fraction(0, 1), (quota, requests, share) => {
        const bucket = new TokenBucket(quota, 0);
        const now_ms = run(bucket, requests, 0).at(-1)?.now_ms ?? 0;
        const cost = quota.burst * share;
        const wait_ms = Math.ceil(bucket.secondsUntil(cost, now_ms) * 1000);
        expect(bucket.take(cost, now_ms + wait_ms)).toBe(true);
      }),
    );
  });

  test('adds no tokens when the clock jumps back and forth', () => {
    const step = fc.record({ after_ms: fc.integer({ min: -5000, max: 5000 }), cost: fraction(0, 50) });
    const jumps = fc.array(step, { maxLength: 40 });
    fc.assert(
      fc.property(quotas, jumps, (quota, requests) => {
        const forward_ms = requests.reduce((sum, { after_ms }) => sum + Math.max(0, after_ms), 0);
        const fitting = requests.map((step) => ({ ...step, cost: Math.min(step.cost, quota.burst) }));
        const taken = run(new TokenBucket(quota, 0), fitting, 0).filter(({ admitted }) => admitted);
        const sum = taken.reduce((total, { cost }) => total + cost, 0);
        expect(sum).toBeLessThanOrEqual(quota.burst + (quota.rate * forward_ms) / 1000 + 1e-6);
      }),
    );
  });

  test('does not lock anyone out when the clock is set back by a year', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 1 }, Date.UTC(2030, 0));
    expect(bucket.take(1, Date.UTC(2030, 0))).toBe(true);
    expect(bucket.take(1, Date.UTC(2029, 0))).toBe(false);
    expect(bucket.take(1, Date.UTC(2029, 0) + 1000)).toBe(true);
  });

  test('refills in ten steps as much as in one', () => {
    const bucket = new TokenBucket({ rate: 0.1, burst: 1 }, 0);
    bucket.take(1, 0);
    // 0.1 added ten times is 0.9999999999999999.
    for (let second = 1; second < 10; second++) expect(bucket.take(1, second * 1000)).toBe(false);
    expect(bucket.take(1, 10_000)).toBe(true);
  });

  const [small, large, fast] = [quota(1, 4), quota(1, 10), quota(1000, 10)];
  test.each([
    { from: large, to: [small], spent: 3, after_ms: 0, left: 4 },
    { from: large, to: [small], spent: 9, after_ms: 0, left: 1 },
    { from: small, to: [large], spent: 4, after_ms: 0, left: 0 },
    { from: large, to: [small, large, small, large], spent: 3, after_ms: 0, left: 4 },
    { from: large, to: [small, large], spent: 10, after_ms: 3000, left: 4 },
    { from: large, to: [fast], spent: 10, after_ms: 3000, left: 3 },
    { from: fast, to: [large], spent: 10, after_ms: 3000, left: 3 },
    { from: large, to: [fast, large, fast, large], spent: 10, after_ms: 1000, left: 4 },
  ])(
    'gains no extra tokens when its quota changes from $from to $to',
    ({ from, to, spent, after_ms, left }) => {
      const bucket = new TokenBucket(from, 0);
      bucket.take(spent, 0);
      for (const [index, next] of to.entries()) bucket.requota(next, (index + 1) * after_ms);
      expect(bucket.tokens(to.length * after_ms)).toBe(left);
    },
  );
});

test('evicts a full bucket before an older one that lacks tokens', () => {
  const limiter = new Limiter(2);
  limiter.take('spent', quota(0.001, 1), 1, 0);
  limiter.take('full', quota(1, 1), 0, 0);
  limiter.take('new', quota(1, 1), 1, 0);
  expect(limiter.size).toBe(2);
  expect(limiter.take('spent', quota(0.001, 1), 1, 0).admitted).toBe(false);
});

test.each([
  { rate: 1, burst: 10, costs: [0], admitted: true, policy: 'q=10;w=10', limit: 'r=10;t=0' },
  { rate: 50, burst: 100, costs: [1], admitted: true, policy: 'q=100;w=2', limit: 'r=99;t=1' },
  { rate: 50, burst: 100, costs: [99, 1], admitted: true, policy: 'q=100;w=2', limit: 'r=0;t=2' },
  { rate: 50, burst: 100, costs: [100, 1], admitted: false, policy: 'q=100;w=2', limit: 'r=0;t=1' },
  { rate: 0.1, burst: 1, costs: [1, 1], admitted: false, policy: 'q=1;w=10', limit: 'r=0;t=10' },
  { rate: 3, burst: 10, costs: [3, 1], admitted: true, policy: 'q=10;w=4', limit: 'r=6;t=2' },
])('sends $policy and $limit after costs of $costs at $rate/s with a burst of $burst', (row) => {
  const limiter = new Limiter(1);
  const [last] = row.costs.map((cost) => limiter.take('a', row, cost, 0)).slice(-1);
  expect([last!.admitted, ...rateHeaders(last!.rate)]).toEqual([
    row.admitted,
    ['RateLimit-Policy', `"default";${row.policy}`],
    ['RateLimit', `"default";${row.limit}`],
  ]);
});

/** Makes steps in fractions of a millisecond, as on Redis's clock, some of them back in time. */
const stepsOf = (quota: fc.Arbitrary<Quota>) => {
  const cost = fraction(-50, 1200);
  const step = fc.record({ after_ms: fraction(-50, 5000), cost, settles: fc.boolean(), quota });
  return fc.array(step, { minLength: 1, maxLength: 30 });
};

interface Timed {
  now_ms: number;
  cost: number;
  settles: boolean;
  quota: Quota;
}

/** Runs all steps in one script, during which Redis's clock stops, so that no bucket expires. */
const replay = `${bucketFunction}
local answers = {}
for index, step in ipairs(cjson.decode(ARGV[1])) do
  answers[index] = take(KEYS[1], tonumber(step[1]), tonumber(step[2]), tonumber(step[3]), tonumber(step[4]), step[5] == 'true')
end
return answers
`;

describe.skipIf(!redisInstalled)('the bucket in Redis', () => {
  let redis: Redis;
  beforeAll(async () => {
    const server = await TestRedis.start();
    redis = server.connect();
    return () => {
      redis.disconnect();
      return server.kill();
    };
  });

  const inRedis = async (timed: readonly Timed[]) => {
    await redis.del('replayed');
    // Numbers are passed as strings with 17 digits, because cjson would lose the last digits.
    const rows = timed.map(({ now_ms, quota, cost, settles }) =>
      [now_ms, quota.rate, quota.burst, cost, settles].map(String),
    );
    return (await redis.eval(replay, 1, 'replayed', JSON.stringify(rows))) as [number, string][];
  };

  const inProcess = (timed: readonly Timed[]) => {
    const first = timed[0]!;
    const bucket = new TokenBucket(first.quota, first.now_ms);
    return timed.map(({ now_ms, quota, cost, settles }) => {
      bucket.requota(quota, now_ms);
      if (settles) bucket.settle(cost, now_ms);
      const admitted = settles || bucket.take(cost, now_ms);
      return [Number(admitted), bucket.tokens(now_ms)] as const;
    });
  };

  test.each([
    ['one quota', quotas.chain((quota) => stepsOf(fc.constant(quota)))],
    ['quotas that change', stepsOf(quotas)],
  ])('decides like the bucket in the process, to the last bit, with %s', async (_what, requests) => {
    await fc.assert(
      fc.asyncProperty(requests, fc.nat(2 ** 41), async (list, start_ms) => {
        let now_ms = start_ms;
        const timed = list.map((step) => {
          now_ms += step.after_ms;
          return { ...step, now_ms };
        });
        const responses = (await inRedis(timed)).map(([admitted, tokens]) => [admitted, Number(tokens)]);
        expect(responses).toEqual(inProcess(timed));
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
    { what: 'for a day if it is full sooner', rate: 1000, cost: 0, kept_ms: 86_400_000 },
    { what: 'until it is full if that takes longer', rate: 0.0001, cost: 10, kept_ms: 100_000_000 },
  ])('is kept $what, so that a missing bucket is full with any quota', async ({ rate, cost, kept_ms }) => {
    await take('kept', { rate, burst: 10 }, cost);
    const left_ms = await redis.pttl(bucketKey('kept'));
    expect(left_ms).toBeGreaterThan(kept_ms - 60_000);
    expect(left_ms).toBeLessThanOrEqual(kept_ms);
    await redis.del(bucketKey('kept'));
  });

  const set = (value: string) => () => redis.set(bucketKey('odd'), value);
  test.each<[string, () => Promise<unknown>]>([
    ['another type', () => redis.rpush(bucketKey('odd'), 'x')],
    ['nothing', set('')],
    ['four words', set('a b c d')],
    ['one member too few', set('0 1 1')],
    ['one member too many', set('0 1 1 10 5')],
    ['nan tokens', set('nan 1 0.001 10')],
    ['infinite tokens', set('inf 1 0.001 10')],
    ['minus infinite tokens', set('-inf 1 0.001 10')],
    ['more tokens than its burst', set('11 1 0.001 10')],
    ['a time that is not a number', set('0 nan 0.001 10')],
    ['an infinite time', set('0 inf 0.001 10')],
    ['a rate of 0', set('0 1 0 10')],
    ['a rate below 0', set('5 1 -1 10')],
    ['a burst that is not a number', set('0 1 0.001 nan')],
  ])('counts as missing if it contains %s', async (_what, spoil) => {
    await redis.del(bucketKey('odd'));
    await spoil();
    expect(await redis.eval(bucketScript, 1, bucketKey('odd'), '0.001', '10', '1')).toEqual([1, '9']);
    expect(await redis.get(bucketKey('odd'))).toMatch(/^9 \S+ 0\.001\d* 10$/);
  });

  test.each([
    ['a future time, from a clock that was set back', '4 9e15 0.001 10', '3'],
    ['a time far in the past', '0 -9e300 0.001 10', '9'],
    ['a negative number of tokens', '-1 -1e6 0.001 10', '9'],
  ])('continues from %s', async (_what, held, tokens) => {
    await redis.set(bucketKey('odd'), held);
    expect(await redis.eval(bucketScript, 1, bucketKey('odd'), '0.001', '10', '1')).toEqual([1, tokens]);
  });

  test.each([
    [1e6, 1e6],
    [1e6, 1],
    [Number.MIN_VALUE, 1e6],
    [1e-12, 1],
  ])('is stored for any rate and burst: %d, %d', async (rate, burst) => {
    expect(await take('any', { rate, burst }, burst)).toBe(1);
    expect(await redis.pttl(bucketKey('any'))).toBeGreaterThan(0);
    await redis.del(bucketKey('any'));
  });

  test('admits exactly its burst of many concurrent requests', async () => {
    const askers = Array.from({ length: 4 }, () => redis.duplicate());
    const crowd = quota(0.0001, 50);
    const asked = askers.flatMap((by) => Array.from({ length: 40 }, () => take('crowd', crowd, 1, by)));
    const admitted = await Promise.all(asked);
    for (const asker of askers) asker.disconnect();
    expect(admitted.filter((one) => one === 1)).toHaveLength(crowd.burst);
  });
});
