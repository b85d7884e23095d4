import { promisedRate } from '../scoring/calibration.ts';

/** Texts about scores. The command line and the demo page share them, so that both show the numbers of the API. */

/** The members of a response with the score of a comparison. */
export interface Scored {
  confidence_percent: number;
  false_match_rate: number;
  extrapolated: boolean;
}

const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const grouped = new Intl.NumberFormat('en');

/** Returns a number with its noun, such as `1 face` or `1,000 faces`. */
export function count(number: number, noun: string): string {
  return `${grouped.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** Returns a percent with at most one decimal and a no-break space before the sign. */
export const percentText = (percent: number): string => `${Number(percent.toFixed(1))}\u00a0%`;

export const verdictText = (match: boolean): string => (match ? 'Match' : 'No match');

/** Compares the percent with the threshold, such as "93.9 % ≥ 70 %" or "24.1 % is below the threshold of 70 %". */
export function comparedText({
  match,
  confidence_percent,
  threshold_percent,
}: Pick<Scored, 'confidence_percent'> & { match: boolean; threshold_percent: number }): string {
  const [percent, threshold] = [percentText(confidence_percent), percentText(threshold_percent)];
  return match ? `${percent} ≥ ${threshold}` : `${percent} is below the threshold of ${threshold}`;
}

/** Returns a false match rate as a share: "1 in 10,000", from 0.1 upwards "4 in 10", above 0.5 "most". */
function shareText(rate: number): string {
  // The end of the scale, 100 %, is a rate of 1e-7.
  if (rate <= 1e-7) return 'fewer than 1 in 10 million';
  if (rate > 0.5) return 'most';
  if (rate >= 0.1) return `${Math.round(rate * 10)} in 10`;
  const one = 1 / rate;
  return one >= 1e6 ? `1 in ${twoDigits.format(one / 1e6)} million` : `1 in ${twoDigits.format(one)}`;
}

/** Returns true if the pack has a calibration. Without one, every rate is 1 and extrapolated. */
const isCalibrated = ({ extrapolated, false_match_rate }: Omit<Scored, 'confidence_percent'>) =>
  !extrapolated || false_match_rate <= 0.5;

/** Returns the share of non-mated pairs that score at least as high: an upper bound if extrapolated. */
export function shareOfPairs(scored: Omit<Scored, 'confidence_percent'>): string {
  if (!isCalibrated(scored)) return 'an unknown share of pairs of different people';
  const share = shareText(scored.false_match_rate);
  const bound = scored.extrapolated && share.startsWith('1 in') ? `fewer than ${share}` : share;
  return `${bound} pairs of different people`;
}

/** Returns a note for a percent beyond the measured range, otherwise ''. A missing calibration has its own warning. */
export const rangeNote = (scored: Omit<Scored, 'confidence_percent'>): string =>
  scored.extrapolated && isCalibrated(scored) ? 'beyond the measured range' : '';

/** Returns the share of non-mated pairs that reach a threshold. From 40 % (1 in 10), 10 points more divide it by 10. */
export function thresholdText(percent: number): string {
  const share = percent < 40 ? 'more than 1 in 10' : shareText(promisedRate(percent));
  return `${share} pairs of different people would match`;
}
