export type Interval = [low: number, high: number];

/** 95 % of the standard normal distribution is within ±z95. */
export const z95 = 1.959963984540054;

/**
 * Returns t such that 95 % of Student's t distribution is within ±t (Abramowitz and Stegun 1964, 26.7.5). The error is
 * below 0.001 for at least 10 degrees of freedom.
 */
export function t95(degrees: number): number {
  const first = (z95 ** 3 + z95) / 4;
  const second = (5 * z95 ** 5 + 16 * z95 ** 3 + 3 * z95) / 96;
  const third = (3 * z95 ** 7 + 19 * z95 ** 5 + 17 * z95 ** 3 - 15 * z95) / 384;
  return z95 + first / degrees + second / degrees ** 2 + third / degrees ** 3;
}

/**
 * Returns the confidence interval of a share of `hits` in `trials` (Wilson 1927), for `z` standard errors: 95 % by
 * default. Unlike the normal approximation it is valid near 0 and 1, where error rates are. Returns [0, 1] without
 * trials.
 */
export function wilson(hits: number, trials: number, z: number = z95): Interval {
  if (trials === 0) return [0, 1];
  const share = hits / trials;
  const weight = z ** 2 / trials;
  const middle = (share + weight / 2) / (1 + weight);
  const half = (z / (1 + weight)) * Math.sqrt((share * (1 - share)) / trials + weight / trials / 4);
  // Avoids rounding errors at 0 and 1.
  return [hits === 0 ? 0 : middle - half, hits === trials ? 1 : middle + half];
}

/** The share of non-mated pairs that match at a threshold (FMR), and of mated pairs that do not (FNMR). */
interface ErrorPoint {
  threshold: number;
  fmr: number;
  fnmr: number;
}

/**
 * Returns both error rates at the score of every pair, the highest score first. A pair matches if score >= threshold.
 * The first point has an infinite threshold, where no pair matches. A rate without pairs is NaN.
 */
export function errorCurve(pairs: readonly Scored[]): ErrorPoint[] {
  const sorted = [...pairs].sort((a, b) => b.score - a.score);
  const mated = pairs.filter((pair) => pair.same).length;
  const nonMated = pairs.length - mated;
  let accepted = 0;
  let matched = 0;
  const pointAt = (threshold: number): ErrorPoint => ({
    threshold,
    fmr: matched / nonMated,
    fnmr: (mated - accepted) / mated,
  });
  const curve = [pointAt(Number.POSITIVE_INFINITY)];
  for (const [index, pair] of sorted.entries()) {
    if (pair.same) accepted++;
    else matched++;
    // Pairs with equal scores share one point.
    if (sorted[index + 1]?.score !== pair.score) curve.push(pointAt(pair.score));
  }
  return curve;
}

/** Returns the mean of both rates at the threshold where they are closest; NaN if one kind has no pairs. */
export function equalErrorRate(curve: readonly ErrorPoint[]): number {
  let best = { gap: Number.POSITIVE_INFINITY, rate: Number.NaN };
  for (const { fmr, fnmr } of curve) {
    const gap = Math.abs(fmr - fnmr);
    if (gap < best.gap) best = { gap, rate: (fmr + fnmr) / 2 };
  }
  return best.rate;
}

/** Minimum distance between two points that are kept: in the threshold, or in decades of a rate. */
const stride = { threshold: 0.005, decades: 0.02 };

/**
 * Returns the points that are distinguishable in a chart with logarithmic rates, with both sides of each step. Omits
 * the first point, whose threshold is infinite.
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

/** A comparison's score and label. */
export interface Scored {
  score: number;
  same: boolean;
  fold: string | undefined;
}

/**
 * Returns the threshold with the highest number of correct decisions: the midpoint of two neighbouring scores (as in
 * the LFW protocol), the lowest score, or Infinity, so that no pair matches. A pair matches if score >= threshold.
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
 * Returns the share of correct decisions (`mean`) at the best threshold. If the pairs have folds, cross-validates: each fold
 * uses the best threshold of the other folds, and `deviation` is the standard deviation over folds.
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
 * Returns the minimum false non-match rate for a false match rate of at most `fmr`. `threshold` is the lowest mated
 * score that matches, or Infinity. At most floor(fmr * n) of n non-mated pairs match.
 */
export function fnmrAtFmr(pairs: readonly Scored[], fmr: number): { fnmr: number; threshold: number } {
  const scoresOf = (wanted: boolean) =>
    pairs.flatMap(({ same, score }) => (same === wanted ? score : [])).sort((a, b) => b - a);
  const [mated, nonMated] = [scoresOf(true), scoresOf(false)];
  const barrier = nonMated[Math.floor(fmr * nonMated.length + 1e-9)] ?? Number.NEGATIVE_INFINITY;
  const accepted = mated.filter((score) => score > barrier);
  const fnmr = (mated.length - accepted.length) / mated.length;
  return { fnmr, threshold: accepted.at(-1) ?? Number.POSITIVE_INFINITY };
}

/** Share of hits in trials that involve one or two people, who are numbered from 0. */
abstract class PeopleRate {
  readonly hitsOf: Float64Array;
  readonly trialsOf: Float64Array;
  hits = 0;
  trials = 0;

