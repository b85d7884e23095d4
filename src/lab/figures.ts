import type { AccuracyMode } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import {
  type Accuracy,
  accuracy,
  type ErrorPoint,
  equalErrorRate,
  errorCurve,
  type Scored,
  thinned,
} from './metrics.ts';
import { type JudgedPair, type ScoreKind, scoredBy, type WorstPairs, worstPairs } from './pairs.ts';
import { percentPoints, ratePoints, type ThresholdPoint } from './thresholds.ts';

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
