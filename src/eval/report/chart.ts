import { type Html, html } from '../../html.ts';
import type { Scale } from './scale.ts';

/** A chart as data; chartView() draws it. Coordinates are values of the axes. */
export interface Chart {
  /** Unique in the page. */
  id: string;
  title: string;
  /** For those who do not see it. */
  description: string;
  x: Axis;
  y: Axis;
  lines: readonly Line[];
  /** Upright lines with a word at their top. */
  markers?: readonly { x: number; label: string }[];
  /** Points with an interval of y. */
  dots?: readonly { series: number; x: number; y: number; low: number; high: number }[];
}

export interface Axis {
  title: string;
  scale: Scale;
}

export interface Line {
  /** Its colour and dashes. */
  series: number;
  /** In the legend; a line without one belongs to the line before. */
  label?: string;
  points: readonly (readonly [x: number, y: number])[];
  /** Whether the area below it is filled. */
  filled?: boolean;
}

/** Colours and dashes that page styles know; more series begin anew. */
const seriesStyles = 6;

/** In the units of the viewBox: small, so that letters are still read when the chart is as wide as a telephone. */
const size = { width: 430, height: 266 };
const plot = { left: 60, top: 0, right: 418, bottom: 222 };

export function chartView(chart: Chart): Html {
  const { id, title, description, x, y, lines, dots = [] } = chart;
  const markers = placed(chart.markers ?? [], x);
  const above = 8 + markerRows.height * Math.max(0, ...markers.map(({ row }) => row + 1));
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
<svg viewBox="0 ${-above} ${size.width} ${size.height + above}" role="img" aria-labelledby="${id}-title ${id}-text">
<title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>
${xAxis(x)}${yAxis(y)}
<g class="marker">${markers.map(markerLine)}${markers.map(markerLabel)}</g>
${lines.map((line) => lineView(line, chart))}
${dots.map((dot) => dotView(dot, chart))}
</svg>
${legend(lines)}
</figure>
`;
}

function xAxis({ title, scale }: Axis): Html {
  return html`<g class="axis">${scale.ticks.map(({ value, label }) => {
    const at = atX(scale, value);
    return html`<line x1="${at}" x2="${at}" y1="${plot.top}" y2="${plot.bottom}"/><text x="${at}" y="${plot.bottom + 16}" text-anchor="middle">${label}</text>`;
  })}<text class="name" x="${(plot.left + plot.right) / 2}" y="${size.height - 8}" text-anchor="middle">${title}</text></g>`;
}

function yAxis({ title, scale }: Axis): Html {
  const middle = (plot.top + plot.bottom) / 2;
  return html`<g class="axis">${scale.ticks.map(({ value, label }) => {
    const at = atY(scale, value);
    return html`<line x1="${plot.left}" x2="${plot.right}" y1="${at}" y2="${at}"/><text x="${plot.left - 5}" y="${at + 4}" text-anchor="end">${label}</text>`;
  })}<text class="name" x="12" y="${middle}" text-anchor="middle" transform="rotate(-90 12 ${middle})">${title}</text></g>`;
}

/** Rows of words above the plot: a word that would run into its neighbour goes a row up. */
const markerRows = { height: 13, letter: 6.5, gap: 4 };

interface PlacedMarker {
  label: string;
  at: number;
  /** 0 is next to the plot. */
  row: number;
}

function placed(markers: NonNullable<Chart['markers']>, { scale }: Axis): PlacedMarker[] {
  const ends: number[] = [];
  return [...markers]
    .sort((a, b) => a.x - b.x)
    .map(({ x, label }) => {
      const at = atX(scale, x);
      const half = (label.length * markerRows.letter) / 2;
      const free = ends.findIndex((end) => end + markerRows.gap < at - half);
      const row = free === -1 ? ends.length : free;
      ends[row] = at + half;
      return { label, at, row };
    });
}

/** The foot of a marker's word. */
function footOf({ row }: PlacedMarker): number {
  return plot.top - 4 - row * markerRows.height;
}

function markerLine(marker: PlacedMarker): Html {
  return html`<line x1="${marker.at}" x2="${marker.at}" y1="${footOf(marker)}" y2="${plot.bottom}"/>`;
}

/** After all lines: its halo hides those that lead to the words above. */
function markerLabel(marker: PlacedMarker): Html {
  return html`<text x="${marker.at}" y="${footOf(marker)}" text-anchor="middle">${marker.label}</text>`;
}

function lineView({ series, points, filled }: Line, { x, y }: Chart): Html {
  if (points.length === 0) return html``;
  const path = points.map(([px, py]) => `${atX(x.scale, px)} ${atY(y.scale, py)}`).join('L');
  const style = series % seriesStyles;
  if (!filled) return html`<path class="line s${style}" d="M${path}"/>`;
  const [first, last] = [atX(x.scale, points[0]![0]), atX(x.scale, points.at(-1)![0])];
  return html`<path class="area s${style}" d="M${path}L${last} ${plot.bottom}L${first} ${plot.bottom}Z"/><path class="line s${style}" d="M${path}"/>`;
}

function dotView(dot: NonNullable<Chart['dots']>[number], { x, y }: Chart): Html {
  const at = atX(x.scale, dot.x);
  return html`<g class="dot s${dot.series % seriesStyles}"><line x1="${at}" x2="${at}" y1="${atY(y.scale, dot.low)}" y2="${atY(y.scale, dot.high)}"/><circle cx="${at}" cy="${atY(y.scale, dot.y)}" r="3.5"/></g>`;
}

function legend(lines: readonly Line[]): Html {
  const items = lines.flatMap(({ series, label }) => (label === undefined ? [] : [{ series, label }]));
  return html`<ul class="legend">${items.map(
    ({ series, label }) =>
      html`<li><svg viewBox="0 0 28 8" aria-hidden="true"><path class="line s${series % seriesStyles}" d="M0 4L28 4"/></svg> ${label}</li>`,
  )}</ul>`;
}

/** A tenth of a unit is less than a pixel. */
function atX(scale: Scale, value: number): number {
  return Number((plot.left + scale.share(value) * (plot.right - plot.left)).toFixed(1));
}

function atY(scale: Scale, value: number): number {
  return Number((plot.bottom - scale.share(value) * (plot.bottom - plot.top)).toFixed(1));
}
