import type { CalibrationPoint } from '../calibration.ts';

/** Scores of different-person pairs of one set. Sets count by `weight`, however many pairs they have. */
export interface ImpostorScores {
  scores: Float64Array;
  weight: number;
}

/** Where the measured part of the table has its points, and how far the tail goes. */
const measuredRates = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const tailRates = [5e-4, 2e-4, 1e-4, 1e-5, 1e-6, 1e-7];
/** The tail is fitted to the scores above the one with this rate. */
const tailStart = 0.001;

/** Scores of all sets, highest first, and what each counts; the weights add up to 1. Millions, hence typed arrays. */
interface Pooled {
  scores: Float64Array;
  weights: Float64Array;
}

/**
 * Similarity → false-match rate, as a table: quantiles of the weighted scores down to a rate of 1 in 1,000; below it
 * a generalised Pareto tail (Pickands, Balkema and de Haan), by probability-weighted moments (Hosking and Wallis
 * 1987), whose shape is held at 0 or above: an exponential tail at least, never a score that no stranger could reach.
 */
export function fmrTable(sets: readonly ImpostorScores[]): CalibrationPoint[] {
  const pooled = pool(sets);
  const lowest = pooled.scores.at(-1)!;
  const points: CalibrationPoint[] = [[lowest, 1]];
  const start = scoreAt(pooled, tailStart);
  for (const rate of measuredRates) add(points, scoreAt(pooled, rate), rate);
  const { scale, shape } = fitTail(pooled, start);
  for (const rate of tailRates) {
    const share = rate / tailStart;
    const excess = shape < 1e-6 ? -scale * Math.log(share) : (scale / shape) * (share ** -shape - 1);
    add(points, start + excess, rate);
  }
  return points;
}

function pool(sets: readonly ImpostorScores[]): Pooled {
  const total = sets.reduce((sum, { weight }) => sum + weight, 0);
  const queues = sets.map(({ scores, weight }) => ({
    rising: Float64Array.from(scores).sort(),
    left: scores.length,
    weight: weight / total / scores.length,
  }));
  const length = queues.reduce((sum, { left }) => sum + left, 0);
  const pooled = { scores: new Float64Array(length), weights: new Float64Array(length) };
  for (let i = 0; i < length; i++) {
    let next = queues[0]!;
    for (const queue of queues) {
      if (queue.left > 0 && (next.left === 0 || queue.rising[queue.left - 1]! > next.rising[next.left - 1]!))
        next = queue;
    }
    pooled.scores[i] = next.rising[--next.left]!;
    pooled.weights[i] = next.weight;
  }
  return pooled;
}

function scoreAt({ scores, weights }: Pooled, rate: number): number {
  let sum = 0;
  for (let i = 0; i < scores.length; i++) {
    sum += weights[i]!;
    if (sum >= rate) return scores[i]!;
  }
  return scores.at(-1)!;
}

/** Moments of the excesses over `start`: their mean, and their mean weighted by the share that is higher still. */
function fitTail({ scores, weights }: Pooled, start: number): { scale: number; shape: number } {
  let total = 0;
  let sum = 0;
  let lowered = 0;
  for (let i = 0; scores[i]! > start; i++) {
    const excess = scores[i]! - start;
    sum += weights[i]! * excess;
    lowered += weights[i]! * excess * (total + weights[i]! / 2);
    total += weights[i]!;
  }
  if (total === 0)
    throw new Error('too few pairs of different people to fit the tail of the false-match rate');
  const mean = sum / total;
  const second = lowered / total / total;
  const spread = mean - 2 * second;
  // Excesses that are one and the same tell nothing of the shape: 0 / 0, but for rounding.
  const shape = spread > 1e-9 * mean ? 2 - mean / spread : 0;
  return shape > 0 ? { shape, scale: (2 * mean * second) / spread } : { shape: 0, scale: mean };
}

/** Similarities must rise: scores that coincide give one point, the rarer. */
function add(points: CalibrationPoint[], score: number, rate: number): void {
  const rounded = Number(score.toFixed(5));
  while (points.length > 1 && points.at(-1)![0] >= rounded) points.pop();
  points.push([rounded, rate]);
}
