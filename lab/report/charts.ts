import {
  areaY,
  dot,
  line,
  type Markish,
  type PlotOptions,
  ruleX,
  ruleY,
  type ScaleOptions,
  text,
} from '@observablehq/plot';
import { Html, html } from 'facematch/for-lab';
import type { GroupFigures, Rate } from '../differential.ts';
import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts, percentText, rateText, scoreText, timesText } from '../number-text.ts';
import type { ScoreKind } from '../pairs.ts';
import { drawSvg } from '../plot.ts';

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
const lookOf = (series: number) => looks[series % looks.length]!;

/** Small, so that text is readable when the chart is as wide as a phone. */
const size = { width: 430, height: 280, marginLeft: 60, marginRight: 12, marginBottom: 44 };

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

const axis = { clamp: true, grid: true, labelAnchor: 'center', labelArrow: 'none' } as const;

/** With a tick at each power of ten. */
function logScale(label: string, first: number, last: number, tickFormat: (value: number) => string) {
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const ticks = powers.map((power) => Number(power.toPrecision(1)));
  const scale: ScaleOptions = { ...axis, type: 'log', domain: [ticks[0]!, ticks.at(-1)!] };
  return { ...scale, ticks, tickFormat, label };
}

/** From the power of ten of one in `pairs` pairs (10⁻² at most) to 1. A rate of 0 is at the start. */
function rateScale(label: string, pairs: number): ScaleOptions {
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
  return logScale(label, -decades, 0, (rate) => {
    const decade = -Math.round(Math.log10(rate));
    return decade === 0 ? '1' : `10⁻${'⁰¹²³⁴⁵⁶⁷⁸⁹'[decade]}`;
  });
}

/** From at most `min` to at least `max`, with round ticks. */
function linearScale(label: string, min: number, max: number): ScaleOptions {
  return { ...axis, domain: [min, max > min ? max : min + 1], nice: true, ticks: 8, label };
}

type Point = readonly [x: number, y: number];

/** A rate stays as it is until the threshold, which falls, meets the next score: lines are steps. */
function steps(points: readonly Point[], series: number): Markish {
  return line(points, { ...lookOf(series), strokeWidth: 2, curve: 'step-after' });
}

/** Of a label to the left of the top of its line. */
const labelled = { dx: -3, frameAnchor: 'top', lineAnchor: 'bottom', textAnchor: 'end' } as const;

/** Vertical lines, each with its label in a row of its own, so that no line crosses a label. */
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

/** A named curve, and its number of pairs. */
interface NamedCurve {
  name: string;
  figures: ScoreFigures;
  pairs: Figures['pairs'];
}

/** Lines of an error rate, converted by `y`, against the false-match rate, and the true-accept rates with their intervals. */
function tradeOff(
  curves: readonly NamedCurve[],
  chart: { title: string; about: string; y: (lines: readonly Point[][]) => ScaleOptions },
  isSeen: (fmr: number, fnmr: number) => boolean,
  value: (fnmr: number) => number,
): Html {
  const lines = curves.map(({ figures: { curve } }) =>
    seenParts(curve, ([, fmr, fnmr]) => isSeen(fmr, fnmr)).map(([, fmr, fnmr]): Point => [fmr, value(fnmr)]),
  );
  const dots = curves.flatMap(({ figures: { operating_points } }, series) => {
    const { stroke } = lookOf(series);
    const points = operating_points
      .filter(({ tar }) => Number.isFinite(tar))
      .map(({ measured_fmr: x, tar, tar_interval: [low, high] }) => {
        return { x, y: value(1 - tar), y1: value(1 - low), y2: value(1 - high) };
      });
    return [
      ruleX(points, { x: 'x', y1: 'y1', y2: 'y2', stroke }),
      dot(points, { x: 'x', y: 'y', r: 3.5, fill: stroke }),
    ];
  });
  const words = curves.flatMap(({ name, figures: { operating_points } }) => {
    const points = operating_points.map(
      ({ fmr, tar }) => `${percentText(tar)} accepted at ${rateText(fmr)} false matches`,
    );
    return points.length === 0 ? [] : `${name}: ${points.join(', ')}.`;
  });
  return chartView({
    title: chart.title,
    description: `${chart.about} ${words.join(' ')}`,
    legend: curves.map(({ name }) => name),
    x: rateScale('false-match rate', most(curves, 'different')),
    y: chart.y(lines),
    marks: [...lines.map(steps), ...dots],
  });
}

