import { expect, test } from 'vitest';
import { roundFactors } from '../../models/prepare/int8/operators.ts';

test.each([
  ['below 1', [0.3, -0.7], 15],
  ['of nearly 1', [0.9999, 0.1], 15],
  ['that would be rounded to 1', [0.99999, 0.1], 14],
  ['of 1', [1, 0.1], 14],
  ['of almost 2', [0.1, -1.9999], 14],
  ['far above 1', [9.3, 0.01], 11],
])('factors %s have the bits behind the point that 15 in all leave', (_, factors, bits) => {
  const rounded = roundFactors(factors);
  const whole = rounded.map((factor) => factor * 2 ** bits);
  for (const [i, factor] of rounded.entries()) {
    expect(Math.abs(whole[i]!)).toBeLessThanOrEqual(32767);
    expect(Number.isInteger(whole[i])).toBe(true);
    expect(Math.abs(factor - factors[i]!)).toBeLessThanOrEqual(2 ** -bits);
  }
});
