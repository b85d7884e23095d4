import { expect, test } from 'vitest';
import { decodeFactors, readPlan } from '../../models/prepare/int8/plan.ts';

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