  constructor(people: number) {
    this.hitsOf = new Float64Array(people);
    this.trialsOf = new Float64Array(people);
  }

  /** NaN without trials. */
  get rate(): number {
    return this.hits / this.trials;
  }

  /** Design effect (Kish 1965): trials divided by the number of independent trials with the same certainty. */
  abstract get effect(): number;

  /** Wilson's 95 % interval for the effective number of trials. docs/research/error-rates.md has its coverage. */
  get interval(): Interval {
    const { hits, trials, effect } = this;
    return wilson(hits / effect, trials / effect);
  }

  /** Sums of squares: of each person's deviation from the rate, and of each person's share of the trials. */
  protected get spread() {
    const { rate, trials } = this;
    let people = 0;
    let squares = 0;
    let concentration = 0;
    for (const [person, own] of this.trialsOf.entries()) {
      if (own === 0) continue;
      people++;
      squares += (this.hitsOf[person]! - rate * own) ** 2;
      concentration += (own / trials) ** 2;
    }
    return { people, squares, concentration, independent: trials * rate * (1 - rate) };
  }
}

/**
 * Returns the weighted mean of two design effects, at least 1: `observed` in `seen` people or pairs, and `unseen`,
 * which is assumed without observations. A few errors say little about clustering. `weight` is the weight of `unseen`, in people or
 * pairs. Simulations confirm the coverage of the intervals with these weights (docs/research/error-rates.md).
 */
function blended(observed: number, seen: number, unseen: number, weight: number): number {
  return Math.max(1, (seen * Math.max(1, observed) + weight * unseen) / (seen + weight));
}

export class PersonRate extends PeopleRate {
  add(hit: boolean, person: number): void {
    this.trials++;
    this.trialsOf[person]!++;
    if (!hit) return;
    this.hits++;
    this.hitsOf[person]!++;
  }

  /** Without hits or without misses, people with equally many trials count as one trial each (rule of three). */
  get effect(): number {
    const { trials, hitsOf, trialsOf } = this;
    if (trials === 0) return 1;
    const { people, squares, concentration, independent } = this.spread;
    const observed = independent > 0 && people > 1 ? ((people / (people - 1)) * squares) / independent : 1;
    const withHit = hitsOf.filter((own) => own > 0).length;
    const withMiss = trialsOf.filter((own, i) => own > hitsOf[i]!).length;
    return blended(observed, Math.min(withHit, withMiss), trials * concentration, 2);
  }
}

/** Maximum number of people for whom Pairs keeps a bit per pair (56 MB). With more people it counts all trials. */
const maxTrackedPeople = 30_000;

/** Counts distinct pairs of people. */
class Pairs {
  readonly #bits: Uint32Array;
  count = 0;

  constructor(people: number) {
    this.#bits = new Uint32Array(people > maxTrackedPeople ? 0 : Math.ceil(pairsOf(people) / 32));
  }

  add(first: number, second: number): void {
    const [low, high] = first < second ? [first, second] : [second, first];
    const pair = pairsOf(high) + low;
    const word = Math.floor(pair / 32);
    const bit = 1 << (pair & 31);
    if (this.#bits.length > 0 && (this.#bits[word]! & bit) !== 0) return;
    this.#bits[word]! |= bit;
    this.count++;
  }
}

export const pairsOf = (people: number): number => (people * (people - 1)) / 2;

/**
 * Squared coefficient of variation of the false match rates of single persons, assumed without observations. With
 * it, intervals have the stated coverage in simulations where people account for 40 % of the variance of scores.
 */
const variation = 10;

/**
 * Returns the design effect of comparisons of two people. Comparisons that share a person are not independent. The
 * variance is that of the delete-one jackknife over people, which is not too small on average (Efron and Stein 1981).
 * `pairs` is the number of pairs of people with trials, and `seen` the number with hits. `reach` is the number of
 * standard errors of the bound.
 */
export function pairEffect(
  { squares, concentration, independent }: { squares: number; concentration: number; independent: number },
  { trials, pairs, seen }: { trials: number; pairs: number; seen: number },
  reach = z95,
): number {
  // Each trial counts for two people, so people with equal shares have a concentration of 4 / people.
  const unseen = (trials / pairs) * (1 + reach ** 2 * variation * concentration);
  return blended(independent > 0 ? squares / independent : 1, seen, unseen, 4);
}

export class PairRate extends PeopleRate {
  readonly #pairs: Pairs;
  readonly #pairsWithHit: Pairs;

  constructor(people: number) {
    super(people);
    this.#pairs = new Pairs(people);
    this.#pairsWithHit = new Pairs(people);
  }

  add(hit: boolean, person: number, other: number): void {
    this.trials++;
    this.trialsOf[person]!++;
    this.trialsOf[other]!++;
    this.#pairs.add(person, other);
    if (!hit) return;
    this.hits++;
    this.hitsOf[person]!++;
    this.hitsOf[other]!++;
    this.#pairsWithHit.add(person, other);
  }

  /** Number of distinct pairs of people with trials; with more than maxTrackedPeople, the number of trials. */
  get pairs(): number {
    return this.#pairs.count;
  }

  get effect(): number {
    const { trials, pairs } = this;
    if (trials === 0) return 1;
    return pairEffect(this.spread, { trials, pairs, seen: this.#pairsWithHit.count });
  }
}
