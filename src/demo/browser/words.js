/** Numbers as people read them. */

const twoDigits = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });
const grouped = new Intl.NumberFormat('en');

/**
 * A false-match rate as a share of strangers: "1 in 10,000". Half and more is "most", and from one in ten on "4 in 10"
 * says it better than "1 in 2.5".
 * @param {number} rate 0..1
 */
export function shareOfStrangers(rate) {
  // The scale ends at 100 %, which is a rate of 1e-7.
  if (rate <= 1e-7) return 'fewer than 1 in 10 million';
  if (rate > 0.5) return 'most';
  if (rate >= 0.1) return `${Math.round(rate * 10)} in 10`;
  const one = 1 / rate;
  return one >= 1e6 ? `1 in ${twoDigits.format(one / 1e6)} million` : `1 in ${twoDigits.format(one)}`;
}

/**
 * The false-match rate that a percentage stands for, 10 points a power of ten from 1 in 10 at 40 % on; undefined below,
 * where the scale is no such power.
 * @param {number} percent
 */
export function rateAt(percent) {
  return percent < 40 ? undefined : 10 ** ((30 - percent) / 10);
}

/**
 * How many strangers look as alike as an answer says; where the data end, an upper bound.
 * @param {{ false_match_rate: number, extrapolated: boolean }} answer
 */
export function strangersAlike({ false_match_rate, extrapolated }) {
  const share = shareOfStrangers(false_match_rate);
  return extrapolated && share.startsWith('1 in') ? `fewer than ${share}` : share;
}

/**
 * What a threshold lets pass.
 * @param {number} percent
 */
export function thresholdWords(percent) {
  const rate = rateAt(percent);
  const share = rate === undefined ? 'more than 1 in 10' : shareOfStrangers(rate);
  return `${share} strangers would pass`;
}

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * @param {number} number
 * @param {string} noun
 */
export function count(number, noun) {
  return `${grouped.format(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** With a space that no line ends at. @param {number} percent */
export const percentText = (percent) => `${Number(percent.toFixed(1))}\u00a0%`;

/**
 * 10 MiB, 3.4 MB: powers of two when it is a whole number of them, as limits are.
 * @param {number} bytes
 */
export function bytesText(bytes) {
  const MiB = 1024 * 1024;
  if (bytes >= MiB && bytes % MiB === 0) return `${bytes / MiB} MiB`;
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`;
  return bytes >= 1000 ? `${Math.round(bytes / 1000)} kB` : count(bytes, 'byte');
}

/**
 * A form field as the page calls it.
 * @param {string} field
 */
export const fieldLabel = (field) => capital(field.replaceAll('_', ' '));
