export type Interval = [low: number, high: number];

/** 95 % of the standard normal distribution are within ±z. */
export const z = 1.959963984540054;

/**
 * 95 % confidence interval of a share, observed as `hits` of `trials` (Wilson 1927). Unlike the normal approximation it is
 * valid near 0 and 1, where error rates are. [0, 1] without trials.
 */
export function wilson(hits: number, trials: number): Interval {
  if (trials === 0) return [0, 1];
  const share = hits / trials;
  const weight = z ** 2 / trials;
  const middle = (share + weight / 2) / (1 + weight);
  const half = (z / (1 + weight)) * Math.sqrt((share * (1 - share)) / trials + weight / trials / 4);
  // The bound is exactly 0 or 1 instead of a rounding error next to it.
  return [hits === 0 ? 0 : middle - half, hits === trials ? 1 : middle + half];
}

/** The share of different-person pairs that match at a threshold, and of same-person pairs that do not. */
interface ErrorPoint {
  threshold: number;
  fmr: number;
  fnmr: number;
}

/**
 * Both error rates at the score of every pair, highest first; a pair matches when score >= threshold. The first point is above
 * all scores, where nothing matches. Rates of a kind without pairs are NaN.
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
    // Pairs with the same score match together.
    if (sorted[index + 1]?.score !== pair.score) curve.push(pointAt(pair.score));
  }
  return curve;
}

/** The mean of both rates where they are closest. NaN when one kind has no pairs. */
export function equalErrorRate(curve: readonly ErrorPoint[]): number {
  let best = { gap: Number.POSITIVE_INFINITY, rate: Number.NaN };
  for (const { fmr, fnmr } of curve) {
    const gap = Math.abs(fmr - fnmr);
    if (gap < best.gap) best = { gap, rate: (fmr + fnmr) / 2 };
  }
  return best.rate;
}

/** Least distance of a point that is kept from the one before: in the threshold, and in decades of the rates. */
const stride = { threshold: 0.005, decades: 0.02 };

/**
 * The points that a chart with logarithmic rates can show separately, with both sides of each step. Includes the last point, but
 * not the first at infinity.
 */
