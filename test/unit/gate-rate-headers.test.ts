import { describe, expect, test } from 'vitest';
import { Limiter } from '../../src/gate/limiter.ts';
import { rateHeaders } from '../../src/gate/rate-state.ts';

/** Headers after `requests` of cost 1 at the same moment. */
function headersAfter(quota: { rate: number; burst: number }, requests: number) {
  const limiter = new Limiter(1);
  let last = limiter.take('a', quota, 1, 0);
  for (let sent = 1; sent < requests; sent++) last = limiter.take('a', quota, 1, 0);
  return { admitted: last.admitted, ...Object.fromEntries(rateHeaders(last.rate)) };
}

describe('the RateLimit headers', () => {
  test.each([
    { rate: 50, burst: 100, requests: 1, admitted: true, policy: 'q=100;w=2', limit: 'r=99;t=1' },
    { rate: 50, burst: 100, requests: 100, admitted: true, policy: 'q=100;w=2', limit: 'r=0;t=2' },
    { rate: 50, burst: 100, requests: 101, admitted: false, policy: 'q=100;w=2', limit: 'r=0;t=1' },
    { rate: 0.1, burst: 1, requests: 1, admitted: true, policy: 'q=1;w=10', limit: 'r=0;t=10' },
    { rate: 0.1, burst: 1, requests: 2, admitted: false, policy: 'q=1;w=10', limit: 'r=0;t=10' },
    { rate: 3, burst: 10, requests: 4, admitted: true, policy: 'q=10;w=4', limit: 'r=6;t=2' },
    { rate: 1000, burst: 1, requests: 1, admitted: true, policy: 'q=1;w=1', limit: 'r=0;t=1' },
  ])('after $requests requests at $rate/s with a burst of $burst are $policy and $limit', (row) => {
    expect(headersAfter(row, row.requests)).toEqual({
      admitted: row.admitted,
      'RateLimit-Policy': `"default";${row.policy}`,
      RateLimit: `"default";${row.limit}`,
    });
  });

  test('count whole tokens only', () => {
    const limiter = new Limiter(1);
    const { rate } = limiter.take('a', { rate: 1, burst: 10 }, 0.5, 0);
    expect(rateHeaders(rate)).toContainEqual(['RateLimit', '"default";r=9;t=1']);
  });

  test('say 0 seconds for a full bucket', () => {
    const { rate } = new Limiter(1).take('a', { rate: 1, burst: 10 }, 0, 0);
    expect(rateHeaders(rate)).toContainEqual(['RateLimit', '"default";r=10;t=0']);
  });
});
