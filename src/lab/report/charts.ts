import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts, percentText, rateText, scoreText } from '../number-text.ts';
import type { ScoreKind } from '../pairs.ts';
import { type Chart, type Line, linearAxis, rateAxis } from './chart.ts';

/** A named curve, and its number of pairs. */
interface NamedCurve {
  name: string;
  figures: ScoreFigures;
  pairs: Figures['pairs'];
}

/** Detection error trade-off: both error rates against each other (Martin et al. 1997), here on logarithmic axes. */
export function detChart(id: string, curves: readonly NamedCurve[]): Chart {
  return {
    id,
    title: 'Detection error trade-off',
    description: `False-non-match rate against false-match rate, both logarithmic; lower is better. ${inWords(curves)}`,
    x: rateAxis('false-match rate', most(curves, 'different')),
    y: rateAxis('false-non-match rate', most(curves, 'same')),
    lines: curves.map(({ name, figures }, series) => {
      const seen = withoutZeros(figures.curve, ([, fmr, fnmr]) => Math.min(fmr, fnmr));
      return { series, label: name, points: seen.map(([, fmr, fnmr]) => [fmr, fnmr]) };
    }),
    dots: dotsOf(curves, (tar) => 1 - tar),
  };
}

/** Receiver operating characteristic: the true-accept rate at each false-match rate. */
export function rocChart(id: string, curves: readonly NamedCurve[]): Chart {
  const lines = curves.map(({ name, figures }, series): Line => {
    const seen = withoutZeros(figures.curve, ([, fmr]) => fmr);
    return { series, label: name, points: seen.map(([, fmr, fnmr]) => [fmr, 1 - fnmr]) };
  });
  const dots = dotsOf(curves, (tar) => tar);
  const shown = [...lines.map(({ points }) => points[0]?.[1] ?? 1), ...dots.map(({ low }) => low)];
  return {
    id,
    title: 'Receiver operating characteristic',
    description: `True-accept rate against false-match rate, which is logarithmic; higher is better. ${inWords(curves)}`,
    x: rateAxis('false-match rate', most(curves, 'different')),
    y: linearAxis('true-accept rate', Math.min(1, ...shown.filter(Number.isFinite)), 1),
    lines,
    dots,
  };
}

/** The distribution of scores of both kinds of pairs, with thresholds. */
export function histogramChart(id: string, kind: ScoreKind, figures: ScoreFigures): Chart {
  const { histogram, operating_points } = figures;
  const { start, width } = histogram;
  const markers = [
    ...operating_points.map(({ fmr, threshold }) => ({ x: threshold, label: `FMR ${fmr.toExponential()}` })),
    ...percentMarkers(figures),
  ].filter(({ x }) => Number.isFinite(x));
  const marked = markers.map(({ x }) => x);
  const end = start + width * histogram.same.length;
  const lines = (['same', 'different'] as const).map((group, series): Line => {
    const counts = histogram[group];
    const total = counts.reduce((sum, count) => sum + count, 0);
    // The outline of the bins, down to the axis at both ends.
    const steps = counts.flatMap((count, i) =>
      [i, i + 1].map((edge) => [start + edge * width, total === 0 ? 0 : count / total] as const),
    );
    const points = withoutZeros([[start, 0], ...steps, [end, 0]] as const, ([, share]) => share);
    return { series, label: group === 'same' ? 'same person' : 'different people', points, filled: true };
  });
  return {
    id,
    title: `Scores by the ${kindTexts[kind]}`,
    description: `Share of pairs by score. ${markers.map(({ x, label }) => `${label} at ${scoreText(x)}`).join(', ')}.`,
    x: linearAxis(kindTexts[kind], Math.min(start, ...marked), Math.max(end, ...marked)),
    y: linearAxis(
      'share of pairs',
      0,
      Math.max(0.01, ...lines.flatMap(({ points }) => points.map(([, y]) => y))),
    ),
    lines,
    markers,
  };
}

/** Error rates of all sets by threshold: where the falling lines differ, no threshold gives all sets the same rate. */
export function thresholdChart(id: string, kind: ScoreKind, sets: readonly Figures[]): Chart {
  const thresholds = sets.flatMap(({ by }) => by[kind].curve.map(([threshold]) => threshold));
  const lines = sets.flatMap(
    (
      {
        set,
        by: {
          [kind]: { curve },
        },
      },
      series,
    ): Line[] => {
      const falling = withoutZeros(curve, ([, fmr]) => fmr);
      const rising = withoutZeros(curve, ([, , fnmr]) => fnmr);
      return [
        { series, label: set, points: falling.map(([threshold, fmr]) => [threshold, fmr]) },
        { series, points: rising.map(([threshold, , fnmr]) => [threshold, fnmr]) },
      ];
    },
  );
  return {
    id,
    title: `Error rates by threshold, ${kindTexts[kind]}`,
    description:
      'False-match rates fall and false-non-match rates rise with the threshold, each set in its colour; the rates are logarithmic. The table of shared thresholds has the figures.',
    x: linearAxis(`threshold: ${kindTexts[kind]}`, Math.min(0, ...thresholds), Math.max(0.1, ...thresholds)),
    y: rateAxis('FMR (falling), FNMR (rising)', Math.max(most(sets, 'same'), most(sets, 'different'))),
    lines,
    markers: percentMarkers(sets[0]!.by[kind]),
  };
}

function percentMarkers({ percent_points }: ScoreFigures): NonNullable<Chart['markers']> {
  return percent_points.map((point) => ({ x: point.threshold, label: `${point.confidence_percent} %` }));
}

/** True-accept rates at the operating points with their intervals, converted by `value`. */
function dotsOf(curves: readonly NamedCurve[], value: (tar: number) => number): NonNullable<Chart['dots']> {
  return curves.flatMap(({ figures }, series) =>
    figures.operating_points.map(({ measured_fmr, tar, tar_interval: [low, high] }) => {
      return { series, x: measured_fmr, y: value(tar), low: value(low), high: value(high) };
    }),
  );
}

function most(sets: readonly Pick<Figures, 'pairs'>[], kind: 'same' | 'different'): number {
  return Math.max(...sets.map(({ pairs }) => pairs[kind]));
}

function inWords(curves: readonly NamedCurve[]): string {
  const words = curves.map(({ name, figures }) => {
    const points = figures.operating_points.map(
      ({ fmr, tar }) => `${percentText(tar)} accepted at ${rateText(fmr)} false matches`,
    );
    return `${name}: ${points.join(', ')}.`;
  });
  return words.join(' ');
}

/** A curve without the parts where a rate is 0, which a logarithmic axis cannot show, but with the steps into them. */
function withoutZeros<P>(points: readonly P[], rateOf: (point: P) => number): P[] {
  const isSeen = (point: P | undefined) => point !== undefined && rateOf(point) > 0;
  return points.filter((point, i) => isSeen(point) || isSeen(points[i - 1]) || isSeen(points[i + 1]));
}
