import {
  areaY,
  dot,
  line,
  type PlotOptions,
  ruleX,
  ruleY,
  type ScaleOptions,
  text,
} from '@observablehq/plot';
import { Html, html } from '../../site/html.ts';
import { drawSvg } from '../../site/plot.ts';
import type { GroupFigures, Rate } from '../differential.ts';
import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts, percentText, rateText, scoreText, timesText } from '../number-text.ts';
import type { ScoreKind } from '../pairs.ts';

/** A named curve, and its number of pairs. */
interface NamedCurve {
  name: string;
  figures: ScoreFigures;
  pairs: Figures['pairs'];
}

interface Chart extends PlotOptions {
  title: string;
  /** For screen readers. */
  description: string;
  /** The names of the series; empty for a single one. */
  legend: readonly string[];
}

/**
 * Colours after Okabe and Ito 2008, distinguishable with any colour vision, each with a contrast of at least 3 to 1 on the light
 * and the dark page. Further series start again with the first.
 */
const looks = [
  { stroke: '#0072b2', strokeDasharray: 'none' },
  { stroke: '#c04e00', strokeDasharray: '6 3' },
  { stroke: '#007d5b', strokeDasharray: '2 2' },
  { stroke: '#a44a84', strokeDasharray: '8 3 2 3' },
  { stroke: '#8a6300', strokeDasharray: '12 4' },
  { stroke: '#3c7ea6', strokeDasharray: '1 4' },
];
const lookOf = (series: number) => ({ ...looks[series % looks.length]!, strokeWidth: 2 });

/** Small, so that text is readable when the chart is as wide as a phone. */
const size = { width: 430, height: 280, marginLeft: 60, marginRight: 12, marginBottom: 44 };
const named = { labelAnchor: 'center', labelArrow: 'none' } as const;

