import type { CalibrationPoint } from 'facematch/for-lab';
import { foldPair, foldPairs } from './held-out.ts';
import { pairEffect, pairsOf, wilson } from './metrics.ts';

/** Similarities are counted in bins of this width, starting at `lowest`. */
const binWidth = 2e-4;
const lowest = -2;
export const bins = 20_000;

export function binOf(score: number): number {
  return Math.min(bins - 1, Math.max(0, Math.floor((score - lowest) / binWidth)));
}

function startOf(bin: number): number {
  return lowest + bin * binWidth;
}

/** Scores of non-mated pairs, counted by foldPair and bin. */
export class FoldCounts {
  readonly #byFolds = foldPairs.map(() => new Uint32Array(bins));
  /** First and last bin with a score, because most bins are empty. */
  #first = bins;
  #last = -1;

  add(folds: number, score: number): void {
    const bin = binOf(score);
    this.#byFolds[folds]![bin]!++;
    if (bin < this.#first) this.#first = bin;
    if (bin > this.#last) this.#last = bin;
  }

  /** Returns the counts of all pairs without a person of these folds. */
  without(left: readonly number[]): Float64Array {
    const sum = new Float64Array(bins);
    for (const [low, high] of foldPairs) {
      if (left.includes(low) || left.includes(high)) continue;
      const some = this.#byFolds[foldPair(low, high)]!;
      for (let bin = this.#first; bin <= this.#last; bin++) sum[bin]! += some[bin]!;
    }
    return sum;
  }
}

/** Bins of PersonCounts are this many times as wide as binWidth, because the design effect changes slowly. */
const coarse = 100;
const coarseBins = bins / coarse;

/** Measures how strongly the high scores of non-mated pairs cluster by person. */
export class PersonCounts {
  readonly people: number;
  readonly #counts: Uint32Array;

  constructor(people: number) {
    this.people = people;
    this.#counts = new Uint32Array(people * coarseBins);
  }

  add(first: number, second: number, score: number): void {
    const bin = Math.floor(binOf(score) / coarse);
    this.#counts[first * coarseBins + bin]!++;
    this.#counts[second * coarseBins + bin]!++;
  }

  /** Returns a function from a score to the design effect of the share of pairs that reach it. */
  effects(): (score: number) => number {
    const { people } = this;
    const counts = this.#counts;
    const trials = Float64Array.from({ length: people }, (_, person) =>
      counts.subarray(person * coarseBins, (person + 1) * coarseBins).reduce((sum, count) => sum + count, 0),
    );
    const total = trials.reduce((sum, own) => sum + own, 0) / 2;
    const pairs = Math.max(1, Math.min(total, pairsOf(people)));
    const concentration = trials.reduce((sum, own) => sum + (own / total) ** 2, 0);
    const hits = new Float64Array(people);
    const effects = new Float64Array(coarseBins);
    for (let bin = coarseBins - 1; bin >= 0; bin--) {
      let both = 0;
      for (let person = 0; person < people; person++) {
        hits[person]! += counts[person * coarseBins + bin]!;
        both += hits[person]!;
      }
      const rate = both / 2 / total;
      const independent = total * rate * (1 - rate);
      // The jackknife counts the random part of each pair twice (Efron and Stein 1981).
      const squares =
        hits.reduce((sum, own, person) => sum + (own - rate * trials[person]!) ** 2, 0) - independent;
      const seen = Math.min(pairs, both / 2) * (pairs / total);
      effects[bin] = pairEffect(
        { squares, concentration, independent },
        { trials: total, pairs, seen },
        reach,
      );
    }
    return (score) => effects[Math.floor(binOf(score) / coarse)]!;
  }
}

/** Scores of non-mated pairs of one group. */
export interface NonMatedScores {
  /** Number of pairs in each bin. */
  counts: Float64Array;
  people: number;
  /** Returns the design effect at a score, from PersonCounts. Without it, the number of people determines the effect. */
  effectAt?: (score: number) => number;
}

const rates = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6, 1e-7];
/** There must be enough people to measure the table down to this rate. */
const mustBeMeasured = 0.005;
/** The table is measured down to this rate if there are enough people. The fitted tail follows. */
const lowestMeasured = 1e-4;
/** The lowest possible floor, for any number of people. */
const lowestFloor = 1e-6;

/** Standard errors of a one-sided 90 % confidence bound. A stated rate is this upper bound of the measured rate. */
const reach = 1.2815515655446004;
/**
 * A rate can be measured if at least this many pairs are expected to reach it. Its error is then below a factor of
 * two, even if pairs share people.
 */
const minExpectedPairs = 10;

/**
 * Fits a table from similarity to false match rate that is valid for the group with the highest rates.
 *
 * The table has, for each rate, the lowest similarity at which no group's upper confidence bound exceeds the rate. A
 * group with too few people to measure the rate follows the steps of the largest group.
 *
 * Below 1 in 10,000, or the lowest rate that the largest group can measure, the table continues as a generalised
 * Pareto tail (Pickands, Balkema and de Haan). It is fitted to the excesses of all groups that can measure the rate
 * where it starts, by probability-weighted moments (Hosking and Wallis 1987). The tail is never below the bound of all
 * groups together, at each rate that they can measure. Its shape is at least 0 (exponential), so no score has the rate 0.
 */
export function fmrTable(scores: readonly NonMatedScores[]): CalibrationPoint[] {
  const groups = scores.map(counted);
  const largest = groups.reduce((max, group) => (group.people > max.people ? group : max));
  const start = Math.min(...groups.map(({ counts }) => startOf(counts.findIndex((count) => count > 0))));
  const points: CalibrationPoint[] = [[Number(start.toFixed(5)), 1]];
  let before = groups.map(() => 0);
  let largestBefore = 0;
  const measured = rates.filter((rate) => rate >= lowestMeasured && peopleCanShow(rate, largest.people));
  const tailStart = measured.at(-1) ?? 1;
  for (const rate of measured) {
    const ofLargest = boundedScoreAt(largest, rate);
    const step = ofLargest - largestBefore;
    before = groups.map((group, i) =>
      peopleCanShow(rate, group.people) ? boundedScoreAt(group, rate) : before[i]! + step,
    );
    largestBefore = ofLargest;
    add(points, Math.max(...before), rate);
  }
  const from = points.at(-1)![0];
  const shown = groups.filter(({ people }) => peopleCanShow(tailStart, people));
  const { scale, shape } = fitTail(shown, tailStart) ?? lastStep(points);
  const together = pooled(groups);
  for (const rate of rates.filter((one) => one < tailStart)) {
    const share = rate / tailStart;
    const excess = shape < 1e-6 ? -scale * Math.log(share) : (scale / shape) * (share ** -shape - 1);
    const shows = pairsCanShow(rate, pairsOfAll(groups));
    add(points, Math.max(from + excess, shows ? boundedScoreAt(together, rate) : from), rate);
  }
  return points;
}

export const totalOf = (counts: Float64Array) => counts.reduce((sum, count) => sum + count, 0);

/** Scores with their total number of pairs, which is computed only once. */
type Counted = NonMatedScores & { total: number };
const counted = (scores: NonMatedScores): Counted => ({ ...scores, total: totalOf(scores.counts) });

const pairsOfAll = (groups: readonly NonMatedScores[]) =>
  groups.reduce((sum, { people }) => sum + pairsOf(people), 0);

/** Returns all groups as one group, with the size and the design effect of the largest group. */
function pooled(groups: readonly NonMatedScores[]): Counted {
  const counts = new Float64Array(bins);
  for (const group of groups) for (let bin = 0; bin < bins; bin++) counts[bin]! += group.counts[bin]!;
  const [first] = groups.toSorted((a, b) => b.people - a.people);
  return counted({ counts, people: first!.people, ...(first!.effectAt && { effectAt: first!.effectAt }) });
}

/** Returns the lowest similarity where the upper bound of the group's rate is at most `rate`. */
function boundedScoreAt({ counts, people, effectAt, total }: Counted, rate: number): number {
  const unseen = () =>
    pairEffect(
      { squares: 0, concentration: 4 / people, independent: 0 },
      { trials: total, pairs: Math.min(total, pairsOf(people)), seen: rate * pairsOf(people) },
      reach,
    );
  // Starts at the highest score, because the bounds rise with the count.
  let above = 0;
  for (let bin = bins - 1; bin >= 0; bin--) {
    above += counts[bin]!;
    // Skips bins where the measured rate is below a tenth of `rate`. Their bound is at most four times as high as the
    // measured rate, so it is below `rate`.
    if (counts[bin] === 0 || above / total < rate / 10) continue;
    const effect = effectAt?.(startOf(bin)) ?? unseen();
    if (above / total > rate || wilson(above / effect, total / effect, reach)[1] > rate)
      return startOf(bin + 1);
  }
  return lowest;
}

/** Throws an Error with the required number if a group of `people` is too small for a table. */
export function requirePeople(people: number): void {
  if (people >= minPeople(mustBeMeasured)) return;
  throw new Error(
    `There are too few people to measure a false match rate of 1 in 200: the largest group has ${people}, but needs at least ` +
      `${minPeople(mustBeMeasured)}. With ${minPeople(1e-3)} it can measure 1 in 1,000, with ${minPeople(1e-4)} 1 in 10,000, ` +
      `with ${minPeople(1e-5)} 1 in 100,000, and with ${minPeople(lowestFloor)} 1 in 1,000,000, the lowest possible rate. ` +
      'One image per person is enough.',
  );
}

/** Returns the lowest rate that this many pairs of people can measure; mustBeMeasured if they can measure none. */
export function floorOf(pairs: number): number {
  return rates.filter((rate) => rate >= lowestFloor && pairsCanShow(rate, pairs)).at(-1) ?? mustBeMeasured;
}

/** Returns the size of the smallest group that can measure a rate. */
export function minPeople(rate: number): number {
  let people = 2;
  while (!peopleCanShow(rate, people)) people++;
  return people;
}

export function peopleCanShow(rate: number, people: number): boolean {
  return pairsCanShow(rate, pairsOf(people));
}

/** `pairs` counts pairs of people, not of images. */
export function pairsCanShow(rate: number, pairs: number): boolean {
  return rate * pairs >= minExpectedPairs * (1 - 1e-9);
}

/** Returns the similarity that this share of the pairs reaches. */
export function scoreAt(counts: Float64Array, rate: number): number {
  const wanted = rate * totalOf(counts);
  let above = 0;
  for (let bin = bins - 1; bin >= 0; bin--) {
    above += counts[bin]!;
    if (above >= wanted) return startOf(bin + 1);
  }
  return lowest;
}

/**
 * Fits the tail to the excesses of each group over its own score at `rate`. Uses two moments: the mean, and the mean
 * weighted by the share of higher excesses. Returns undefined if no score exceeds the score at `rate`.
 */
function fitTail(groups: readonly NonMatedScores[], rate: number) {
  const excesses = new Float64Array(bins);
  for (const { counts } of groups) {
    const start = binOf(scoreAt(counts, rate) + binWidth / 2);
    for (let bin = start; bin < bins; bin++) excesses[bin - start]! += counts[bin]!;
  }
  let total = 0;
  let sum = 0;
  let lowered = 0;
  for (let bin = bins - 1; bin >= 0; bin--) {
    const excess = (bin + 0.5) * binWidth;
    sum += excesses[bin]! * excess;
    lowered += excesses[bin]! * excess * (total + excesses[bin]! / 2);
    total += excesses[bin]!;
  }
  if (total === 0) return undefined;
  const mean = sum / total;
  const second = lowered / total / total;
  const spread = mean - 2 * second;
  // Uses shape 0 if all excesses are equal, because the formula would divide 0 by 0.
  const shape = spread > 1e-9 * mean ? 2 - mean / spread : 0;
  return shape > 0 ? { shape, scale: (2 * mean * second) / spread } : { shape: 0, scale: mean };
}

/** Returns the exponential tail that continues the last two points. */
function lastStep(points: readonly CalibrationPoint[]) {
  const [[lower, often], [higher, seldom]] = points.slice(-2) as [CalibrationPoint, CalibrationPoint];
  return { shape: 0, scale: (higher - lower) / Math.log(often / seldom) };
}

/** Adds a point. Similarities must rise, so points with the same or a higher score are removed first. */
function add(points: CalibrationPoint[], score: number, rate: number): void {
  const rounded = Number(score.toFixed(5));
  while (points.length > 1 && points.at(-1)![0] >= rounded) points.pop();
  points.push([rounded, rate]);
}
