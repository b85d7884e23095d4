import type { Scored } from './metrics.ts';

/** How many pairs have a score in each bin; bin i reaches from `start + i * width` up to, not including, the next. */
export interface Histogram {
  start: number;
  width: number;
  same: number[];
  different: number[];
}

/** Fine enough to see two humps, coarse enough to fill the bins of some thousand pairs. */
const width = 0.02;

/** Pairs without a score, one of whose pictures has no face, are in no bin. */
export function histogram(pairs: readonly Scored[]): Histogram {
  const scored = pairs.filter(({ score }) => Number.isFinite(score));
  const bins = scored.map(({ score }) => Math.floor(score / width));
  const first = bins.reduce((least, bin) => Math.min(least, bin), Number.POSITIVE_INFINITY);
  const last = bins.reduce((most, bin) => Math.max(most, bin), Number.NEGATIVE_INFINITY);
  const length = scored.length === 0 ? 0 : last - first + 1;
  const counts = { same: new Array<number>(length).fill(0), different: new Array<number>(length).fill(0) };
  for (const [i, { same }] of scored.entries()) counts[same ? 'same' : 'different'][bins[i]! - first]!++;
  const start = length === 0 ? 0 : Number((first * width).toFixed(2));
  return { start, width, ...counts };
}
