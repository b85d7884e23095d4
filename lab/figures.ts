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

/** Width of a bin: narrow enough to show the shape of the distribution with a few thousand pairs. */
const width = 0.02;

/** Counts the pairs with a score in each bin. Bin i starts at `start + i * width`. */
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

/** The cohort that normalises similarities. With `none` the similarity is the cosine. */
export type CohortUse = 'pack' | 'held-out' | 'none';

/** Figures of one kind of score. Rates without pairs are NaN, and null in JSON. */
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
  /** Has an entry for each readable image: whether it has no face, and the number of its person. */
  acquisitions: readonly { failed: boolean; person: number }[];
  /** Non-mated pairs that were omitted: copies, or one person under two names. */
  too_alike: readonly AlikePair[];
  images: ReadonlyMap<string, EmbeddedImage>;
  /** Undefined for a pack without a calibration. The figures then have no percents. */
  calibration: Calibration | undefined;
  seconds: number;
}

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
  const failures = new PersonRate(1 + acquisitions.reduce((max, { person }) => Math.max(max, person), 0));
  for (const { failed, person } of acquisitions) failures.add(failed, person);
  const { rate, interval, trials } = failures;
  return {
    ...about,
    // FMR and FNMR are shares of these comparisons.
    pairs: counts,
    images: images.size,
    failure_to_acquire: { rate, interval, trials },
    by,
    // The worst pairs by the normalised similarity.
    worst: worstPairs(pairs, calibration),
    ...imageFigures(images),
    images_per_second: images.size / seconds,
  };
}

/** Returns the images without a face, the unreadable images, and the number of compared faces with each quality warning. */
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
    // operating_points are chosen by the false match rate on this set, percent_points by the pack's calibration,
    // which does not apply to cosines.
    operating_points: ratePoints(scored, calibration, notAcquired),
    percent_points: calibration ? percentPoints(scored, calibration, notAcquired) : [],
    histogram: histogram(scored),
    // Rounded to the resolution of a chart, highest threshold first.
    curve: thinned(curve).map(({ threshold, fmr, fnmr }): [threshold: number, fmr: number, fnmr: number] => [
      Number(threshold.toFixed(4)),
      Number(fmr.toPrecision(4)),
      Number(fnmr.toPrecision(4)),
    ]),
  };
}

export type Observed = ReturnType<typeof observe>;

export interface ThresholdPoint extends Observed {
  /** Target false match rate, or the rate that the pack states. */
  target_fmr: number;
  threshold: number;
  /** The threshold as confidence_percent; undefined for a cosine. */
  confidence_percent: number | undefined;
}

export const targetRates = [1e-2, 1e-3, 1e-4];
export const percents = [50, 60, 70];

/** Returns the threshold and error rates for each target rate that this set has enough non-mated pairs to show. */
export function ratePoints(
  pairs: readonly Compared[],
  calibration: Calibration | undefined,
  notAcquired?: PairCounts,
): ThresholdPoint[] {
  const nonMated = pairs.filter(({ same }) => !same).length;
  return targetRates
    .filter((rate) => canShow(rate, nonMated))
    .map((target_fmr) => {
      const { threshold } = fnmrAtFmr(pairs, target_fmr);
      const confidence_percent = percentOf(threshold, calibration);
      return { target_fmr, threshold, confidence_percent, ...observe(pairs, threshold, notAcquired) };
    });
}

/** Returns the threshold of each percent in the pack's calibration, and its rates on this set. */
export function percentPoints(
  pairs: readonly Compared[],
  calibration: Calibration,
  notAcquired?: PairCounts,
): ThresholdPoint[] {
  return percents.map((confidence_percent) => {
    // Rounds to an exact power of ten.
    const target_fmr = Number(promisedRate(confidence_percent).toPrecision(6));
    const threshold = calibration.similarityAt(target_fmr);
    return { target_fmr, threshold, confidence_percent, ...observe(pairs, threshold, notAcquired) };
  });
}

/** Returns true if at least one false match is expected in this many non-mated pairs. */
export function canShow(fmr: number, nonMated: number): boolean {
  return fmr * nonMated >= 1 - 1e-9;
}

const none: PairCounts = { mated: 0, non_mated: 0 };

/**
 * Returns the error rates of ISO/IEC 19795-1 at a threshold. The false match rate (FMR) and the false non-match rate
 * (FNMR) are shares of the comparisons, with 95 % intervals clustered by person. The false accept rate (FAR) and the
 * false reject rate (FRR) are shares of all pairs; a pair with an image without a face is rejected.
 */
export function observe(pairs: readonly Compared[], threshold: number, notAcquired: PairCounts = none) {
  const people = 1 + pairs.reduce((max, { people: [a, b] }) => Math.max(max, a, b), 0);
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
