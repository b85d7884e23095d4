import type { CalibrationPoint } from 'facematch/for-lab';
import { fittedPeople, foldPair, foldPairs } from './held-out.ts';

/** Similarities are counted in bins of this width, from `lowest` on. */
const binWidth = 2e-4;
const lowest = -2;
export const bins = 20_000;

export function binOf(score: number): number {
  return Math.min(bins - 1, Math.max(0, Math.floor((score - lowest) / binWidth)));
}

function startOf(bin: number): number {
  return lowest + bin * binWidth;
}

/** Scores of strangers, counted by foldPair and bin. */
export class FoldCounts {
  readonly #byFolds = foldPairs.map(() => new Uint32Array(bins));

  add(folds: number, score: number): void {
    this.#byFolds[folds]![binOf(score)]!++;
  }

  /** The counts of all pairs but those that have a person of these folds. */
  without(left: readonly number[]): Float64Array {
    const sum = new Float64Array(bins);
    for (const [low, high] of foldPairs) {
      if (left.includes(low) || left.includes(high)) continue;
      const some = this.#byFolds[foldPair(low, high)]!;
      for (let bin = 0; bin < bins; bin++) sum[bin]! += some[bin]!;
    }
    return sum;
  }
}

/** Scores of pairs of different people of one group. */
export interface ImpostorScores {
  /** How many pairs lie in each bin. */
  counts: Float64Array;
  people: number;
}

const rates = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 1e-5, 1e-6, 1e-7];
/** The table must be measured down to this rate, and is to the second one where there are enough people; the tail follows. */
const mustBeMeasured = 0.001;
const leastMeasured = 1e-4;
/** The lowest rate that is stated, however many people there are. */
const leastFloor = 1e-6;

/** How many standard errors a group may exceed a stated rate, counting each two people as one pair: no single pair decides. */
const allowedErrors = 3;
/** A group whose allowed number of such pairs is smaller cannot show a rate; from there on it follows the largest group. */
const fewPairs = 5;

/**
 * Similarity → false-match rate, as a table that holds for the worst group: at each rate the lowest similarity at which no group
 * exceeds its allowed rate, as far as its people can show. Below 1 in 10,000, or the rarest rate that the largest group can
 * show, the table continues as a generalised Pareto tail (Pickands, Balkema and de Haan) of the excesses of all groups that can
 * show that rate, fitted by probability-weighted moments (Hosking and Wallis 1987). Its shape is at least 0, an exponential
 * tail, so that no score is out of reach of strangers.
 */
export function fmrTable(groups: readonly ImpostorScores[]): CalibrationPoint[] {
  const largest = groups.reduce((most, group) => (group.people > most.people ? group : most));
  const start = Math.min(...groups.map(({ counts }) => startOf(counts.findIndex((count) => count > 0))));
  const points: CalibrationPoint[] = [[Number(start.toFixed(5)), 1]];
  let before = groups.map(() => 0);
  let largestBefore = 0;
  const measured = rates.filter((rate) => rate >= leastMeasured && peopleCanShow(rate, largest.people));
  const tailStart = measured.at(-1) ?? 1;
  for (const rate of measured) {
    const ofLargest = scoreAt(largest.counts, allowedRate(rate, largest.people));
    const step = ofLargest - largestBefore;
    before = groups.map((group, i) =>
      peopleCanShow(rate, group.people)
        ? scoreAt(group.counts, allowedRate(rate, group.people))
        : before[i]! + step,
    );
    largestBefore = ofLargest;
    add(points, Math.max(...before), rate);
  }
  const from = points.at(-1)![0];
  const shown = groups.filter(({ people }) => peopleCanShow(tailStart, people));
  const { scale, shape } = fitTail(shown, tailStart) ?? lastStep(points);
  for (const rate of rates.filter((one) => one < tailStart)) {
    const share = rate / tailStart;
    const excess = shape < 1e-6 ? -scale * Math.log(share) : (scale / shape) * (share ** -shape - 1);
    add(points, from + excess, rate);
  }
  return points;
}

export const totalOf = (counts: Float64Array) => counts.reduce((sum, count) => sum + count, 0);

/** Throws an Error that says what is needed when a group of `people` cannot show the rates that a table must have. */
export function requirePeople(people: number): void {
  if (people >= leastPeople(mustBeMeasured)) return;
  throw new Error(
    `There are too few people to show a false-match rate of 1 in 1,000: ${people} in the largest group, and at least ` +
      `${leastPeople(mustBeMeasured)} are needed. ${leastPeople(leastMeasured)} show 1 in 10,000, ${leastPeople(1e-5)} show ` +
      `1 in 100,000, and ${leastPeople(leastFloor)} show 1 in 1,000,000, the lowest rate that is stated. One image of each ` +
      'is enough.',
  );
}

/**
 * The lowest rate that groups of so many people can show together, also when a check keeps some of them aside: the floor of a table,
 * whose tail is fitted to all of them. No person may be in two of the groups.
 */
export function floorOf(sizes: readonly number[]): number {
  const pairs = sizes.reduce((sum, people) => sum + peoplePairs(fittedPeople(people)), 0);
  return rates.filter((rate) => rate >= leastFloor && pairsCanShow(rate, pairs)).at(-1) ?? mustBeMeasured;
}

/** The smallest single group that can show a rate. */
function leastPeople(rate: number): number {
  let people = 2;
  while (!peopleCanShow(rate, fittedPeople(people))) people++;
  return people;
}

/** How often strangers of a group may pass where the table states a rate. */
export function allowedRate(rate: number, people: number): number {
  return Math.min(1, rate + allowedErrors * Math.sqrt(rate / peoplePairs(people)));
}

export function peopleCanShow(rate: number, people: number): boolean {
  return pairsCanShow(rate, peoplePairs(people));
}

export function pairsCanShow(rate: number, pairs: number): boolean {
  return Math.min(pairs, rate * pairs + allowedErrors * Math.sqrt(rate * pairs)) >= fewPairs;
}

function peoplePairs(people: number): number {
  return (people * (people - 1)) / 2;
}

/** The similarity above which a share of the pairs lies. */
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
 * Fits the tail to the excesses of each group over its own score at `rate`, by two moments: their mean, and their mean weighted
 * by the share above each. Undefined when no score exceeds it, because several share the highest.
 */
function fitTail(groups: readonly ImpostorScores[], rate: number) {
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
  // When all excesses are equal, the shape is undefined: 0 / 0 except for rounding.
  const shape = spread > 1e-9 * mean ? 2 - mean / spread : 0;
  return shape > 0 ? { shape, scale: (2 * mean * second) / spread } : { shape: 0, scale: mean };
}

/** The exponential tail that goes on like the last two points. */
function lastStep(points: readonly CalibrationPoint[]) {
  const [[lower, often], [higher, seldom]] = points.slice(-2) as [CalibrationPoint, CalibrationPoint];
  return { shape: 0, scale: (higher - lower) / Math.log(often / seldom) };
}

/** Similarities must rise: of points with the same score only the rarest is kept. */
function add(points: CalibrationPoint[], score: number, rate: number): void {
  const rounded = Number(score.toFixed(5));
  while (points.length > 1 && points.at(-1)![0] >= rounded) points.pop();
  points.push([rounded, rate]);
}
