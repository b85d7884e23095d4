import { describe, expect, test } from 'vitest';
import { accuracy, bestThreshold, type Scored, tarAtFmr } from '../../src/eval/metrics.ts';

const pair = (score: number, same: boolean, fold?: string): Scored => ({ score, same, fold });
const same = (...scores: number[]) => scores.map((score) => pair(score, true));
const different = (...scores: number[]) => scores.map((score) => pair(score, false));

describe('the best threshold', () => {
  test('lies in the middle between the last match and the first non-match', () => {
    expect(bestThreshold([...same(0.9, 0.6), ...different(0.2, 0.1)])).toBeCloseTo(0.4);
  });

  test('gives up a same-person pair that scores below many strangers', () => {
    expect(bestThreshold([...same(0.9, 0.05), ...different(0.2, 0.1)])).toBeCloseTo(0.55);
  });

  test('never splits pairs of the same score', () => {
    const tied = [...same(0.5), ...different(0.5, 0.5)];
    expect(bestThreshold(tied)).toBe(Number.POSITIVE_INFINITY);
  });

  test('counts a picture without a face as a non-match', () => {
    const pairs = [...same(0.9, Number.NEGATIVE_INFINITY), ...different(0.1)];
    expect(bestThreshold(pairs)).toBeCloseTo(0.5);
    expect(accuracy(pairs).mean).toBeCloseTo(2 / 3);
  });
});

describe('accuracy', () => {
  test('judges each fold at the threshold of the others', () => {
    // Fold b alone would be best at 0.35; at fold a's 0.55 it gets one of two wrong.
    const pairs = [pair(0.8, true, 'a'), pair(0.3, false, 'a'), pair(0.4, true, 'b'), pair(0.1, false, 'b')];
    const { mean, deviation } = accuracy(pairs);
    // Fold a at b's 0.25: right about 0.8, wrong about 0.3. Fold b at a's 0.55: wrong about 0.4.
    expect(mean).toBeCloseTo(0.5);
    expect(deviation).toBeCloseTo(0);
  });

  test('without folds says so by having no deviation', () => {
    expect(accuracy([...same(1), ...different(0)])).toMatchObject({ mean: 1, deviation: undefined });
  });
});

describe('the true-accept rate', () => {
  const strangers = different(...Array.from({ length: 100 }, (_, i) => i / 200));

  test.each([
    [0, 0.5], // nothing may pass: above 0.495
    [0.01, 0.5], // one stranger may
    [0.1, 0.75],
  ])('at a false-match rate of %d allows no more strangers than that', (fmr, tar) => {
    const point = tarAtFmr([...strangers, ...same(0.9, 0.6, 0.46, 0.1)], fmr);
    expect(point.tar).toBe(tar);
    expect(strangers.filter(({ score }) => score >= point.threshold).length / 100).toBeLessThanOrEqual(fmr);
  });

  test('does not accept a pair that only ties with the first refused stranger', () => {
    expect(tarAtFmr([...different(0.5, 0.4), ...same(0.5, 0.6)], 0).tar).toBe(0.5);
  });
});
