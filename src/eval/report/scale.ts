/** Values along an axis. */
export interface Scale {
  /** 0 at the start of the axis, 1 at its end; what lies outside is put onto the nearer end. */
  share(value: number): number;
  ticks: readonly { value: number; label: string }[];
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** From 10 to the power of `lowest`, a whole number below 0, to 1. A rate of 0 is put onto the start. */
export function rateScale(lowest: number): Scale {
  const exponents = Array.from({ length: 1 - lowest }, (_, i) => lowest + i);
  return {
    share: (value) => within(1 - Math.log10(value) / lowest),
    ticks: exponents.map((exponent) => ({ value: 10 ** exponent, label: power(exponent) })),
  };
}

function power(exponent: number): string {
  return exponent === 0
    ? '1'
    : `10⁻${[...String(-exponent)].map((digit) => superscripts[Number(digit)]).join('')}`;
}

/** The exponent that a scale of rates must start at for the least rate but 0 of that many pairs to be seen; at most -2. */
export function lowestExponent(pairs: number): number {
  return -Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
}

/** Steps between ticks that people read easily, in powers of ten. */
const steps = [1, 2, 5];

/** From at most `min` to at least `max`, both on a tick, with four to ten ticks. */
export function linearScale(min: number, max: number): Scale {
  const step = stepFor(max > min ? max - min : 1);
  const first = Math.floor(min / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(max / step - 1e-9));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const [start, end] = [first * step, last * step];
  return {
    share: (value) => within((value - start) / (end - start)),
    ticks: Array.from({ length: last - first + 1 }, (_, i) => {
      // Adding 0 turns -0 into 0.
      const value = Number(((first + i) * step).toFixed(digits)) + 0;
      return { value, label: value.toFixed(digits) };
    }),
  };
}

function stepFor(range: number): number {
  const decade = 10 ** Math.floor(Math.log10(range / 8));
  return decade * (steps.find((step) => range / (step * decade) <= 8) ?? 10);
}

/**
 * A curve without the stretches where a rate is 0, which no logarithmic axis has; the steps into them are kept, and drawn to the
 * axis' start.
 */
export function withoutZeros<P>(points: readonly P[], rateOf: (point: P) => number): P[] {
  const isSeen = (point: P | undefined) => point !== undefined && rateOf(point) > 0;
  return points.filter((point, i) => isSeen(point) || isSeen(points[i - 1]) || isSeen(points[i + 1]));
}

function within(share: number): number {
  // Also of no number.
  return share > 0 ? Math.min(1, share) : 0;
}
