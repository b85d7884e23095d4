import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFactors, encodeFactors, readPlan } from '../../models/prepare/int8/plan.ts';

const factor = fc.double({ min: 2 ** -31, max: 2 ** 31, noNaN: true });

test('a factor comes back within a ninth part: there are four steps an octave', () => {
  fc.assert(
    fc.property(fc.array(factor), (factors) => {
      const decoded = decodeFactors(encodeFactors(factors));
      expect(decoded).toHaveLength(factors.length);
      for (const [i, one] of factors.entries()) {
        expect(Math.abs(Math.log2(decoded[i]! / one))).toBeLessThanOrEqual(Math.log2(1.25) / 2 + 1e-9);
      }
    }),
  );
});

test('what was decoded is encoded as it was', () => {
  const all = Buffer.from(Int8Array.from({ length: 255 }, (_, i) => i - 127)).toString('base64');
  expect(encodeFactors(decodeFactors(all))).toBe(all);
});

test.each([
  [-4, 0.5],
  [-1, 0.875],
  [0, 1],
  [1, 1.25],
  [2, 1.5],
  [3, 1.75],
  [4, 2],
  [127, 1.75 * 2 ** 31],
])('the code %d is the factor %d', (code, expected) => {
  expect([...decodeFactors(Buffer.from([code & 255]).toString('base64'))]).toEqual([expected]);
});

test.each([0, -1, 2 ** 33, Number.NaN, Number.POSITIVE_INFINITY])('no code has the factor %d', (one) => {
  expect(() => encodeFactors([one])).toThrow(RangeError);
});

const plan = { fitted_on: 'two chips', floats: ['a'], factors: { a: 'AAAA' }, ranges: { a: [-1, 1] } };

test('a plan is read as it was written', () => {
  expect(readPlan(Buffer.from(JSON.stringify(plan)), 'my.int8.json')).toEqual(plan);
});

test.each([
  ['is no JSON', '{', 'my.int8.json is not valid JSON: '],
  ['is empty', '{}', 'my.int8.json is not a valid plan:\n'],
  ['has half a range', JSON.stringify({ ...plan, ranges: { a: [1] } }), 'at ranges.a'],
  ['has factors that are no base64', JSON.stringify({ ...plan, factors: { a: 'ä' } }), 'at factors.a'],
  ['has a member that nobody knows', JSON.stringify({ ...plan, shifts: {} }), 'shifts'],
])('a plan that %s is refused', (_, text, message) => {
  expect(() => readPlan(Buffer.from(text), 'my.int8.json')).toThrow(message);
});
