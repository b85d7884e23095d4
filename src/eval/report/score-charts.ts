import type { Figures, Histogram, ScoreFigures, ScoreKind } from '../figures.ts';
import { kindTexts, scoreText } from '../number-text.ts';
import type { ThresholdPoint } from '../thresholds.ts';
import type { Chart, Line } from './chart.ts';
import { linearScale, lowestExponent, rateScale, withoutZeros } from './scale.ts';

/** How the scores of both kinds of pairs are spread, with the thresholds between them. */
export function histogramChart(id: string, kind: ScoreKind, figures: ScoreFigures): Chart {
  const { histogram, operating_points, percent_points } = figures;
  const { start, width, same, different } = histogram;
  const shares = { same: sharesOf(same), different: sharesOf(different) };
  const markers = [
    ...operating_points.map(({ fmr, threshold }) => ({ x: threshold, label: `FMR ${fmr.toExponential()}` })),
    ...percentMarkers(percent_points),
  ].filter(({ x }) => Number.isFinite(x));
  const marked = markers.map(({ x }) => x);
  return {
    id,
    title: `Scores by the ${kindTexts[kind]}`,
    description: `Share of pairs by score. ${markers.map(({ x, label }) => `${label} at ${scoreText(x)}`).join(', ')}.`,
    x: {
      title: kindTexts[kind],
      scale: linearScale(Math.min(start, ...marked), Math.max(start + width * same.length, ...marked)),
    },
    y: {
      title: 'share of pairs',
      scale: linearScale(0, Math.max(0.01, ...shares.same, ...shares.different)),
    },
    lines: [
      { series: 0, label: 'same person', points: steps(shares.same, histogram), filled: true },
      { series: 1, label: 'different people', points: steps(shares.different, histogram), filled: true },
    ],
    markers,
  };
}

/** All sets over one axis of thresholds: where the falling lines lie apart, no threshold gives all the same rate. */
export function thresholdChart(id: string, kind: ScoreKind, sets: readonly Figures[]): Chart {
  const thresholds = sets.flatMap(({ by }) => by[kind].curve.map(([threshold]) => threshold));
  const most = Math.max(...sets.map(({ pairs }) => Math.max(pairs.same, pairs.different)));
  const lines = sets.flatMap(({ set, by }, series): Line[] => [
    {
      series,
      label: set,
      points: withoutZeros(by[kind].curve, ([, fmr]) => fmr).map(([threshold, fmr]) => [threshold, fmr]),
    },
    {
      series,
      points: withoutZeros(by[kind].curve, ([, , fnmr]) => fnmr).map(([threshold, , fnmr]) => [
        threshold,
        fnmr,
      ]),
    },
  ]);
  return {
    id,
    title: `Error rates by threshold, ${kindTexts[kind]}`,
    description: `False-match rates fall and false-non-match rates rise with the threshold, each set in its colour; the rates are logarithmic. The table of shared thresholds has the figures.`,
    x: {
      title: `threshold: ${kindTexts[kind]}`,
      scale: linearScale(Math.min(0, ...thresholds), Math.max(0.1, ...thresholds)),
    },
    y: { title: 'FMR (falling), FNMR (rising)', scale: rateScale(lowestExponent(most)) },
    lines,
    markers: percentMarkers(sets[0]!.by[kind].percent_points),
  };
}

function percentMarkers(points: readonly ThresholdPoint[]): NonNullable<Chart['markers']> {
  return points.map(({ threshold, confidence_percent }) => ({
    x: threshold,
    label: `${confidence_percent} %`,
  }));
}

function sharesOf(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => (total === 0 ? 0 : count / total));
}

/** The bins' outline, down to the axis at both ends. */
function steps(shares: readonly number[], { start, width }: Histogram): Line['points'] {
  const bins = shares.flatMap((share, i) => [
    [start + i * width, share] as const,
    [start + (i + 1) * width, share] as const,
  ]);
  const outline = [[start, 0] as const, ...bins, [start + shares.length * width, 0] as const];
  return withoutZeros(outline, ([, share]) => share);
}
