import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TokenBucket } from '../../src/gate/token-bucket.ts';

/** One request: it comes `after_ms` after the one before it, and asks for `cost`. */
interface Step {
  after_ms: number;
  cost: number;
}

const fraction = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const quotas = fc.record({ rate: fraction(0.001, 1000), burst: fraction(1, 1000) });
const steps = fc.array(fc.record({ after_ms: fc.nat(5000), cost: fraction(0, 1200) }), { maxLength: 40 });

/** What was admitted, each with its time. */
function run(bucket: TokenBucket, requests: readonly Step[], start_ms: number) {
  let now_ms = start_ms;
  return requests.map(({ after_ms, cost }) => {
    now_ms += after_ms;
    return { now_ms, cost, admitted: bucket.take(cost, now_ms) };
  });
}

describe('a token bucket', () => {
  test('never admits more than burst + rate × t in any window', () => {
    fc.assert(
      fc.property(quotas, steps, fc.nat(2 ** 41), (quota, requests, start_ms) => {
        const taken = run(new TokenBucket(quota, start_ms), requests, start_ms).filter(
          (step) => step.admitted,
        );
        for (const [from, first] of taken.entries()) {
          let sum = 0;
          for (const { now_ms, cost } of taken.slice(from)) {
            sum += cost;
            expect(sum).toBeLessThanOrEqual(
              (quota.burst + (quota.rate * (now_ms - first.now_ms)) / 1000) * (1 + 1e-9) + 1e-6,
            );
          }
        }
      }),
    );
  });

  test('admits exactly what no window forbids', () => {
    // Rates in eighths of a token per millisecond and whole costs are exact in binary, so nothing is lost to rounding.
    const exact = fc.record({
      rate: fc.integer({ min: 1, max: 80 }).map((k) => k * 125),
      burst: fc.integer({ min: 1, max: 50 }),
    });
    const whole = fc.array(fc.record({ after_ms: fc.nat(20), cost: fc.nat(60) }), { maxLength: 40 });
    fc.assert(
      fc.property(exact, whole, (quota, requests) => {
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

  test('admits whoever waited as long as it said, to the next millisecond', () => {
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

  test('gives nothing away to a clock that jumps back and forth', () => {
    const jumps = fc.array(
      fc.record({ after_ms: fc.integer({ min: -5000, max: 5000 }), cost: fraction(0, 50) }),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(quotas, jumps, (quota, requests) => {
        const forward_ms = requests.reduce((sum, { after_ms }) => sum + Math.max(0, after_ms), 0);
        const taken = run(new TokenBucket(quota, 0), requests, 0).filter(({ admitted }) => admitted);
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

  test('adds tenths up to a whole', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 1 }, 0);
    for (let taken = 0; taken < 10; taken++) expect(bucket.take(0.1, 0)).toBe(true);
    expect(bucket.take(0.1, 0)).toBe(false);
  });

  test('fills in tenths as fast as in one go', () => {
    const bucket = new TokenBucket({ rate: 0.1, burst: 1 }, 0);
    bucket.take(1, 0);
    // 0.1 added ten times is 0.9999999999999999.
    for (let second = 1; second < 10; second++) expect(bucket.take(1, second * 1000)).toBe(false);
    expect(bucket.take(1, 10_000)).toBe(true);
  });

  test('lets a request that costs nothing through when it is empty', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 1 }, 0);
    bucket.take(1, 0);
    expect(bucket.take(0, 0)).toBe(true);
    expect(bucket.take(1, 999)).toBe(false);
    expect(bucket.take(1, 1000)).toBe(true);
  });

  test('charges nothing for what it refuses', () => {
    const bucket = new TokenBucket({ rate: 1, burst: 3 }, 0);
    bucket.take(1, 0);
    expect(bucket.take(3, 0)).toBe(false);
    expect(bucket.tokens(0)).toBe(2);
  });

  test('can never hold more than its burst, so that a greater cost waits for ever', () => {
    const bucket = new TokenBucket({ rate: 10, burst: 5 }, 0);
    expect(bucket.take(6, 1e9)).toBe(false);
    expect(bucket.secondsUntil(6, 1e9)).toBe(Number.POSITIVE_INFINITY);
  });

  test.each([
    { from: { rate: 1, burst: 10 }, to: { rate: 1, burst: 4 }, spent: 3, left: 1 },
    { from: { rate: 1, burst: 10 }, to: { rate: 1, burst: 4 }, spent: 9, left: 0 },
    { from: { rate: 1, burst: 4 }, to: { rate: 1, burst: 10 }, spent: 4, left: 6 },
    { from: { rate: 1, burst: 4 }, to: { rate: 9, burst: 4 }, spent: 4, left: 0 },
  ])('keeps what was spent when its quota changes from $from to $to', ({ from, to, spent, left }) => {
    const bucket = new TokenBucket(from, 0);
    bucket.take(spent, 0);
    bucket.requota(to, 0);
    expect(bucket.tokens(0)).toBe(left);
  });

  test.each([-1, -0.001, Number.NaN, Number.NEGATIVE_INFINITY])('refuses a cost of %s', (cost) => {
    expect(() => new TokenBucket({ rate: 1, burst: 1 }, 0).take(cost, 0)).toThrow(RangeError);
  });

  test.each([
    { rate: 0, burst: 1 },
    { rate: -1, burst: 1 },
    { rate: Number.NaN, burst: 1 },
    { rate: Number.POSITIVE_INFINITY, burst: 1 },
    { rate: 1, burst: 0 },
    { rate: 1, burst: 0.5 },
    { rate: 1, burst: Number.NaN },
    { rate: 1, burst: Number.POSITIVE_INFINITY },
  ])('refuses the quota $rate, $burst', (quota) => {
    expect(() => new TokenBucket(quota, 0)).toThrow(RangeError);
    expect(() => new TokenBucket({ rate: 1, burst: 1 }, 0).requota(quota, 0)).toThrow(RangeError);
  });
});
