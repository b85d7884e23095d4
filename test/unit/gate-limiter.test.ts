import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Limiter } from '../../src/gate/limiter.ts';

const one = { rate: 1, burst: 1 };

describe('a limiter', () => {
  test('gives every caller a bucket of its own', () => {
    const limiter = new Limiter(10);
    expect(limiter.take('a', one, 1, 0).admitted).toBe(true);
    expect(limiter.take('a', one, 1, 0).admitted).toBe(false);
    expect(limiter.take('b', one, 1, 0).admitted).toBe(true);
  });

  test('never holds more buckets than its capacity', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.nat(60)), (capacity, callers) => {
        const limiter = new Limiter(capacity);
        for (const [now_ms, caller] of callers.entries()) {
          limiter.take(String(caller), one, 1, now_ms);
          expect(limiter.size).toBeLessThanOrEqual(capacity);
        }
      }),
    );
  });

  test('makes room by dropping a full bucket before an older one that is part spent', () => {
    const limiter = new Limiter(2);
    limiter.take('spent', { rate: 0.001, burst: 1 }, 1, 0);
    limiter.take('full', one, 0, 0);
    limiter.take('new', one, 1, 0);
    expect(limiter.size).toBe(2);
    expect(limiter.take('spent', { rate: 0.001, burst: 1 }, 1, 0).admitted).toBe(false);
  });

  test('drops the longest unused bucket when all are part spent', () => {
    const limiter = new Limiter(2);
    const slow = { rate: 0.001, burst: 2 };
    limiter.take('a', slow, 2, 0);
    limiter.take('b', slow, 2, 0);
    // Even a refused request counts as use.
    expect(limiter.take('a', slow, 1, 0).admitted).toBe(false);
    limiter.take('c', slow, 2, 0);
    expect(limiter.take('a', slow, 1, 0).admitted).toBe(false);
    expect(limiter.take('b', slow, 1, 0).admitted).toBe(true);
  });

  test('takes over a changed quota without forgiving what was spent', () => {
    const limiter = new Limiter(2);
    limiter.take('a', { rate: 1, burst: 10 }, 10, 0);
    const { admitted, rate } = limiter.take('a', { rate: 2, burst: 12 }, 3, 0);
    expect(admitted).toBe(false);
    expect(rate).toEqual({ limit: 12, remaining: 2, reset_seconds: 1, window_seconds: 6 });
  });

  test('lets a cost above the burst be paid by the whole burst', () => {
    const limiter = new Limiter(2);
    const quota = { rate: 1, burst: 3 };
    expect(limiter.take('a', quota, 5, 0).admitted).toBe(true);
    expect(limiter.take('a', quota, 5, 2999).admitted).toBe(false);
    expect(limiter.take('a', quota, 5, 5999).admitted).toBe(true);
  });

  test.each([0, -1, Number.NaN])('refuses a capacity of %s', (capacity) => {
    expect(() => new Limiter(capacity)).toThrow(RangeError);
  });
});
