import {
  type AccuracyMode,
  type Calibration,
  lowQuality,
  promisedRate,
  qualityLimits,
} from 'facematch/for-lab';
import type { EmbeddedImage } from './embed-worker.ts';
import { accuracy, equalErrorRate, errorCurve, type Scored, tarAtFmr, thinned, wilson } from './metrics.ts';
import { type JudgedPair, percentOf, type ScoreKind, scoredBy, worstPairs } from './pairs.ts';
import type { AlikePair } from './strangers.ts';

/** Fine enough to show the shape, coarse enough for some thousand pairs. */
const width = 0.02;

/**
 * How many pairs have a score in each bin; bin i starts at `start + i * width` and ends before the next. Pairs without a score,
 * because an image has no face, are left out.
 */
export function histogram(pairs: readonly Scored[]) {
  const binOf = ({ score }: Scored) => Math.floor(score / width);
  const scored = pairs.filter(({ score }) => Number.isFinite(score)).sort((a, b) => a.score - b.score);
  const [lowest, highest] = [scored[0], scored.at(-1)];
  if (!lowest || !highest) return { start: 0, width, same: [], different: [] as number[] };
  const first = binOf(lowest);
  const bins = () => new Array<number>(binOf(highest) - first + 1).fill(0);
  const counts = { same: bins(), different: bins() };
  for (const pair of scored) counts[pair.same ? 'same' : 'different'][binOf(pair) - first]!++;
  return { start: Number((first * width).toFixed(2)), width, ...counts };
}

/** The cohort that normalises similarities; `none` when the pack has none, so that the cosine is used. */
export type CohortUse = 'pack' | 'held-out' | 'none';

/** The figures of one score. Rates of no pairs are NaN, in JSON null. */
export type ScoreFigures = ReturnType<typeof scoreFigures>;
export type Figures = ReturnType<typeof figuresOf>;

interface Judged {
  set: string;
  mode: AccuracyMode;
  cohort: CohortUse;
  /** The pairs whose images could be read. */
  pairs: readonly JudgedPair[];
  /** How many others there are. */
  not_compared: number;
  /** Pairs of strangers that were left out: copies, or one person under two names. */
  too_alike: readonly AlikePair[];
  images: ReadonlyMap<string, EmbeddedImage>;
  /** Undefined for a pack without one, which has cosines and their rates alone. */
  calibration: Calibration | undefined;
  seconds: number;
}

export function figuresOf({ pairs, images, calibration, seconds, ...about }: Judged) {
  const same = pairs.filter((pair) => pair.same).length;
  const by: Record<ScoreKind, ScoreFigures> = {
    // The service uses this score.
    normalised: scoreFigures(scoredBy(pairs, 'normalised'), calibration),
    cosine: scoreFigures(scoredBy(pairs, 'cosine'), undefined),
  };
  return {
    ...about,
    pairs: { same, different: pairs.length - same },
    images: images.size,
    by,
    // The worst are chosen by the normalised similarity.
    worst: worstPairs(pairs, calibration),
    ...imageFigures(images),
    images_per_second: images.size / seconds,
  };
}

/** Images without a face, those that could not be read, with the reason, and how many compared faces have each warning. */
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

function scoreFigures(scored: readonly Scored[], calibration: Calibration | undefined) {
  const curve = errorCurve(scored);
  return {
    accuracy: accuracy(scored),
    equal_error_rate: equalErrorRate(curve),
    // The first are at false-match rates of this set, the second at percents of the pack's calibration; a cosine has none.
    operating_points: ratePoints(scored, calibration),
    percent_points: calibration ? percentPoints(scored, calibration) : [],
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
  /** The false-match rate that was asked for. */
  fmr: number;
  threshold: number;
  /** The threshold in percent of the pack's calibration; undefined for a cosine. */
  confidence_percent: number | undefined;
}

export const askedRates = [1e-2, 1e-3, 1e-4];
export const percents = [50, 60, 70];

/** The lowest thresholds for certain false-match rates on this set, as far as its pairs of strangers can show them. */
export function ratePoints(pairs: readonly Scored[], calibration: Calibration | undefined): ThresholdPoint[] {
  const different = pairs.filter(({ same }) => !same).length;
  return askedRates
    .filter((fmr) => canShow(fmr, different))
    .map((fmr) => {
      const { threshold } = tarAtFmr(pairs, fmr);
      const confidence_percent = percentOf(threshold, calibration);
      return { fmr, threshold, confidence_percent, ...observe(pairs, threshold) };
    });
}

/** The thresholds of certain percents of the pack's calibration, and their rates on this set; `fmr` is the stated rate. */
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

/** The shares of pairs that score at least the threshold: of one person, and of different people. */
export function observe(pairs: readonly Scored[], threshold: number) {
  const tally = (same: boolean) => {
    const alike = pairs.filter((pair) => pair.same === same);
    const hits = alike.filter(({ score }) => score >= threshold).length;
    return { rate: hits / alike.length, interval: wilson(hits, alike.length) };
  };
  const [same, different] = [tally(true), tally(false)];
  return {
    tar: same.rate,
    tar_interval: same.interval,
    measured_fmr: different.rate,
    fmr_interval: different.interval,
  };
}