/** Detection error trade-off: both error rates against each other (Martin et al. 1997), here on logarithmic axes. */
export function detChart(curves: readonly NamedCurve[]): Html {
  const chart = {
    title: 'Detection error trade-off',
    about: 'False-non-match rate against false-match rate, both logarithmic; lower is better.',
    y: () => rateScale('false-non-match rate', most(curves, 'same')),
  };
  return tradeOff(
    curves,
    chart,
    (fmr, fnmr) => Math.min(fmr, fnmr) > 0,
    (fnmr) => fnmr,
  );
}

/** Receiver operating characteristic: the true-accept rate at each false-match rate. */
export function rocChart(curves: readonly NamedCurve[]): Html {
  const lows = curves.flatMap(({ figures }) =>
    figures.operating_points.map((point) => point.tar_interval[0]),
  );
  const chart = {
    title: 'Receiver operating characteristic',
    about: 'True-accept rate against false-match rate, which is logarithmic; higher is better.',
    y: (lines: readonly Point[][]) => {
      const shown = [...lines.map((points) => points[0]?.[1] ?? 1), ...lows].filter(Number.isFinite);
      return linearScale('true-accept rate', Math.min(1, ...shown), 1);
    },
  };
  return tradeOff(
    curves,
    chart,
    (fmr) => fmr > 0,
    (fnmr) => 1 - fnmr,
  );
}

