import { type Html, html } from '../../site/html.ts';
import { type Axis, clamped, legendView, look, tenths } from './chart.ts';

/** Values of groups with their intervals, a row for each group: groupChartView() draws it as SVG. */
export interface GroupChart {
  /** Unique in the page. */
  id: string;
  title: string;
  /** For screen readers. */
  description: string;
  x: Axis;
  /** A vertical line through all groups, such as at what is promised. */
  marker?: { x: number; label: string };
  /** Empty for a single one, which needs no legend. */
  series: readonly string[];
  groups: readonly { name: string; values: readonly GroupValue[] }[];
}

/** One for each series; NaN has no dot. */
interface GroupValue {
  value: number;
  low: number;
  high: number;
}

/** Logarithmic, in whole decades around `values` and 1. What is 0 or smaller than the first decade is at the start. */
export function timesAxis(title: string, values: readonly number[]): Axis {
  const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  // Below a hundredth nothing needs to be told apart.
  const first = Math.max(-2, Math.floor(Math.min(-1, ...logs)));
  const last = Math.ceil(Math.max(1, ...logs));
  return {
    title,
    share: (value) => clamped((Math.log10(value) - first) / (last - first)),
    ticks: Array.from({ length: last - first + 1 }, (_, i) => {
      const value = Number((10 ** (first + i)).toPrecision(1));
      return { value, label: value.toLocaleString('en-US') };
    }),
  };
}

/** In units of the viewBox, as wide as the other charts: a group's name stands above its row. */
const width = 430;
const plot = { left: 12, right: 418 };
const nameHeight = 17;
const valueHeight = 9;
const gap = 6;

export function groupChartView({ id, title, description, x, marker, series, groups }: GroupChart): Html {
  const rowHeight = nameHeight + valueHeight * Math.max(1, series.length) + gap;
  const bottom = rowHeight * groups.length;
  const above = marker === undefined ? 4 : 20;
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
<svg viewBox="0 ${-above} ${width} ${bottom + 44 + above}" role="img" aria-labelledby="${id}-title ${id}-text">
<title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>
${axisView(x, bottom)}
${marker && markerView(marker, x, bottom)}
${groups.map(({ name, values }, row) => groupView(name, values, x, row * rowHeight))}
</svg>
${series.length > 0 ? legendView(series.map((label, index) => ({ series: index, label }))) : undefined}
</figure>
`;
}

function axisView(x: Axis, bottom: number): Html {
  return html`<g class="axis">${x.ticks.map(({ value, label }) => {
    const at = atX(x, value);
    return html`<line x1="${at}" x2="${at}" y1="0" y2="${bottom}"/><text x="${at}" y="${bottom + 16}" text-anchor="middle">${label}</text>`;
  })}
<text class="name" x="${(plot.left + plot.right) / 2}" y="${bottom + 36}" text-anchor="middle">${x.title}</text></g>`;
}

function markerView({ x: value, label }: NonNullable<GroupChart['marker']>, x: Axis, bottom: number): Html {
  const at = atX(x, value);
  return html`<g class="marker"><line x1="${at}" x2="${at}" y1="-12" y2="${bottom}"/><text x="${at - 3}" y="-6" text-anchor="end">${label}</text></g>`;
}

function groupView(name: string, values: readonly GroupValue[], x: Axis, top: number): Html {
  const dots = values.map(({ value, low, high }, series) => {
    if (Number.isNaN(value)) return undefined;
    const y = top + nameHeight + valueHeight * series + 2;
    const { colour, dashes } = look(series);
    return html`<g class="dot" fill="${colour}" stroke="${colour}"><line x1="${atX(x, low)}" x2="${atX(x, high)}" y1="${y}" y2="${y}" stroke-dasharray="${dashes}"/><circle cx="${atX(x, value)}" cy="${y}" r="3.5"/></g>`;
  });
  return html`<text class="name" x="${plot.left}" y="${top + 11}">${name}</text>${dots}`;
}

const atX = ({ share }: Axis, value: number) => tenths(plot.left + share(value) * (plot.right - plot.left));
