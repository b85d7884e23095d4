import { describe, expect, test } from 'vitest';
import { wilson } from '../../src/eval/metrics.ts';
import { PairRate } from '../../src/eval/pairs.ts';

function rateOf(people: number, hit: (i: number, j: number) => boolean): PairRate {
  const rate = new PairRate(people);
  for (let i = 0; i < people; i++) {
    for (let j = i + 1; j < people; j++) rate.add(i, j, hit(i, j));
  }
  return rate;
}

const width = ([low, high]: readonly [number, number]) => high - low;

describe('the rate of pairs of people', () => {
  test('is the share of hits, and lies within its interval', () => {
    const rate = rateOf(20, (i, j) => (i * 31 + j * 17) % 10 === 0);
    const hits = rate.rate * rate.pairs;
    expect(rate.pairs).toBe(190);
    expect(hits).toBeCloseTo(Math.round(hits), 9);
    expect(rate.interval[0]).toBeLessThan(rate.rate);
    expect(rate.interval[1]).toBeGreaterThan(rate.rate);
  });

  test('is less sure when all hits are of one person than when they are of many', () => {
    const ofOne = rateOf(30, (i) => i === 0);
    const ofMany = rateOf(30, (i, j) => (i + j) % 15 === 0);
    expect(ofMany.rate).toBeCloseTo(ofOne.rate, 1);
    expect(width(ofOne.interval)).toBeGreaterThan(2 * width(ofMany.interval));
  });

  test('without a hit reaches from 0 to what as many independent pairs allow', () => {
    expect(rateOf(10, () => false).interval).toEqual(wilson(0, 45));
  });
});
