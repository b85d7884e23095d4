import { areaY, dot, line, type Markish, ruleX, type ScaleOptions, text } from '@observablehq/plot';
import type { Html } from 'facematch/for-lab';
import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts } from '../number-text.ts';
import type { ScoreKind } from '../pairs.ts';
import { chartView, labelled, linearScale, rateScale, styleOf } from './chart.ts';

type Point = readonly [x: number, y: number];

/** Draws a step line, because a rate changes only where the threshold passes a score. */
function steps(points: readonly Point[], series: number): Markish {
  return line(points, { ...styleOf(series), strokeWidth: 2, curve: 'step-after' });
}

/** Draws vertical lines. Each label has its own row, so that no line crosses a label. */
function markersOf(markers: readonly { x: number; label: string }[]) {
  const sorted = markers.filter(({ x }) => Number.isFinite(x)).sort((a, b) => a.x - b.x);
  return {
    marginTop: 10 + 13 * sorted.length,
    marks: sorted.flatMap(({ x, label }, row) => [
      ruleX([x], { strokeDasharray: '1 3', insetTop: -13 * (row + 1) }),
      text([label], { ...labelled, x, dy: -4 - 13 * row }),
    ]),
  };
}

interface NamedCurve {
  name: string;
  figures: ScoreFigures;
  pairs: Figures['pairs'];
}

interface TradeOff {
  title: string;
  description: string;
  /** Text to show if there is no line to draw. */
  emptyText: string;
  y: (lines: readonly Point[][]) => ScaleOptions;
  isDrawable: (fmr: number, fnmr: number) => boolean;
  /** Returns the y value of a false non-match rate. */
  value: (fnmr: number) => number;
}

/** Draws an error rate against the false match rate, and the operating points with their intervals. */
function tradeOff(
  curves: readonly NamedCurve[],
  { title, description, emptyText, y, isDrawable, value }: TradeOff,
): Html {
  const lines = curves.map(({ figures: { curve } }) =>
    drawableParts(curve, ([, fmr, fnmr]) => isDrawable(fmr, fnmr)).map(
      ([, fmr, fnmr]): Point => [fmr, value(fnmr)],
    ),
  );
  const dots = curves.flatMap(({ figures: { operating_points } }, series) => {
    const { stroke } = styleOf(series);
    const points = operating_points
      .filter(({ fnmr }) => Number.isFinite(fnmr))
      .map(({ fmr: x, fnmr, fnmr_interval: [low, high] }) => {
        return { x, y: value(fnmr), y1: value(low), y2: value(high) };
      });
    return [
      ruleX(points, { x: 'x', y1: 'y1', y2: 'y2', stroke }),
      dot(points, { x: 'x', y: 'y', r: 3.5, fill: stroke }),
    ];
  });
  const isEmpty = lines.every(({ length }) => length === 0);
  return chartView({
    title,
    description: `${description} The tables of thresholds list the figures.`,
    legend: curves.map(({ name }) => name),
    x: rateScale('false match rate', maxPairs(curves, 'non_mated')),
    y: y(lines),
    marks: [...lines.map(steps), ...dots, ...(isEmpty ? [text([emptyText], { frameAnchor: 'middle' })] : [])],
  });
}

/** Detection error trade-off: both error rates against each other (Martin et al. 1997), here on logarithmic axes. */
export function detChart(curves: readonly NamedCurve[]): Html {
  return tradeOff(curves, {
    title: 'Detection error trade-off',
    description:
      'False non-match rate against false match rate, both on a logarithmic axis; lower is better.',
    emptyText: 'No threshold causes errors of both kinds.',
    y: () => rateScale('false non-match rate', maxPairs(curves, 'mated')),
    isDrawable: (fmr, fnmr) => Math.min(fmr, fnmr) > 0,
    value: (fnmr) => fnmr,
  });
}

/** Receiver operating characteristic: 1 − FNMR at each false match rate. */
export function rocChart(curves: readonly NamedCurve[]): Html {
  const lows = curves.flatMap(({ figures }) =>
    figures.operating_points.map((point) => 1 - point.fnmr_interval[1]),
  );
  return tradeOff(curves, {
    title: 'Receiver operating characteristic',
    description: '1 − FNMR against false match rate on a logarithmic axis; higher is better.',
    emptyText: 'No threshold causes a false match.',
    y: (lines) => {
      const shown = [...lines.map((points) => points[0]?.[1] ?? 1), ...lows].filter(Number.isFinite);
      // Starts the axis at 0.99 or below, even if every mated pair is accepted.
      return linearScale('1 − FNMR', Math.min(0.99, ...shown), 1);
    },
    isDrawable: (fmr) => fmr > 0,
    value: (fnmr) => 1 - fnmr,
  });
}

