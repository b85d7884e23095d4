/** [normalised similarity, false match rate] */
export type CalibrationPoint = readonly [similarity: number, falseMatchRate: number];

interface Assessment {
  /** 0..1, corrected for the number of pairs; the rate of a single pair is never below the floor. */
  false_match_rate: number;
  /**
   * True if false_match_rate is only an upper bound: the pair's own rate is below the floor, or nothing was
   * measured.
   */
  extrapolated: boolean;
  /** 0..100 */
  confidence_percent: number;
}

/** Percent at which the two formulas meet: a false match rate of 1 in 10. */
const kneeRate = 0.1;
const kneePercent = 40;

/** The false match rate for a percent of `kneePercent` or more. */
export const promisedRate = (confidencePercent: number): number => 10 ** ((30 - confidencePercent) / 10);

/**
 * Converts a similarity to a false match rate (FMR), the share of non-mated pairs that score at least this
 * high, using a table of measured pairs, and the FMR to a confidence percent. The percent depends on the FMR
 * only, so it means the same for every pack and mode. NaN counts as the worst.
 */
export class Calibration {
  /** Rising similarities. */
  readonly #similarities: number[];
  /** log10 of the FMR at each similarity; it falls from 0. */
  readonly #logRates: number[];
  readonly #kneeSimilarity: number;
  readonly #floor: number;
  readonly #photos: readonly number[];
  /** True if the pack has measured the effect of several photos of one person. */
  readonly photosMeasured: boolean;

  /**
   * `floor`: the lowest rate that the people of the fit can show, up to 0.1; 0 for a table that does not
   * belong to a pack. `photos`: increase of non-mated similarity when a side is the mean of 1, 2 … photos;
   * the last entry also applies to more. Throws a RangeError unless there are two points, similarities rise,
   * and rates fall from 1.
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

  /** True if the table was measured on people. */
  readonly measured: boolean = true;

  /**
   * Returns the amount to subtract from a similarity whose sides are means of that many photos, so that the
   * table's rates hold for it.
   */
  shift(...sides: readonly number[]): number {
    const most = this.#photos.length;
    return sides.reduce((sum, photos) => sum + this.#photos[Math.min(photos, most) - 1]!, 0);
  }

  /**
   * Returns the FMR: 1 up to the table's first point; log10 of it is linear between points, and the last
   * segment continues past the end.
   */
  falseMatchRate(similarity: number): number {
    if (!(similarity > this.#similarities[0]!)) return 1;
    const logRate = interpolate(similarity, this.#similarities, this.#logRates);
    return Math.min(1, 10 ** logRate);
  }

  /**
   * Returns 0..100: 30 + 10·(−log10 FMR) up to an FMR of 0.1; above it, linear in the similarity from 40 down
   * to 0.
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
   * The best of n pairs has min(1, n × FMR). The percent ignores the floor, so that thresholds beyond it
   * still separate pairs.
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

  /** Returns the inverse: the similarity with this FMR, which is above 0 and at most 1. */
  similarityAt(rate: number): number {
    return interpolate(
      -Math.log10(rate),
      this.#logRates.map((rate) => -rate),
      this.#similarities,
    );
  }
}

/**
 * Used for a pack without its own measurement: larger than the measured values of other packs, for up to 16
 * photos.
 */
const safeShifts = Array.from({ length: 16 }, (_, i) => 0.08 * (1 - 1 / (i + 1)));

/**
 * Assessment without a calibration: the rate is unknown and reported as 1, and the percent, 40 × the
 * similarity, is capped at 40. A rate of 1 needs no correction for the number of pairs.
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
    // A normalised similarity may be above 1.
    const confidence_percent = similarity > 0 ? kneePercent * Math.min(1, similarity) : 0;
    return { false_match_rate: 1, extrapolated: true, confidence_percent };
  }
}

/** Calibration of one mode in a pack's manifest, which may have none. */
export function calibrationOf(
  table:
    | { points: readonly CalibrationPoint[]; floor: number; photos?: readonly number[] | undefined }
    | undefined,
): Calibration {
  return table === undefined ? new Uncalibrated() : new Calibration(table.points, table.floor, table.photos);
}

/**
 * Interpolates `ys` linearly over rising `xs`, for x from the first on; the last segment continues. Monotonic
 * despite rounding.
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