/** The distribution of scores of both kinds of pairs, with thresholds. */
export function histogramChart(kind: ScoreKind, figures: ScoreFigures): Html {
  const { start, width, ...counted } = figures.histogram;
  const markers = [
    ...figures.operating_points.map(({ fmr, threshold: x }) => ({ x, label: `FMR ${fmr.toExponential()}` })),
    ...percentMarkers(figures),
  ].filter(({ x }) => Number.isFinite(x));
  const edges = [start, start + width * counted.same.length, ...markers.map(({ x }) => x)];
  const outlines = [counted.same, counted.different].map((counts) => {
    const total = counts.reduce((sum, count) => sum + count, 0) || 1;
    return [0, ...counts, 0].map((count, i): Point => [start + Math.max(0, i - 1) * width, count / total]);
  });
  const area = { x: '0', y: '1', curve: 'step-after', fillOpacity: 0.2 } as const;
  const { marks, marginTop } = markersOf(markers);
  return chartView({
    title: `Scores by the ${kindTexts[kind]}`,
    description: `Share of pairs by score. ${markers.map(({ x, label }) => `${label} at ${scoreText(x)}`).join(', ')}.`,
    legend: ['same person', 'different people'],
    marginTop,
    x: linearScale(kindTexts[kind], Math.min(...edges), Math.max(...edges)),
    y: linearScale('share of pairs', 0, Math.max(0.01, ...outlines.flat().map(([, y]) => y))),
    marks: [
      ...outlines.flatMap((points, series) => [
        areaY(points, { ...area, fill: lookOf(series).stroke }),
        steps(
          seenParts(points, ([, share]) => share > 0),
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
  const { marks, marginTop } = markersOf(percentMarkers(sets[0]!.by[kind]));
  const pairs = Math.max(most(sets, 'same'), most(sets, 'different'));
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
      'False-match rates fall and false-non-match rates rise with the threshold, each set in its colour; the rates are logarithmic. The table of shared thresholds has the figures.',
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

function most(sets: readonly Pick<Figures, 'pairs'>[], kind: 'same' | 'different'): number {
  return Math.max(...sets.map(({ pairs }) => pairs[kind]));
}

/** Without the parts where a rate is 0, which a logarithmic axis cannot show, but with the steps into them. */
function seenParts<P>(points: readonly P[], isSeen: (point: P) => boolean): P[] {
  const seen = points.map(isSeen);
  return points.filter((_, i) => seen[i] || seen[i - 1] || seen[i + 1]);
}

/** One for each series; NaN has no dot. */
interface GroupValue {
  value: number;
  low: number;
  high: number;
}

interface GroupChart extends Omit<Chart, 'x'> {
  groups: readonly GroupFigures[];
  valuesOf: (group: GroupFigures) => GroupValue[];
  x: (values: readonly GroupValue[]) => ScaleOptions;
  marker?: { x: number; label: string };
}

/** Values of groups with their intervals, a row for each group. */
function groupChart({ groups, valuesOf, x, marker, ...chart }: GroupChart): Html {
  const rows = groups.map(valuesOf);
  const series = Math.max(1, chart.legend.length);
  const rowHeight = 23 + 9 * series;
  const marginTop = marker === undefined ? 4 : 20;
  // By number, because two groups may have one name.
  const fy = (_: unknown, row: number) => row;
  const columns = Array.from({ length: series }, (_, column) => {
    const { stroke, strokeDasharray } = lookOf(column);
    const at = { fy, y: rowHeight - 21 - 9 * column };
    const of = (name: keyof GroupValue) => (values: GroupValue[]) => values[column]![name];
    return [
      ruleY(rows, { ...at, x1: of('low'), x2: of('high'), stroke, strokeDasharray }),
      dot(rows, { ...at, x: of('value'), r: 3.5, fill: stroke }),
    ];
  });
  const marked = marker && [
    ruleX([marker.x], { strokeDasharray: '1 3' }),
    text([marker.label], { ...labelled, fy: [0], x: [marker.x], dy: -4 }),
  ];
  return chartView({
    ...chart,
    marginLeft: 18,
    marginRight: 18,
    marginTop,
    height: rowHeight * rows.length + marginTop + size.marginBottom,
    x: x(rows.flat()),
    fy: { domain: rows.map(fy), axis: null, paddingInner: 0, paddingOuter: 0 },
    y: { domain: [0, rowHeight], axis: null },
    marks: [
      text(groups, { fy, text: ({ group }: GroupFigures) => group, frameAnchor: 'top-left', dy: 4 }),
      ...columns,
      ...(marked ?? []),
    ],
  });
}

/** How many times the stated rate each group's strangers pass. */
export function falseMatchChart(groups: readonly GroupFigures[]): Html {
  return groupChart({
    title: 'Within-group false-match rate',
    description: `Measured over stated rate, logarithmic. ${inWords(groups, ({ ratio }) => `${timesText(ratio)} times the stated rate`)}`,
    legend: percentsOf(groups),
    groups,
    valuesOf: ({ by_percent }) =>
      by_percent.map(({ ratio: value, promised, false_match: { interval } }) => {
        return { value, low: interval[0] / promised, high: interval[1] / promised };
      }),
    x: (values) => {
      const bounds = values.flatMap(({ value, high }) => [value, high]);
      const logs = bounds.filter((bound) => bound > 0 && Number.isFinite(bound)).map(Math.log10);
      // Whole decades around 1. Below a hundredth nothing needs to be told apart.
      const first = Math.max(-2, Math.floor(Math.min(-1, ...logs)));
      const last = Math.ceil(Math.max(1, ...logs));
      return logScale('times the stated rate', first, last, (value) => value.toLocaleString('en-US'));
    },
    marker: { x: 1, label: 'as stated' },
  });
}

export function falseNonMatchChart(groups: readonly GroupFigures[]): Html {
  return groupChart({
    title: 'False non-match rate',
    description: `Share of pairs of one person that do not match. ${inWords(groups, ({ false_non_match }) => percentText(false_non_match.rate))}`,
    legend: percentsOf(groups),
    groups: groups.filter(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0),
    valuesOf: ({ by_percent }) => by_percent.map(({ false_non_match }) => inPercent(false_non_match)),
    x: percentScale,
  });
}

export function failureChart(groups: readonly GroupFigures[]): Html {
  const words = groups.map(({ group, failure_to_acquire: { rate } }) => `${group}: ${percentText(rate)}.`);
  return groupChart({
    title: 'Failure-to-acquire rate',
    description: `Share of images without a face. ${words.join(' ')}`,
    legend: [],
    groups,
    valuesOf: ({ failure_to_acquire }) => [inPercent(failure_to_acquire)],
    x: percentScale,
  });
}

function percentScale(values: readonly GroupValue[]): ScaleOptions {
  const highs = values.map(({ value, high }) => (Number.isNaN(value) ? 0 : high));
  return linearScale('percent', 0, Math.max(1, ...highs));
}

function inPercent({ rate, interval: [low, high] }: Rate): GroupValue {
  return { value: rate * 100, low: low * 100, high: high * 100 };
}

function percentsOf(groups: readonly GroupFigures[]): string[] {
  return groups[0]!.by_percent.map(({ percent }) => `at ${percent} %`);
}

function inWords(
  groups: readonly GroupFigures[],
  words: (one: GroupFigures['by_percent'][number]) => string,
): string {
  const each = groups.map(({ group, by_percent }) => {
    const rates = by_percent.map((one) => `${words(one)} at ${one.percent} %`);
    return `${group}: ${rates.join(', ')}.`;
  });
  return each.join(' ');
}