function chartView({ title, description, legend, ...options }: Chart): Html {
  const svg = drawSvg({ ...size, ariaLabel: title, ariaDescription: description, ...options });
  const keys = legend.map((label, series) => {
    const { stroke, strokeDasharray } = lookOf(series);
    return html`<li><svg viewBox="0 0 28 8" aria-hidden="true"><path d="M0 4L28 4" stroke="${stroke}" stroke-dasharray="${strokeDasharray}" stroke-width="2"/></svg> ${label}</li>`;
  });
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
${new Html(svg.replace(/ xmlns="[^"]*"/, ''))}
${keys.length > 0 ? html`<ul class="legend">${keys}</ul>` : undefined}
</figure>
`;
}

/** Logarithmic, from the power of ten of one in `pairs` pairs (10⁻² at most) to 1. A rate of 0 is at the start. */
function rateScale(label: string, pairs: number): ScaleOptions {
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
  return logScale(label, -decades, 0, (rate) => {
    const decade = -Math.round(Math.log10(rate));
    return decade === 0 ? '1' : `10⁻${'⁰¹²³⁴⁵⁶⁷⁸⁹'[decade]}`;
  });
}

/** With a tick at each power of ten. */
function logScale(
  label: string,
  first: number,
  last: number,
  tickFormat: (value: number) => string,
): ScaleOptions {
  const ticks = Array.from({ length: last - first + 1 }, (_, i) =>
    Number((10 ** (first + i)).toPrecision(1)),
  );
  return {
    type: 'log',
    domain: [ticks[0]!, ticks.at(-1)!],
    clamp: true,
    ticks,
    tickFormat,
    label,
    grid: true,
  };
}

/** From at most `min` to at least `max`, with round ticks. */
function linearScale(label: string, min: number, max: number): ScaleOptions {
  return { domain: [min, max > min ? max : min + 1], nice: true, clamp: true, ticks: 8, label, grid: true };
}

/**
 * An error rate stays as it is until the threshold meets the next score, so that lines are steps. `points` come with falling
 * thresholds.
 */
function steps(points: readonly (readonly [number, number])[], series: number) {
  return line(points, { ...lookOf(series), curve: 'step-after' });
}

/** Vertical lines, each with a label to the left of its top, in a row of its own, so that no line crosses a label. */
function markersOf(markers: readonly { x: number; label: string }[]): PlotOptions {
  const rising = markers.filter(({ x }) => Number.isFinite(x)).sort((a, b) => a.x - b.x);
  return {
    marginTop: 10 + 13 * rising.length,
    marks: rising.flatMap(({ x, label }, row) => [
      ruleX([x], { strokeDasharray: '1 3', insetTop: -13 * (row + 1) }),
      text([label], {
        x,
        dx: -3,
        dy: -4 - 13 * row,
        frameAnchor: 'top',
        lineAnchor: 'bottom',
        textAnchor: 'end',
      }),
    ]),
  };
}

/** True-accept rates at the operating points with their intervals, converted by `value`. */
function dotsOf(curves: readonly NamedCurve[], value: (tar: number) => number) {
  return curves.flatMap(({ figures: { operating_points } }, series) => {
    const { stroke } = lookOf(series);
    const dots = operating_points
      .filter(({ tar }) => Number.isFinite(tar))
      .map(({ measured_fmr: x, tar, tar_interval: [low, high] }) => {
        return { x, y: value(tar), y1: value(low), y2: value(high) };
      });
    return [
      ruleX(dots, { x: 'x', y1: 'y1', y2: 'y2', stroke }),
      dot(dots, { x: 'x', y: 'y', r: 3.5, fill: stroke }),
    ];
  });
}

/** Detection error trade-off: both error rates against each other (Martin et al. 1997), here on logarithmic axes. */
export function detChart(curves: readonly NamedCurve[]): Html {
  return chartView({
    title: 'Detection error trade-off',
    description: `False-non-match rate against false-match rate, both logarithmic; lower is better. ${inWords(curves)}`,
    legend: curves.map(({ name }) => name),
    x: { ...rateScale('false-match rate', most(curves, 'different')), ...named },
    y: { ...rateScale('false-non-match rate', most(curves, 'same')), ...named },
    marks: [
      ...curves.map(({ figures }, series) => {
        const seen = withoutZeros(figures.curve, ([, fmr, fnmr]) => Math.min(fmr, fnmr));
        return steps(
          seen.map(([, fmr, fnmr]) => [fmr, fnmr]),
          series,
        );
      }),
      ...dotsOf(curves, (tar) => 1 - tar),
    ],
  });
}

/** Receiver operating characteristic: the true-accept rate at each false-match rate. */
export function rocChart(curves: readonly NamedCurve[]): Html {
  const lines = curves.map(({ figures }) =>
    withoutZeros(figures.curve, ([, fmr]) => fmr).map(([, fmr, fnmr]) => [fmr, 1 - fnmr] as const),
  );
  const lows = curves.flatMap(({ figures }) =>
    figures.operating_points.map((point) => point.tar_interval[0]),
  );
  const shown = [...lines.map((points) => points[0]?.[1] ?? 1), ...lows].filter(Number.isFinite);
  return chartView({
    title: 'Receiver operating characteristic',
    description: `True-accept rate against false-match rate, which is logarithmic; higher is better. ${inWords(curves)}`,
    legend: curves.map(({ name }) => name),
    x: { ...rateScale('false-match rate', most(curves, 'different')), ...named },
    y: { ...linearScale('true-accept rate', Math.min(1, ...shown), 1), ...named },
    marks: [...lines.map(steps), ...dotsOf(curves, (tar) => tar)],
  });
}

/** The distribution of scores of both kinds of pairs, with thresholds. */
export function histogramChart(kind: ScoreKind, figures: ScoreFigures): Html {
  const { histogram, operating_points } = figures;
  const { start, width } = histogram;
  const markers = [
    ...operating_points.map(({ fmr, threshold }) => ({ x: threshold, label: `FMR ${fmr.toExponential()}` })),
    ...percentMarkers(figures),
  ].filter(({ x }) => Number.isFinite(x));
  const edges = [start, start + width * histogram.same.length, ...markers.map(({ x }) => x)];
  const outlines = (['same', 'different'] as const).map((group) => {
    const counts = histogram[group];
    const total = Math.max(
      1,
      counts.reduce((sum, count) => sum + count, 0),
    );
    return [0, ...counts, 0].map((count, i) => [start + Math.max(0, i - 1) * width, count / total] as const);
  });
  const { marks = [], ...above } = markersOf(markers);
  return chartView({
    title: `Scores by the ${kindTexts[kind]}`,
    description: `Share of pairs by score. ${markers.map(({ x, label }) => `${label} at ${scoreText(x)}`).join(', ')}.`,
    legend: ['same person', 'different people'],
    ...above,
    x: { ...linearScale(kindTexts[kind], Math.min(...edges), Math.max(...edges)), ...named },
    y: {
      ...linearScale('share of pairs', 0, Math.max(0.01, ...outlines.flat().map(([, y]) => y))),
      ...named,
    },
    marks: [
      ...outlines.flatMap((points, series) => [
        areaY(points, {
          ...{ x: '0', y: '1', curve: 'step-after' },
          fill: lookOf(series).stroke,
          fillOpacity: 0.2,
        }),
        steps(
          withoutZeros(points, ([, share]) => share),
          series,
        ),
      ]),
      ...marks,
    ],
  });
}

/** Error rates of all sets by threshold: where the falling lines differ, no threshold gives all sets the same rate. */
export function thresholdChart(kind: ScoreKind, sets: readonly Figures[]): Html {
  const curves = sets.map(({ by }) => by[kind].curve);
  const thresholds = curves.flatMap((curve) => curve.map(([threshold]) => threshold));
  const { marks = [], ...above } = markersOf(percentMarkers(sets[0]!.by[kind]));
  return chartView({
    title: `Error rates by threshold, ${kindTexts[kind]}`,
    description:
      'False-match rates fall and false-non-match rates rise with the threshold, each set in its colour; the rates are logarithmic. The table of shared thresholds has the figures.',
    legend: sets.map(({ set }) => set),
    ...above,
    x: {
      ...linearScale(
        `threshold: ${kindTexts[kind]}`,
        Math.min(0, ...thresholds),
        Math.max(0.1, ...thresholds),
      ),
      ...named,
    },
    y: {
      ...rateScale('FMR (falling), FNMR (rising)', Math.max(most(sets, 'same'), most(sets, 'different'))),
      ...named,
    },
    marks: [
      ...curves.flatMap((curve, series) =>
        ([1, 2] as const).map((rate) =>
          steps(
            withoutZeros(curve, (point) => point[rate]).map((point) => [point[0], point[rate]]),
            series,
          ),
        ),
      ),
      ...marks,
    ],
  });
}

function percentMarkers({ percent_points }: ScoreFigures): { x: number; label: string }[] {
  return percent_points.map((point) => ({ x: point.threshold, label: `${point.confidence_percent} %` }));
}

function most(sets: readonly Pick<Figures, 'pairs'>[], kind: 'same' | 'different'): number {
  return Math.max(...sets.map(({ pairs }) => pairs[kind]));
}

function inWords(curves: readonly NamedCurve[]): string {
  const words = curves.flatMap(({ name, figures: { operating_points } }) => {
    const points = operating_points.map(
      ({ fmr, tar }) => `${percentText(tar)} accepted at ${rateText(fmr)} false matches`,
    );
    return points.length === 0 ? [] : `${name}: ${points.join(', ')}.`;
  });
  return words.join(' ');
}

/** A curve without the parts where a rate is 0, which a logarithmic axis cannot show, but with the steps into them. */
function withoutZeros<P>(points: readonly P[], rateOf: (point: P) => number): P[] {
  const isSeen = (point: P | undefined) => point !== undefined && rateOf(point) > 0;
  return points.filter((point, i) => isSeen(point) || isSeen(points[i - 1]) || isSeen(points[i + 1]));
}

/** One for each series; NaN has no dot. */
interface GroupValue {
  value: number;
  low: number;
  high: number;
}

interface GroupRow {
  name: string;
  values: readonly GroupValue[];
}

/** Values of groups with their intervals, a row for each group. */
function groupChart(
  chart: Chart & { rows: readonly GroupRow[]; marker?: { x: number; label: string } },
): Html {
  const { rows, marker, legend, ...options } = chart;
  const series = Math.max(1, legend.length);
  const rowHeight = 23 + 9 * series;
  const marginTop = marker === undefined ? 4 : 20;
  const above = { dx: -3, dy: -4, frameAnchor: 'top', lineAnchor: 'bottom', textAnchor: 'end' } as const;
  // By number, because two groups may have one name.
  const fy = (_: unknown, row: number) => row;
  return chartView({
    ...options,
    legend,
    ...{
      marginLeft: 18,
      marginRight: 18,
      marginTop,
      height: rowHeight * rows.length + marginTop + size.marginBottom,
    },
    fy: { domain: rows.map((_, row) => row), axis: null, paddingInner: 0, paddingOuter: 0 },
    y: { domain: [0, rowHeight], axis: null },
    marks: [
      text(rows, { fy, text: 'name', frameAnchor: 'top-left', dy: 4 }),
      ...Array.from({ length: series }, (_, column) => {
        const { stroke, strokeDasharray } = lookOf(column);
        const at = { fy, y: rowHeight - 21 - 9 * column };
        const of =
          (name: keyof GroupValue) =>
          ({ values }: GroupRow) =>
            values[column]![name];
        return [
          ruleY(rows, { ...at, x1: of('low'), x2: of('high'), stroke, strokeDasharray }),
          dot(rows, { ...at, x: of('value'), r: 3.5, fill: stroke }),
        ];
      }),
      ...(marker === undefined
        ? []
        : [
            ruleX([marker.x], { strokeDasharray: '1 3' }),
            text([marker.label], { fy: [0], x: [marker.x], ...above }),
          ]),
    ],
  });
}

/** How many times the promise each group's strangers pass. */
export function falseMatchChart(groups: readonly GroupFigures[]): Html {
  const rows = groups.map(({ group, by_percent }) => ({
    name: group,
    values: by_percent.map(({ ratio, promised, false_match: { interval } }) => {
      const [low, high] = interval;
      return { value: ratio, low: low / promised, high: high / promised };
    }),
  }));
  const logs = rows
    .flatMap(({ values }) => values.flatMap(({ value, high }) => [value, high]))
    .filter((value) => value > 0 && Number.isFinite(value))
    .map(Math.log10);
  // Whole decades around 1. Below a hundredth nothing needs to be told apart.
  const [first, last] = [Math.max(-2, Math.floor(Math.min(-1, ...logs))), Math.ceil(Math.max(1, ...logs))];
  return groupChart({
    title: 'Within-group false-match rate',
    description: `Observed over promised rate, logarithmic. ${groupsInWords(groups, ({ ratio }) => `${timesText(ratio)} times the promise`)}`,
    legend: percentsOf(groups),
    rows,
    x: {
      ...logScale('times the promised rate', first, last, (value) => value.toLocaleString('en-US')),
      ...named,
    },
    marker: { x: 1, label: 'as promised' },
  });
}

export function falseNonMatchChart(groups: readonly GroupFigures[]): Html {
  return shareChart({
    title: 'False non-match rate',
    description: `Share of pairs of one person that do not match. ${groupsInWords(groups, ({ false_non_match }) => percentText(false_non_match.rate))}`,
    legend: percentsOf(groups),
    rows: groups
      .filter(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0)
      .map(({ group, by_percent }) => ({
        name: group,
        values: by_percent.map(({ false_non_match }) => inPercent(false_non_match)),
      })),
  });
}

export function failureChart(groups: readonly GroupFigures[]): Html {
  return shareChart({
    title: 'Failure-to-acquire rate',
    description: `Share of pictures without a face. ${groups.map(({ group, failure_to_acquire }) => `${group}: ${percentText(failure_to_acquire.rate)}.`).join(' ')}`,
    legend: [],
    rows: groups.map(({ group, failure_to_acquire }) => ({
      name: group,
      values: [inPercent(failure_to_acquire)],
    })),
  });
}

function shareChart(chart: Chart & { rows: readonly GroupRow[] }): Html {
  const highest = chart.rows.flatMap(({ values }) =>
    values.map(({ value, high }) => (Number.isNaN(value) ? 0 : high)),
  );
  return groupChart({ ...chart, x: { ...linearScale('percent', 0, Math.max(1, ...highest)), ...named } });
}

function inPercent({ rate, interval: [low, high] }: Rate): GroupValue {
  return { value: rate * 100, low: low * 100, high: high * 100 };
}

function percentsOf(groups: readonly GroupFigures[]): string[] {
  return groups[0]!.by_percent.map(({ percent }) => `at ${percent} %`);
}

function groupsInWords(
  groups: readonly GroupFigures[],
  words: (one: GroupFigures['by_percent'][number]) => string,
): string {
  return groups
    .map(({ group, by_percent }) => {
      const each = by_percent.map((one) => `${words(one)} at ${one.percent} %`);
      return `${group}: ${each.join(', ')}.`;
    })
    .join(' ');
}
