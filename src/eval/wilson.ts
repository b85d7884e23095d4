/** From low to high. */
export type Interval = [low: number, high: number];

/** Of the standard normal distribution: 95 % lie within it on both sides. */
export const z = 1.959963984540054;

/**
 * 95 % confidence interval of a share that was seen as `hits` of `trials` (Wilson 1927): unlike the textbook's it is of
 * use near 0 and 1, where error rates live. Without a trial nothing is known: 0 to 1.
 */
export function wilson(hits: number, trials: number): Interval {
  if (trials === 0) return [0, 1];
  const share = hits / trials;
  const weight = z ** 2 / trials;
  const middle = (share + weight / 2) / (1 + weight);
  const half = (z / (1 + weight)) * Math.sqrt((share * (1 - share)) / trials + weight / trials / 4);
  // Rounding alone would leave an end next to 0 or 1 where it is that.
  return [hits === 0 ? 0 : middle - half, hits === trials ? 1 : middle + half];
}
