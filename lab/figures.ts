import {
  type AccuracyMode,
  type Calibration,
  lowQuality,
  promisedRate,
  qualityLimits,
} from 'facematch/for-lab';
import type { EmbeddedImage } from './embed-worker.ts';
import {
  accuracy,
  equalErrorRate,
  errorCurve,
  fnmrAtFmr,
  PairRate,
  PersonRate,
  type Scored,
  thinned,
} from './metrics.ts';
import type { AlikePair } from './non-mated.ts';
import { type Compared, type JudgedPair, percentOf, type ScoreKind, scoredBy, worstPairs } from './pairs.ts';

/** Fine enough to show the shape, coarse enough for some thousand pairs. */
const width = 0.02;

/** Number of pairs with a score in each bin; bin i starts at `start + i * width` and ends before the next. */
export function histogram(pairs: readonly Scored[]) {
  const binOf = ({ score }: Scored) => Math.floor(score / width);
  const scored = [...pairs].sort((a, b) => a.score - b.score);
  const [lowest, highest] = [scored[0], scored.at(-1)];
  if (!lowest || !highest) return { start: 0, width, mated: [], non_mated: [] as number[] };
  const first = binOf(lowest);
  const bins = () => new Array<number>(binOf(highest) - first + 1).fill(0);
  const counts = { mated: bins(), non_mated: bins() };
  for (const pair of scored) counts[pair.same ? 'mated' : 'non_mated'][binOf(pair) - first]!++;
  return { start: Number((first * width).toFixed(2)), width, ...counts };
}

/** The cohort that normalises similarities; `none` if the pack has none, so that the cosine is used. */
export type CohortUse = 'pack' | 'held-out' | 'none';

/** Figures of one score. Rates of no pairs are NaN, in JSON null. */
export type ScoreFigures = ReturnType<typeof scoreFigures>;
export type Figures = ReturnType<typeof figuresOf>;

interface Judged {
  set: string;
  mode: AccuracyMode;
  cohort: CohortUse;
  /** Pairs whose images both have a face. */
  pairs: readonly JudgedPair[];
  /** Number of other pairs with an image that could not be read. */
  not_compared: number;
  /** Number of other pairs with an image without a face. */
  not_acquired: PairCounts;
  /** Lists for each readable image whether it has no face, and the number of its person. */
  acquisitions: readonly { failed: boolean; person: number }[];
  /** Non-mated pairs that were omitted: copies, or one person under two names. */
  too_alike: readonly AlikePair[];
  images: ReadonlyMap<string, EmbeddedImage>;
  /** Undefined for a pack without a calibration, which has only cosines and their rates. */
  calibration: Calibration | undefined;
  seconds: number;
}

/** Number of pairs of each kind. */
export interface PairCounts {
  mated: number;
  non_mated: number;
}

export function figuresOf({ pairs, images, calibration, seconds, acquisitions, ...about }: Judged) {
  const mated = pairs.filter((pair) => pair.same).length;
  const counts: PairCounts = { mated, non_mated: pairs.length - mated };
  const { not_acquired } = about;
  const by: Record<ScoreKind, ScoreFigures> = {
    // The service uses this score.
    normalised: scoreFigures(scoredBy(pairs, 'normalised'), calibration, not_acquired),
    cosine: scoreFigures(scoredBy(pairs, 'cosine'), undefined, not_acquired),
  };
  const failures = new PersonRate(1 + acquisitions.reduce((most, { person }) => Math.max(most, person), 0));
  for (const { failed, person } of acquisitions) failures.add(failed, person);
  const { rate, interval, trials } = failures;
  return {
    ...about,
    // Comparisons: rates of errors are shares of these.
    pairs: counts,
    images: images.size,
    failure_to_acquire: { rate, interval, trials },
    by,
    // The worst are chosen by the normalised similarity.
    worst: worstPairs(pairs, calibration),
    ...imageFigures(images),
    images_per_second: images.size / seconds,
  };
}

/**
 * Images without a face, unreadable images with the reason, and the number of compared faces with each
 * warning.
 */
export function imageFigures(images: ReadonlyMap<string, EmbeddedImage>) {
  const all = [...images];
  const failures: Record<string, string> = Object.fromEntries(
    all.flatMap(([name, { failure }]) => (failure ? [[name, failure]] : [])),
  );
  const faceless = all.filter(([, { embedding, failure }]) => !embedding && !failure);
  const faces = all.flatMap(([, { faces, chosen }]) => faces[chosen] ?? []);
  const reasons = faces.flatMap((face) => lowQuality('image', face).map(({ reason }) => reason));
  const low_quality = Object.fromEntries(
    qualityLimits.map(({ reason }) => [reason, reasons.filter((each) => each === reason).length]),
  );
  return { without_face: faceless.map(([name]) => name), failures, low_quality };
}

