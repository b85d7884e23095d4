/** A normalised similarity and its false match rate. */
export type CalibrationPoint = readonly [similarity: number, falseMatchRate: number];

interface Assessment {
  /** From 0 to 1, at least the floor, and corrected for the number of pairs. */
  false_match_rate: number;
  /** True if false_match_rate is only an upper bound, because the pair's rate is below the floor or unknown. */
  extrapolated: boolean;
  /** From 0 to 100. */
  confidence_percent: number;
}

/** False match rate and percent at which the two formulas of `confidencePercent` meet. */
const kneeRate = 0.1;
const kneePercent = 40;

/** Returns the false match rate for a percent of at least `kneePercent`. */
export const promisedRate = (confidencePercent: number): number => 10 ** ((30 - confidencePercent) / 10);

/**
 * Converts a similarity to a false match rate (FMR) with a calibration table, and the FMR to a confidence percent.
 * The FMR is the share of non-mated pairs that score at least this high. From 40, the percent depends only on the
 * FMR, so it has the same meaning for every pack and mode. NaN counts as the lowest similarity.
 */
export class Calibration {
  /** In ascending order. */
  readonly #similarities: number[];
  /** log10 of the FMR at each similarity, in descending order from 0. */
  readonly #logRates: number[];
  readonly #kneeSimilarity: number;
  readonly #floor: number;
  readonly #photos: readonly number[];
  /** True if the pack has its own values for several photos of one person. */
  readonly photosMeasured: boolean;

  /**
   * `floor`: minimum rate that the calibration data can support, at most 0.1; 0 for a table that does not belong to a
   * pack. `photos`: increase of non-mated similarity if a side is the mean of 1, 2, … photos; the last value applies
   * to larger numbers too. Throws a RangeError unless there are at least two points, similarities increase, and rates
   * decrease from 1 and stay above 0.
   */
  constructor(points: readonly CalibrationPoint[], floor = 0, photos?: readonly number[]) {
    requireTable(points);
    this.#floor = floor;
    this.photosMeasured = photos !== undefined;
    this.#photos = photos ?? safeShifts;
    this.#similarities = points.map(([similarity]) => similarity);
    this.#logRates = points.map(([, rate]) => Math.log10(rate));
    this.#kneeSimilarity = this.similarityAt(kneeRate);
  }

  /** True if the rates come from a calibration table. */
  readonly measured: boolean = true;

  /**
   * Returns the amount to subtract from a similarity so that the table's rates apply. `sides`: the number of photos of
   * each side, which is represented by their mean.
   */
  shift(...sides: readonly number[]): number {
    const max = this.#photos.length;
    return sides.reduce((sum, photos) => sum + this.#photos[Math.min(photos, max) - 1]!, 0);
  }

  /**
   * Returns the FMR of a similarity: 1 up to the table's first point. Its logarithm is linear between points, and the
   * last segment continues beyond the last point.
   */
  falseMatchRate(similarity: number): number {
    if (!(similarity > this.#similarities[0]!)) return 1;
    const logRate = interpolate(similarity, this.#similarities, this.#logRates);
    return Math.min(1, 10 ** logRate);
  }

  /**
   * Returns a percent from 0 to 100. For an FMR up to 0.1 it is 30 − 10·log10(FMR). For higher FMRs it decreases from
   * 40 to 0, linearly in the similarity.
   */
  confidencePercent(falseMatchRate: number): number {
    if (falseMatchRate <= kneeRate) {
      if (falseMatchRate <= 0) return 100;
      return Math.min(100, 30 - 10 * Math.log10(falseMatchRate));
    }
    if (!(falseMatchRate < 1)) return 0;
    const first = this.#similarities[0]!;
    const position = (this.similarityAt(falseMatchRate) - first) / (this.#kneeSimilarity - first);
    return kneePercent * Math.min(1, Math.max(0, position));
  }

  /**
   * Assesses the best of `pairsCompared` pairs. Its FMR is multiplied by `pairsCompared`. The percent ignores the
   * floor, so that thresholds beyond the floor separate pairs too.
   */
  assess(similarity: number, pairsCompared: number): Assessment {
    const rate = this.falseMatchRate(similarity);
    const corrected = (own: number) => {
      const all = Math.max(1, pairsCompared) * own;
      return Number.isNaN(all) ? 1 : Math.min(1, all);
    };
    return {
      false_match_rate: corrected(Math.max(this.#floor, rate)),
      confidence_percent: this.confidencePercent(corrected(rate)),
      extrapolated: rate < this.#floor,
    };
  }

  /** Returns the similarity with this FMR. `rate`: above 0 and at most 1. */
  similarityAt(rate: number): number {
    return interpolate(
      -Math.log10(rate),
      this.#logRates.map((rate) => -rate),
      this.#similarities,
    );
  }
}

/** Shifts for packs without their own measurement. They exceed the measured values of other packs. */
const safeShifts = Array.from({ length: 16 }, (_, i) => 0.08 * (1 - 1 / (i + 1)));

/**
 * Assessment without a calibration. The FMR is unknown and reported as 1. The percent is 40 × the similarity,
 * limited to the range from 0 to 40.
 */
class Uncalibrated extends Calibration {
  override readonly measured = false;

  constructor() {
    super([
      [0, 1],
      [1, kneeRate],
    ]);
  }

  override shift(): number {
    return 0;
  }

  override assess(similarity: number): Assessment {
    // A normalised similarity may exceed 1.
    const confidence_percent = similarity > 0 ? kneePercent * Math.min(1, similarity) : 0;
    return { false_match_rate: 1, extrapolated: true, confidence_percent };
  }
}

/** Returns the calibration of one mode. `table`: undefined if the manifest has none. */
export function calibrationOf(
  table:
    | { points: readonly CalibrationPoint[]; floor: number; photos?: readonly number[] | undefined }
    | undefined,
): Calibration {
  return table === undefined ? new Uncalibrated() : new Calibration(table.points, table.floor, table.photos);
}

/**
 * Interpolates `ys` linearly over ascending `xs`. `x`: at least the first of `xs`. The last segment continues beyond
 * the last point. The result is monotonic despite rounding.
 */
function interpolate(x: number, xs: readonly number[], ys: readonly number[]): number {
  const inside = xs.findIndex((end) => x < end);
  const right = inside === -1 ? xs.length - 1 : inside;
  const [start, end, from, to] = [xs[right - 1]!, xs[right]!, ys[right - 1]!, ys[right]!];
  if (inside === -1) return to + (to - from) * ((x - end) / (end - start));
  const y = from + (to - from) * ((x - start) / (end - start));
  return to < from ? Math.max(to, y) : Math.min(to, y);
}

function requireTable(points: readonly CalibrationPoint[]): void {
  if (points.length < 2) throw new RangeError('Expected at least two calibration points');
  if (points[0]![1] !== 1) {
    throw new RangeError(`Expected the first calibration point to have rate 1 but received ${points[0]![1]}`);
  }
  for (const [i, [similarity, rate]] of points.entries()) {
    const [before, rateBefore] = points[i - 1] ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    const isFalling = rate < rateBefore && rate > 0;
    if (!(Number.isFinite(similarity) && similarity > before && isFalling)) {
      throw new RangeError(
        'Expected calibration points of rising similarity and falling rate above 0 but received ' +
          `[${similarity}, ${rate}] after [${before}, ${rateBefore}]`,
      );
    }
  }
}
