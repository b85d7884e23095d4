import { describe, expect, test } from 'vitest';
import { Calibration, type CalibrationPoint } from '../../src/calibration.ts';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import { generator } from '../support/random.ts';

/**
 * The best of n pairs of strangers must not reach a percent more often than one pair does. Simulated with scores drawn
 * from the committed tables themselves, by inverse transform.
 */

/** The similarity that a share `rate` of strangers' pairs exceeds: the table read backwards, log10 of the rate linear. */
function quantile(points: readonly CalibrationPoint[], rate: number): number {
  const right = points.findIndex(([, other]) => other <= rate);
  if (right === 0) return points[0]![0];
  const at = right === -1 ? points.length - 1 : right;
  const [[x0, r0], [x1, r1]] = [points[at - 1]!, points[at]!];
  return x0 + ((x1 - x0) * Math.log(rate / r0)) / Math.log(r1 / r0);
}

const groups = 20_000;

/** How many groups of n strangers' pairs have a best that is judged to be at least `percent`. */
function reached(points: readonly CalibrationPoint[], n: number, percent: number, judgedAs: number): number {
  const random = generator(100 * n + percent);
  const calibration = new Calibration(points);
  let count = 0;
  for (let group = 0; group < groups; group++) {
    let best = Number.NEGATIVE_INFINITY;
    for (let pair = 0; pair < n; pair++) {
      const rate = 1 - random(); // above 0
      best = Math.max(best, quantile(points, rate));
    }
    if (calibration.judge(best, judgedAs).confidence_percent >= percent) count++;
  }
  return count;
}

/** What a binomial count stays within, but for one time in some ten thousand. */
function spread(share: number): { least: number; most: number } {
  const mean = groups * share;
  const deviation = Math.sqrt(mean * (1 - share));
  return { least: mean - 4 * deviation, most: mean + 4 * deviation };
}

const { calibration } = readManifest(packDirectory('default'));

describe.each(Object.entries(calibration))('the committed table of mode %s', (_, { points }) => {
  describe.each([50, 60])('at %d percent', (percent) => {
    const promised = 10 ** ((30 - percent) / 10);

    test.each([1, 4, 9, 20, 100])('the best of %d gets there as rarely as promised', (n) => {
      // Of n independent pairs, each held to an nth of the promised rate.
      const expected = 1 - (1 - promised / n) ** n;
      const count = reached(points, n, percent, n);
      expect(count).toBeLessThanOrEqual(spread(promised).most);
      expect(count).toBeGreaterThanOrEqual(spread(expected).least);
    });

    test.each([4, 9, 20, 100])('the best of %d, judged as if it were one, would get there too often', (n) => {
      const count = reached(points, n, percent, 1);
      expect(count).toBeGreaterThan(spread(promised).most);
      expect(count).toBeGreaterThanOrEqual(spread(1 - (1 - promised) ** n).least);
    });
  });
});