function scoreFigures(
  scored: readonly Compared[],
  calibration: Calibration | undefined,
  notAcquired: PairCounts,
) {
  const curve = errorCurve(scored);
  return {
    accuracy: accuracy(scored),
    equal_error_rate: equalErrorRate(curve),
    // The first are at false match rates of this set, the second at percents of the pack's calibration; a
    // cosine has none.
    operating_points: ratePoints(scored, calibration, notAcquired),
    percent_points: calibration ? percentPoints(scored, calibration, notAcquired) : [],
    histogram: histogram(scored),
    // Rounded to what a chart can show, highest threshold first.
    curve: thinned(curve).map(({ threshold, fmr, fnmr }): [threshold: number, fmr: number, fnmr: number] => [
      Number(threshold.toFixed(4)),
      Number(fmr.toPrecision(4)),
      Number(fnmr.toPrecision(4)),
    ]),
  };
}

export type Observed = ReturnType<typeof observe>;

export interface ThresholdPoint extends Observed {
  /** The false match rate of the threshold: requested, or stated by the pack. */
  target_fmr: number;
  threshold: number;
  /** The threshold in percent of the pack's calibration; undefined for a cosine. */
  confidence_percent: number | undefined;
}

export const askedRates = [1e-2, 1e-3, 1e-4];
export const percents = [50, 60, 70];

/**
 * Returns the lowest thresholds for certain false match rates on this set, as far as its non-mated pairs can
 * show them.
 */
export function ratePoints(
  pairs: readonly Compared[],
  calibration: Calibration | undefined,
  notAcquired?: PairCounts,
): ThresholdPoint[] {
  const nonMated = pairs.filter(({ same }) => !same).length;
  return askedRates
    .filter((rate) => canShow(rate, nonMated))
    .map((target_fmr) => {
      const { threshold } = fnmrAtFmr(pairs, target_fmr);
      const confidence_percent = percentOf(threshold, calibration);
      return { target_fmr, threshold, confidence_percent, ...observe(pairs, threshold, notAcquired) };
    });
}

/** Returns the thresholds of certain percents of the pack's calibration, and their rates on this set. */
export function percentPoints(
  pairs: readonly Compared[],
  calibration: Calibration,
  notAcquired?: PairCounts,
): ThresholdPoint[] {
  return percents.map((confidence_percent) => {
    // Powers of ten, without rounding errors.
    const target_fmr = Number(promisedRate(confidence_percent).toPrecision(6));
    const threshold = calibration.similarityAt(target_fmr);
    return { target_fmr, threshold, confidence_percent, ...observe(pairs, threshold, notAcquired) };
  });
}

/** Returns true if this many non-mated pairs can show a false match rate at all: one of them is as rare. */
export function canShow(fmr: number, nonMated: number): boolean {
  return fmr * nonMated >= 1 - 1e-9;
}

const none: PairCounts = { mated: 0, non_mated: 0 };

/**
 * Returns error rates at a threshold, in the terms of ISO/IEC 19795-1: the false match rate (FMR) and the
 * false non-match rate (FNMR) are shares of the comparisons, with 95 % intervals by person. The false accept
 * rate (FAR) and the false reject rate (FRR) are shares of all pairs: one that lacks a face is rejected.
 */
export function observe(pairs: readonly Compared[], threshold: number, notAcquired: PairCounts = none) {
  const people = 1 + pairs.reduce((most, { people: [a, b] }) => Math.max(most, a, b), 0);
  const matches = new PairRate(people);
  const nonMatches = new PersonRate(people);
  for (const { score, same, people } of pairs) {
    if (same) nonMatches.add(score < threshold, people[0]);
    else matches.add(score >= threshold, ...people);
  }
  return {
    fmr: matches.rate,
    fmr_interval: matches.interval,
    fnmr: nonMatches.rate,
    fnmr_interval: nonMatches.interval,
    far: matches.hits / (matches.trials + notAcquired.non_mated),
    frr: (nonMatches.hits + notAcquired.mated) / (nonMatches.trials + notAcquired.mated),
  };
}
