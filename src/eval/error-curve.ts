import type { Scored } from './metrics.ts';

/** At a threshold: the share of different-person pairs that match, and of same-person pairs that do not. */
export interface ErrorPoint {
  threshold: number;
  fmr: number;
  fnmr: number;
}

/**
 * Both error rates at every score that a pair has, highest first, matching when score >= threshold; it begins above all
 * scores, where nothing matches. Rates of a kind that has no pair are NaN.
 */
export function errorCurve(pairs: readonly Scored[]): ErrorPoint[] {
  const sorted = pairs.filter(({ score }) => Number.isFinite(score)).sort((a, b) => b.score - a.score);
  const same = pairs.filter((pair) => pair.same).length;
  const different = pairs.length - same;
  let accepted = 0;
  let matched = 0;
  const pointAt = (threshold: number): ErrorPoint => ({
    threshold,
    fmr: matched / different,
    fnmr: (same - accepted) / same,
  });
  const curve = [pointAt(Number.POSITIVE_INFINITY)];
  for (const [index, pair] of sorted.entries()) {
    if (pair.same) accepted++;
    else matched++;
    // Pairs of one score pass together.
    if (sorted[index + 1]?.score !== pair.score) curve.push(pointAt(pair.score));
  }
  return curve;
}

/** Where both rates are nearest to one another: their mean. NaN when there are pairs of one kind only. */
export function equalErrorRate(curve: readonly ErrorPoint[]): number {
  let best = { gap: Number.POSITIVE_INFINITY, rate: Number.NaN };
  for (const { fmr, fnmr } of curve) {
    const gap = Math.abs(fmr - fnmr);
    if (gap < best.gap) best = { gap, rate: (fmr + fnmr) / 2 };
  }
  return best.rate;
}

/** How far a point must be from the one before to be kept: thresholds, and rates in powers of ten. */
const stride = { threshold: 0.005, decades: 0.02 };

/**
 * The points that a chart with logarithmic rates can tell apart, and of a step both sides; the last one always, the endless first
 * never.
 */
export function thinned(curve: readonly ErrorPoint[]): ErrorPoint[] {
  const kept: ErrorPoint[] = [];
  let before: ErrorPoint | undefined;
  for (const point of curve.filter(({ threshold }) => Number.isFinite(threshold))) {
    const last = kept.at(-1);
    if (last === undefined || isStep(last, point) || last.threshold - point.threshold >= stride.threshold) {
      if (before !== undefined && before !== last && isStep(before, point)) kept.push(before);
      kept.push(point);
    }
    before = point;
  }
  if (before !== undefined && before !== kept.at(-1)) kept.push(before);
  return kept;
}

function isStep(from: ErrorPoint, to: ErrorPoint): boolean {
  return decades(from.fmr, to.fmr) >= stride.decades || decades(from.fnmr, to.fnmr) >= stride.decades;
}

function decades(a: number, b: number): number {
  if (a === b) return 0;
  return Math.abs(Math.log10(a) - Math.log10(b));
}
