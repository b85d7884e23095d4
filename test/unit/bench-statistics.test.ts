import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { latencies, median, quantile, ratios, spread } = await import(
  projectPath('bench/results/statistics.mjs')
);

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe('a quantile', () => {
  test.each([
    [upTo(100), 0.5, 50],
    [upTo(100), 0.99, 99],
    [upTo(100), 1, 100],
    [upTo(101), 0.5, 51],
    [[7], 0.5, 7],
    [[7], 0.99, 7],
    [[3, 1, 2], 0, 1],
    [[10, 9, 8, 7], 0.5, 8],
  ])('of %j at %f is the value that this share does not exceed', (values, share, expected) => {
    expect(quantile(values, share)).toBe(expected);
  });

  test('sorts numbers as numbers and leaves its input alone', () => {
    const values = [100, 9, 20];
    expect(quantile(values, 1)).toBe(100);
    expect(values).toEqual([100, 9, 20]);
  });

  test('of nothing is no number', () => {
    expect(quantile([], 0.5)).toBeNaN();
    expect(median([])).toBeNaN();
  });
});

describe('a median', () => {
  test.each([
    [[5], 5],
    [[9, 1], 5],
    [[9, 1, 2], 2],
    [[10, 1, 2, 4], 3],
  ])('of %j is %d', (values, expected) => expect(median(values)).toBe(expected));
});

describe('latencies', () => {
  test('name a quantile only where enough answers came to tell it from the slowest', () => {
    const told = (count: number) =>
      Object.entries(latencies(upTo(count)))
        .filter(([, value]) => value !== null)
        .map(([name]) => name);
    expect(told(0)).toEqual([]);
    expect(told(1)).toEqual(['p50', 'max']);
    expect(told(99)).toEqual(['p50', 'p90', 'max']);
    expect(told(100)).toEqual(['p50', 'p90', 'p99', 'max']);
    expect(told(1000)).toEqual(['p50', 'p90', 'p99', 'p99_9', 'max']);
  });

  test('of a thousand answers are those at their rank', () => {
    expect(latencies(upTo(1000).reverse())).toEqual({ p50: 500, p90: 900, p99: 990, p99_9: 999, max: 1000 });
  });
});

describe('a spread', () => {
  test('has the median between the lowest and the highest, and leaves out what is no number', () => {
    expect(spread([3, Number.NaN, 1, Number.POSITIVE_INFINITY, 2])).toEqual({
      median: 2,
      low: 1,
      high: 3,
      turns: 3,
    });
  });

  test('of nothing is undefined, and so never mistaken for a zero', () => {
    expect(spread([])).toBeUndefined();
    expect(spread([Number.NaN])).toBeUndefined();
  });
});

describe('ratios', () => {
  test('are taken round by round, and only of rounds that have both', () => {
    expect(ratios([6, 8, Number.NaN, 9], [2, 4, 5])).toEqual([3, 2]);
  });

  test('leave out a division by zero', () => {
    expect(ratios([1, 1], [0, 2])).toEqual([0.5]);
  });
});