export function thinned(curve: readonly ErrorPoint[]): ErrorPoint[] {
  const kept: ErrorPoint[] = [];
  let before: ErrorPoint | undefined;
  for (const point of curve.slice(1)) {
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
  const decades = (a: number, b: number) => (a === b ? 0 : Math.abs(Math.log10(a) - Math.log10(b)));
  return decades(from.fmr, to.fmr) >= stride.decades || decades(from.fnmr, to.fnmr) >= stride.decades;
}

/** A pair's score and label. The score is -Infinity when an image has no face: such a pair never matches. */
export interface Scored {
  score: number;
  same: boolean;
  fold: string | undefined;
}

/**
 * The threshold with the most correct verdicts, where a pair matches when score >= threshold. It is the middle of two
 * neighbouring scores, as in the LFW protocol.
 */
export function bestThreshold(pairs: readonly Scored[]): number {
  const sorted = [...pairs].sort((a, b) => b.score - a.score);
  let right = pairs.filter((pair) => !pair.same).length;
  let best = { right, threshold: Number.POSITIVE_INFINITY };
  for (const [index, pair] of sorted.entries()) {
    right += pair.same ? 1 : -1;
    const next = sorted[index + 1]?.score ?? Number.NEGATIVE_INFINITY;
    if (next === pair.score || right <= best.right) continue;
    best = { right, threshold: Number.isFinite(next) ? (pair.score + next) / 2 : pair.score };
  }
  return best.threshold;
}

/**
 * The share of right verdicts at the threshold that is best on all pairs. With folds it is cross-validated: each fold uses the best
 * threshold of the others, and there is a standard deviation over them.
 */
export function accuracy(pairs: readonly Scored[]) {
  const rightAt = (some: readonly Scored[], threshold: number) =>
    some.filter((pair) => pair.score >= threshold === pair.same).length / some.length;
  const threshold = bestThreshold(pairs);
  const folds = [...new Set(pairs.map((pair) => pair.fold))];
  if (folds.length < 2) return { mean: rightAt(pairs, threshold), deviation: undefined, threshold };
  const each = folds.map((fold) => {
    const others = pairs.filter((pair) => pair.fold !== fold);
    return rightAt(
      pairs.filter((pair) => pair.fold === fold),
      bestThreshold(others),
    );
  });
  const mean = each.reduce((sum, value) => sum + value, 0) / each.length;
  const variance = each.reduce((sum, value) => sum + (value - mean) ** 2, 0) / each.length;
  return { mean, deviation: Math.sqrt(variance), threshold };
}

/**
 * True-accept rate (of same-person pairs) at the lowest threshold whose false-match rate is at most `fmr`. With n
 * different-person pairs, at most floor(fmr * n) of them score as high.
 */
export function tarAtFmr(pairs: readonly Scored[], fmr: number): { tar: number; threshold: number } {
  const scoresOf = (wanted: boolean) =>
    pairs.flatMap(({ same, score }) => (same === wanted ? score : [])).sort((a, b) => b - a);
  const [same, different] = [scoresOf(true), scoresOf(false)];
  const barrier = different[Math.floor(fmr * different.length + 1e-9)] ?? Number.NEGATIVE_INFINITY;
  const accepted = same.filter((score) => score > barrier);
  return { tar: accepted.length / same.length, threshold: accepted.at(-1) ?? Number.POSITIVE_INFINITY };
}

/** A share of trials, each of one person or of two, who are numbered from 0. */
class PeopleRate {
  readonly hitsOf: Float64Array;
  readonly trialsOf: Float64Array;
  hits = 0;
  trials = 0;

  constructor(people: number) {
    this.hitsOf = new Float64Array(people);
    this.trialsOf = new Float64Array(people);
  }

  add(hit: boolean, person: number, other = person): void {
    this.trials++;
    this.trialsOf[person]!++;
    if (other !== person) this.trialsOf[other]!++;
    if (!hit) return;
    this.hits++;
    this.hitsOf[person]!++;
    if (other !== person) this.hitsOf[other]!++;
  }

  /** NaN without trials. */
  get rate(): number {
    return this.hits / this.trials;
  }
}

export class PersonRate extends PeopleRate {
  /**
   * 95 %. Trials of one person are alike, so this is Wilson's interval of as many independent ones as would vary like the people
   * do (the design effect of Kish 1965). Without hits, or with nothing else, as if all were independent.
   */
  get interval(): Interval {
    const { hits, trials, rate } = this;
    const people = this.trialsOf.filter((own) => own > 0).length;
    const squares = this.trialsOf.reduce((sum, own, i) => sum + (this.hitsOf[i]! - rate * own) ** 2, 0);
    const independent = trials * rate * (1 - rate);
    if (people < 2 || !(independent > 0)) return wilson(hits, trials);
    const effect = Math.max(1, ((people / (people - 1)) * squares) / independent);
    return wilson(hits / effect, trials / effect);
  }
}

export class PairRate extends PeopleRate {
  /**
   * 95 %, symmetric in the logarithm, because rates are near 0. Pairs that share a person are not independent, so it comes from leaving
   * out one person at a time (delete-one jackknife). Without hits, as if they were.
   */
  get interval(): Interval {
    const { hits, trials, rate } = this;
    const left: number[] = [];
    for (const [person, own] of this.trialsOf.entries()) {
      const others = trials - own;
      if (own > 0 && others > 0) left.push((hits - this.hitsOf[person]!) / others);
    }
    if (hits === 0 || left.length < 2) return wilson(hits, trials);
    const mean = left.reduce((sum, one) => sum + one, 0) / left.length;
    const squares = left.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    const factor = Math.exp((z * Math.sqrt(((left.length - 1) / left.length) * squares)) / rate);
    return [rate / factor, Math.min(1, rate * factor)];
  }
}
