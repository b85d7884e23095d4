import type { AccuracyMode } from '../engine/addon.ts';
import { type Calibration, promisedRate } from '../scoring/calibration.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import {
  type Accuracy,
  accuracy,
  type ErrorPoint,
  equalErrorRate,
  errorCurve,
  type Interval,
  type Operating,
  type Scored,
  tarAtFmr,
  thinned,
  wilson,
} from './metrics.ts';
import {
  type JudgedPair,
  percentOf,
  type ScoreKind,
  scoredBy,
  type WorstPairs,
  worstPairs,
} from './pairs.ts';

/** How many pairs have a score in each bin; bin i starts at `start + i * width` and ends before the next. */
export interface Histogram {
  start: number;
  width: number;
  same: number[];
  different: number[];
}

/** Fine enough to show the shape, coarse enough for some thousand pairs. */
const width = 0.02;

/** Pairs without a score, because an image has no face, are left out. */
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

/** The cohort that normalises similarities; `none` when the pack has none, so that the cosine is used. */
export type CohortUse = 'pack' | 'held-out' | 'none';

export interface ScoreFigures {
  accuracy: Accuracy;
  equal_error_rate: number;
  /** At false-match rates of this set. */
  operating_points: ThresholdPoint[];
  /** At percents of the pack's calibration; only for the normalised similarity. */
  percent_points: ThresholdPoint[];
  histogram: Histogram;
  /** Thinned for a chart: [threshold, false-match rate, false-non-match rate], highest threshold first. */
  curve: [threshold: number, fmr: number, fnmr: number][];
}

/** All figures of one set, for --json and the report. Rates of no pairs are NaN, in JSON null. */
export interface Figures {
  set: string;
  mode: AccuracyMode;
  cohort: CohortUse;
  pairs: { same: number; different: number };
  pictures: number;
  /** For the normalised similarity, which the service uses, and for the cosine. */
  by: Record<ScoreKind, ScoreFigures>;
  /** Chosen by the normalised similarity. */
  worst: WorstPairs;
  without_face: string[];
  /** Images that could not be read, with the reason. */
  failures: Record<string, string>;
  pictures_per_second: number;
}

export interface Judged {
  set: string;
  mode: AccuracyMode;
  cohort: CohortUse;
  pairs: readonly JudgedPair[];
  images: ReadonlyMap<string, EmbeddedImage>;
  calibration: Calibration;
  seconds: number;
}

export function figuresOf({ set, mode, cohort, pairs, images, calibration, seconds }: Judged): Figures {
  const same = pairs.filter((pair) => pair.same).length;
  return {
    set,
    mode,
    cohort,
    pairs: { same, different: pairs.length - same },
    pictures: images.size,
    by: {
      normalised: scoreFigures(scoredBy(pairs, 'normalised'), calibration),
      cosine: scoreFigures(scoredBy(pairs, 'cosine'), undefined),
    },
    worst: worstPairs(pairs, calibration),
    ...missing(images),
    pictures_per_second: images.size / seconds,
  };
}

/** The names of images without a face, and those of images that could not be read. */
export function missing(
  images: ReadonlyMap<string, EmbeddedImage>,
): Pick<Figures, 'without_face' | 'failures'> {
  const all = [...images];
  return {
    without_face: all.filter(([, { embedding, failure }]) => !embedding && !failure).map(([name]) => name),
    failures: Object.fromEntries(all.flatMap(([name, { failure }]) => (failure ? [[name, failure]] : []))),
  };
}

function scoreFigures(scored: readonly Scored[], calibration: Calibration | undefined): ScoreFigures {
  const curve = errorCurve(scored);
  return {
    accuracy: accuracy(scored),
    equal_error_rate: equalErrorRate(curve),
    operating_points: ratePoints(scored, calibration),
    percent_points: calibration ? percentPoints(scored, calibration) : [],
    histogram: histogram(scored),
    curve: thinned(curve).map(rounded),
  };
}

/** Rounded to what a chart can show. */
function rounded({ threshold, fmr, fnmr }: ErrorPoint): ScoreFigures['curve'][number] {
  return [Number(threshold.toFixed(4)), Number(fmr.toPrecision(4)), Number(fnmr.toPrecision(4))];
}

/** The rates of a threshold on a set, with 95 % intervals. */
export interface Observed {
  tar: number;
  tar_interval: Interval;
  /** Share of different-person pairs that score at least the threshold. */
  measured_fmr: number;
  fmr_interval: Interval;
}

export interface ThresholdPoint extends Operating, Observed {
  /** The threshold in percent of the pack's calibration; undefined for a cosine. */
  confidence_percent: number | undefined;
}

/** False-match rates whose thresholds are looked for. */
export const askedRates = [1e-2, 1e-3, 1e-4];
const percents = [50, 60, 70];

/** The lowest thresholds for certain false-match rates on this set, as far as its pairs of strangers can show them. */
export function ratePoints(pairs: readonly Scored[], calibration: Calibration | undefined): ThresholdPoint[] {
  const different = pairs.filter(({ same }) => !same).length;
  return askedRates
    .filter((fmr) => canShow(fmr, different))
    .map((fmr) => {
      const { threshold } = tarAtFmr(pairs, fmr);
      return {
        fmr,
        threshold,
        confidence_percent: percentOf(threshold, calibration),
        ...observe(pairs, threshold),
      };
    });
}

/** The thresholds of certain percents of the pack's calibration, and their rates on this set; `fmr` is the promised rate. */
export function percentPoints(pairs: readonly Scored[], calibration: Calibration): ThresholdPoint[] {
  return percents.map((confidence_percent) => {
    // Powers of ten, without rounding errors.
    const fmr = Number(promisedRate(confidence_percent).toPrecision(6));
    const threshold = calibration.similarityAt(fmr);
    return { fmr, threshold, confidence_percent, ...observe(pairs, threshold) };
  });
}

/** Whether so many pairs of strangers can show a false-match rate at all: one of them is as seldom. */
export function canShow(fmr: number, different: number): boolean {
  return fmr * different >= 1 - 1e-9;
}

export function observe(pairs: readonly Scored[], threshold: number): Observed {
  const same = tally(pairs, true, threshold);
  const different = tally(pairs, false, threshold);
  return {
    tar: same.hits / same.trials,
    tar_interval: wilson(same.hits, same.trials),
    measured_fmr: different.hits / different.trials,
    fmr_interval: wilson(different.hits, different.trials),
  };
}

function tally(pairs: readonly Scored[], same: boolean, threshold: number): { hits: number; trials: number } {
  const alike = pairs.filter((pair) => pair.same === same);
  return { hits: alike.filter(({ score }) => score >= threshold).length, trials: alike.length };
}
