import { dot, ruleX, ruleY, type ScaleOptions, text } from '@observablehq/plot';
import type { Html } from 'facematch/for-lab';
import type { GroupFigures, Rate } from '../differential.ts';
import { type Chart, chartView, labelled, linearScale, logScale, size, styleOf } from './chart.ts';

/** A value with its interval. NaN is not drawn. */
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

function groupChart({ groups, valuesOf, x, marker, ...chart }: GroupChart): Html {
  const rows = groups.map(valuesOf);
  const series = Math.max(1, chart.legend.length);
  const rowHeight = 23 + 9 * series;
  const marginTop = marker === undefined ? 4 : 20;
  // Rows are keyed by index, because two groups may have the same name.
  const fy = (_: unknown, row: number) => row;
  const columns = Array.from({ length: series }, (_, column) => {
    const { stroke, strokeDasharray } = styleOf(column);
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

const below = 'The table below has the figures.';

/** Draws the ratio of each group's false match rate to the stated rate. */
export function falseMatchChart(groups: readonly GroupFigures[]): Html {
  return groupChart({
    title: 'Within-group false match rate',
    description: `Measured rate divided by stated rate, on a logarithmic axis. ${below}`,
    legend: percentsOf(groups),
    groups,
    valuesOf: ({ by_percent }) =>
      by_percent.map(({ fmr_over_stated: value, stated_fmr, fmr: { interval } }) => {
        return { value, low: interval[0] / stated_fmr, high: interval[1] / stated_fmr };
      }),
    x: (values) => {
      const bounds = values.flatMap(({ value, high }) => [value, high]);
      const logs = bounds.filter((bound) => bound > 0 && Number.isFinite(bound)).map(Math.log10);
      // The axis covers whole decades around 1, and starts at 0.01 or 0.1.
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
    description: `Share of mated pairs that do not match. ${below}`,
    legend: percentsOf(groups),
    groups: groups.filter(({ by_percent }) => by_percent[0]!.fnmr.trials > 0),
    valuesOf: ({ by_percent }) => by_percent.map(({ fnmr }) => inPercent(fnmr)),
    x: percentScale,
  });
}

export function failureChart(groups: readonly GroupFigures[]): Html {
  return groupChart({
    title: 'Failure-to-acquire rate',
    description: `Share of images without a face. ${below}`,
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
