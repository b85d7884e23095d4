import { describe, expect, test } from 'vitest';
import {
  type Example,
  fitLinear,
  humanThreshold,
  linearScore,
  quantiseLinear,
  tallyLinear,
} from '../../src/lab/linear-score.ts';
import { Random } from '../support/random.mjs';

const seeded = new Random(11);
const random = () => seeded.next();

/** Unit vectors of 16 numbers that lean towards an axis. */
function faces(set: string, count: number, axis: number): Example[] {
  return Array.from({ length: count }, (_, i) => {
    const vector = Float32Array.from({ length: 16 }, () => random() - 0.5);
    vector[axis]! += 1.5;
    const length = Math.hypot(...vector);
    return { source: `${set}${i}`, set, embedding: vector.map((value) => value / length) };
  });
}

const people = faces('people', 400, 0);
const dogs = faces('dogs', 30, 1);

describe('the human check', () => {
  const check = fitLinear(people, dogs);

  test('tells people from others, though there are far fewer of them', () => {
    for (const { embedding } of people) expect(linearScore(check, embedding)).toBeGreaterThan(humanThreshold);
    for (const { embedding } of dogs) expect(linearScore(check, embedding)).toBeLessThan(0);
  });

  test('keeps its scores when its weights are stored as bytes', () => {
    const { bytes, scale } = quantiseLinear(check);
    expect(Math.max(...bytes.map(Math.abs))).toBe(127);
    for (const { embedding } of [...people, ...dogs]) {
      const stored = bytes.reduce((sum, byte, i) => sum + byte * scale * embedding[i]!, check.bias);
      expect(stored).toBeCloseTo(linearScore(check, embedding), 1);
    }
  });

  test('is judged by people and pictures that it was not fitted to', () => {
    // Nothing tells these apart but which vector is whose: a check that has seen them would know.
    const same = faces('one', 40, 3);
    const other = faces('other', 40, 3);
    const tally = tallyLinear(same, other, humanThreshold, () => true);
    expect(tally.map(({ set, faces: all }) => [set, all])).toEqual([
      ['one', 40],
      ['other', 40],
    ]);
    const known = tallyLinear(people, dogs, humanThreshold, ({ source }) => source !== 'dogs0');
    expect(known).toEqual([
      { set: 'people', faces: 400, passed: 400, sources: 400, sources_passed: 400 },
      expect.objectContaining({ set: 'dogs', faces: 29, sources: 29 }),
    ]);
    expect(known[1]!.passed).toBeLessThan(29 / 4);
  });
});
