import { areaY, dot, line, type Markish, ruleX, type ScaleOptions, text } from '@observablehq/plot';
import type { Html } from 'facematch/for-lab';
import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts } from '../number-text.ts';
import type { ScoreKind } from '../pairs.ts';
import { chartView, labelled, linearScale, rateScale, styleOf } from './chart.ts';

type Point = readonly [x: number, y: number];

/** Draws a line in steps, because a rate is constant until the falling threshold reaches the next score. */
function steps(points: readonly Point[], series: number): Markish {
  return line(points, { ...styleOf(series), strokeWidth: 2, curve: 'step-after' });
}

/** Draws vertical lines, each with its label in a separate row, so that no line crosses a label. */
function markersOf(markers: readonly { x: number; label: string }[]) {
  const rising = markers.filter(({ x }) => Number.isFinite(x)).sort((a, b) => a.x - b.x);
  return {
    marginTop: 10 + 13 * rising.length,
    marks: rising.flatMap(({ x, label }, row) => [
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
  about: string;
  nothing: string;
  y: (lines: readonly Point[][]) => ScaleOptions;
  isSeen: (fmr: number, fnmr: number) => boolean;
  /** Returns the y value of a false non-match rate. */
  value: (fnmr: number) => number;
}

/** Draws an error rate against the false match rate, and the operating points with their intervals. */
function tradeOff(
  curves: readonly NamedCurve[],
  { title, about, nothing, y, isSeen, value }: TradeOff,
): Html {
  const lines = curves.map(({ figures: { curve } }) =>
    seenParts(curve, ([, fmr, fnmr]) => isSeen(fmr, fnmr)).map(([, fmr, fnmr]): Point => [fmr, value(fnmr)]),
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
    description: `${about} The tables of thresholds have the figures.`,
    legend: curves.map(({ name }) => name),
    x: rateScale('false match rate', most(curves, 'non_mated')),
    y: y(lines),
    marks: [...lines.map(steps), ...dots, ...(isEmpty ? [text([nothing], { frameAnchor: 'middle' })] : [])],
  });
}

/** Detection error trade-off: both error rates against each other (Martin et al. 1997), here on logarithmic axes. */
export function detChart(curves: readonly NamedCurve[]): Html {
  return tradeOff(curves, {
    title: 'Detection error trade-off',
    about: 'False non-match rate against false match rate, both logarithmic; lower is better.',
    nothing: 'No threshold makes errors of both kinds.',
    y: () => rateScale('false non-match rate', most(curves, 'mated')),
    isSeen: (fmr, fnmr) => Math.min(fmr, fnmr) > 0,
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
    about: '1 − FNMR against false match rate, which is logarithmic; higher is better.',
    nothing: 'No threshold makes a false match.',
    y: (lines) => {
      const shown = [...lines.map((points) => points[0]?.[1] ?? 1), ...lows].filter(Number.isFinite);
      // Leaves room below the line even if every mated pair is accepted.
      return linearScale('1 − FNMR', Math.min(0.99, ...shown), 1);
    },
    isSeen: (fmr) => fmr > 0,
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
    title: `Scores by the ${kindTexts[kind]}`,
    description: 'Share of pairs by score. The table of thresholds has those of the lines.',
    legend: ['mated (same person)', 'non-mated (different people)'],
    marginTop,
    x: linearScale(kindTexts[kind], Math.min(...edges), Math.max(...edges)),
    y: linearScale('share of pairs', 0, Math.max(0.01, ...outlines.flat().map(([, y]) => y))),
    marks: [
      ...outlines.flatMap((points, series) => [
        areaY(points, { ...area, fill: styleOf(series).stroke }),
        steps(
          seenParts(points, ([, share]) => share > 0),
          series,
        ),
      ]),
      ...marks,
    ],
  });
}

/**
 * Draws the error rates of all sets by threshold. Where the falling lines differ, no threshold gives all sets
 * the same FMR.
 */
export function thresholdChart(kind: ScoreKind, sets: readonly Figures[]): Html {
  const curves = sets.map(({ by }) => by[kind].curve);
  const thresholds = curves.flatMap((curve) => curve.map(([threshold]) => threshold));
  const { marks, marginTop } = markersOf(percentMarkers(sets[0]!.by[kind]));
  const pairs = Math.max(most(sets, 'mated'), most(sets, 'non_mated'));
  const lines = curves.flatMap((curve, series) =>
    ([1, 2] as const).map((rate) => {
      const seen = seenParts(curve, (point) => point[rate] > 0);
      return steps(
        seen.map((point) => [point[0], point[rate]]),
        series,
      );
    }),
  );
  return chartView({
    title: `Error rates by threshold, ${kindTexts[kind]}`,
    description:
      'False match rates fall and false non-match rates rise with the threshold, each set in its colour; the rates are logarithmic. The table of shared thresholds has the figures.',
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

function most(sets: readonly Pick<Figures, 'pairs'>[], kind: 'mated' | 'non_mated'): number {
  return Math.max(...sets.map(({ pairs }) => pairs[kind]));
}

/**
 * Omits the parts where a rate is 0, which a logarithmic axis cannot show, but keeps the points next to the
 * others, so that the steps into those parts are drawn.
 */
function seenParts<P>(points: readonly P[], isSeen: (point: P) => boolean): P[] {
  const seen = points.map(isSeen);
  return points.filter((_, i) => seen[i] || seen[i - 1] || seen[i + 1]);
}
