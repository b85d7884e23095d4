import { type Calibration, promisedRate } from '../scoring/calibration.ts';
import { type Interval, type Operating, type Scored, tarAtFmr, wilson } from './metrics.ts';
import { percentOf } from './pairs.ts';

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