/** Draws the distribution of scores of mated and non-mated pairs, with thresholds. */
export function histogramChart(kind: ScoreKind, figures: ScoreFigures): Html {
  const { start, width, ...counted } = figures.histogram;
  const markers = [
    ...figures.operating_points.map(({ target_fmr, threshold: x }) => ({
      x,
      label: `FMR ${target_fmr.toExponential()}`,
    })),
    ...percentMarkers(figures),
  ].filter(({ x }) => Number.isFinite(x));
  const edges = [start, start + width * counted.mated.length, ...markers.map(({ x }) => x)];
  const outlines = [counted.mated, counted.non_mated].map((counts) => {
    const total = counts.reduce((sum, count) => sum + count, 0) || 1;
    return [0, ...counts, 0].map((count, i): Point => [start + Math.max(0, i - 1) * width, count / total]);
  });
  const area = { x: '0', y: '1', curve: 'step-after', fillOpacity: 0.2 } as const;
  const { marks, marginTop } = markersOf(markers);
  return chartView({
    title: `Distribution of the ${kindTexts[kind]}`,
    description:
      'Share of pairs by score. The vertical lines are thresholds, which the table of thresholds lists.',
    legend: ['mated (same person)', 'non-mated (different people)'],
    marginTop,
    x: linearScale(kindTexts[kind], Math.min(...edges), Math.max(...edges)),
    y: linearScale('share of pairs', 0, Math.max(0.01, ...outlines.flat().map(([, y]) => y))),
    marks: [
      ...outlines.flatMap((points, series) => [
        areaY(points, { ...area, fill: styleOf(series).stroke }),
        steps(
          drawableParts(points, ([, share]) => share > 0),
          series,
        ),
      ]),
      ...marks,
    ],
  });
}

/**
 * Draws the error rates of all sets by threshold. Where the falling lines differ, the same threshold gives the sets
 * different FMRs.
 */
export function thresholdChart(kind: ScoreKind, sets: readonly Figures[]): Html {
  const curves = sets.map(({ by }) => by[kind].curve);
  const thresholds = curves.flatMap((curve) => curve.map(([threshold]) => threshold));
  const { marks, marginTop } = markersOf(percentMarkers(sets[0]!.by[kind]));
  const pairs = Math.max(maxPairs(sets, 'mated'), maxPairs(sets, 'non_mated'));
  const lines = curves.flatMap((curve, series) =>
    ([1, 2] as const).map((rate) => {
      const drawable = drawableParts(curve, (point) => point[rate] > 0);
      return steps(
        drawable.map((point) => [point[0], point[rate]]),
        series,
      );
    }),
  );
  return chartView({
    title: `Error rates by threshold, ${kindTexts[kind]}`,
    description:
      'The false match rate of each set falls with the threshold, and its false non-match rate rises. The axis is logarithmic. The table of shared thresholds lists the figures.',
    legend: sets.map(({ set }) => set),
    marginTop,
    x: linearScale(`threshold: ${kindTexts[kind]}`, Math.min(0, ...thresholds), Math.max(0.1, ...thresholds)),
    y: rateScale('FMR (falling), FNMR (rising)', pairs),
    marks: [...lines, ...marks],
  });
}

function percentMarkers({ percent_points }: ScoreFigures): { x: number; label: string }[] {
  return percent_points.map((point) => ({ x: point.threshold, label: `${point.confidence_percent} %` }));
}

function maxPairs(sets: readonly Pick<Figures, 'pairs'>[], kind: 'mated' | 'non_mated'): number {
  return Math.max(...sets.map(({ pairs }) => pairs[kind]));
}

/**
 * Removes points that are not drawable, such as a rate of 0 on a logarithmic axis. Keeps such a point if it is next
 * to a drawable one, so that the line reaches the edge of the chart.
 */
function drawableParts<P>(points: readonly P[], isDrawable: (point: P) => boolean): P[] {
  const drawable = points.map(isDrawable);
  return points.filter((_, i) => drawable[i] || drawable[i - 1] || drawable[i + 1]);
}
