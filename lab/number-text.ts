import type { CohortUse } from './figures.ts';
import type { Interval } from './metrics.ts';
import type { ScoreKind } from './pairs.ts';

/** Formats figures for the terminal and the report. NaN becomes a dash in percentages, scores and ratios. */

export function percentText(share: number): string {
  return Number.isNaN(share) ? '–' : `${(share * 100).toFixed(2)} %`;
}

/** Formats a share as a percentage, with two significant digits if it is below 0.1 %. */
export function smallPercentText(share: number): string {
  return share > 0 && share < 1e-3 ? `${Number((share * 100).toPrecision(2))} %` : percentText(share);
}

/** Formats an interval in percent. */
export function intervalText([low, high]: Interval): string {
  return `[${(low * 100).toFixed(2)}, ${(high * 100).toFixed(2)}]`;
}

export function scoreText(score: number): string {
  return Number.isFinite(score) ? score.toFixed(3) : '–';
}

export function confidenceText(percent: number | undefined): string {
  return percent === undefined ? '–' : `${percent.toFixed(1)} %`;
}

const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function countText(count: number): string {
  return integers.format(count);
}

/** Formats a requested or stated false match rate. */
export function rateText(rate: number): string {
  return `1 in ${integers.format(1 / rate)}`;
}

/** Formats a ratio, with one decimal place if it is below 10. */
export function timesText(ratio: number): string {
  if (!Number.isFinite(ratio)) return '–';
  return ratio < 9.95 ? ratio.toFixed(1) : countText(ratio);
}

export const kindTexts: Readonly<Record<ScoreKind, string>> = {
  normalised: 'normalised similarity',
  cosine: 'cosine',
};

/** Describes the cohort that normalised the similarities. */
export const cohortText: Readonly<Record<CohortUse, string>> = {
  pack: "the pack's; figures are biased if it contains the measured people",
  'held-out': 'refitted for each pair without its people',
  none: 'none, so the normalised similarity is the cosine',
};

/** Formats JSON with each list of numbers or plain names on one line, because results have thousands of numbers. */
export function jsonText(value: object): string {
  const list = /\[\n\s+(?:(?:-?\d[\d.e+-]*|null|"\w+")(?:,\n\s+)?)+\n\s+\]/g;
  return JSON.stringify(value, null, 2).replace(list, (found) =>
    found.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  );
}
