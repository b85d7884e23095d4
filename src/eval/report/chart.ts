import { type Html, html } from '../../html.ts';

/** A chart as data; chartView() draws it as SVG. Coordinates are values of the axes. */
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

interface Axis {
  title: string;
  /** 0 at the start of the axis, 1 at its end; what lies outside is put onto the nearer end. */
  share(value: number): number;
  ticks: readonly { value: number; label: string }[];
}

export interface Line {
  /** By which its colour and dashes are chosen. */
  series: number;
  /** In the legend; a line without one belongs to the line before. */
  label?: string;
  points: readonly (readonly [x: number, y: number])[];
  /** Whether the area below it is filled. */
  filled?: boolean;
}

/** Logarithmic, from the power of ten that shows one of `pairs` pairs, 10⁻² at most, to 1. A rate of 0 is put onto the start. */
export function rateAxis(title: string, pairs: number): Axis {
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
  return {
    title,
    share: (value) => clamped(1 + Math.log10(value) / decades),
    ticks: Array.from({ length: decades + 1 }, (_, i) => ({
      value: 10 ** -i,
      label: i === 0 ? '1' : `10⁻${'⁰¹²³⁴⁵⁶⁷⁸⁹'[i]}`,
    })),
  };
}

/** From at most `min` to at least `max`, both on a tick, with ticks at 1, 2 or 5 times a power of ten. */
export function linearAxis(title: string, min: number, max: number): Axis {
  const range = max > min ? max - min : 1;
  const decade = 10 ** Math.floor(Math.log10(range / 8));
  const step = decade * ([1, 2, 5].find((times) => range / (times * decade) <= 8) ?? 10);
  const first = Math.floor(min / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(max / step - 1e-9));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return {
    title,
    share: (value) => clamped((value / step - first) / (last - first)),
    ticks: Array.from({ length: last - first + 1 }, (_, i) => {
      // Adding 0 turns -0 into 0.
      const value = Number(((first + i) * step).toFixed(digits)) + 0;
      return { value, label: value.toFixed(digits) };
    }),
  };
}

/** NaN becomes 0. */
function clamped(share: number): number {
  return share > 0 ? Math.min(1, share) : 0;
}

/** In the units of the viewBox: small, so that letters are still read when the chart is as wide as a telephone. */
const size = { width: 430, height: 266 };
const plot = { left: 60, top: 0, right: 418, bottom: 222 };
const markerHeight = 13;

export function chartView(chart: Chart): Html {
  const { id, title, description, lines } = chart;
  const above = 8 + markerHeight * (chart.markers ?? []).length;
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
<svg viewBox="0 ${-above} ${size.width} ${size.height + above}" role="img" aria-labelledby="${id}-title ${id}-text">
<title id="${id}-title">${title}</title><desc id="${id}-text">${description}</desc>
${axesView(chart)}
${markersView(chart)}
${lines.map((line) => lineView(line, chart))}
${dotsView(chart)}
</svg>
<ul class="legend">${lines.map(({ series, label }) =>
    label === undefined
      ? undefined
      : html`<li><svg viewBox="0 0 28 8" aria-hidden="true">${path(series, 'M0 4L28 4')}</svg> ${label}</li>`,
  )}</ul>
</figure>
`;
}

function axesView({ x, y }: Chart): Html {
  const middle = { x: (plot.left + plot.right) / 2, y: (plot.top + plot.bottom) / 2 };
  return html`<g class="axis">${x.ticks.map(({ value, label }) => {
    const at = atX(x, value);
    return html`<line x1="${at}" x2="${at}" y1="${plot.top}" y2="${plot.bottom}"/><text x="${at}" y="${plot.bottom + 16}" text-anchor="middle">${label}</text>`;
  })}${y.ticks.map(({ value, label }) => {
    const at = atY(y, value);
    return html`<line x1="${plot.left}" x2="${plot.right}" y1="${at}" y2="${at}"/><text x="${plot.left - 5}" y="${at + 4}" text-anchor="end">${label}</text>`;
  })}
<text class="name" x="${middle.x}" y="${size.height - 8}" text-anchor="middle">${x.title}</text>
<text class="name" x="12" y="${middle.y}" text-anchor="middle" transform="rotate(-90 12 ${middle.y})">${y.title}</text></g>`;
}

/** Words to the left of their lines, in a row each, the rightmost at the top: no line crosses a word. */
function markersView({ x, markers = [] }: Chart): Html {
  const rising = [...markers].sort((a, b) => a.x - b.x);
  return html`<g class="marker">${rising.map(({ x: value, label }, row) => {
    const at = atX(x, value);
    const foot = plot.top - 4 - row * markerHeight;
    return html`<line x1="${at}" x2="${at}" y1="${foot - 9}" y2="${plot.bottom}"/><text x="${at - 3}" y="${foot}" text-anchor="end">${label}</text>`;
  })}</g>`;
}

function lineView({ series, points, filled }: Line, { x, y }: Chart): Html {
  if (points.length === 0) return html``;
  const line = points.map(([px, py]) => `${atX(x, px)} ${atY(y, py)}`).join('L');
  const [first, last] = [atX(x, points[0]![0]), atX(x, points.at(-1)![0])];
  const area = `M${line}L${last} ${plot.bottom}L${first} ${plot.bottom}Z`;
  const { colour } = look(series);
  return html`${filled ? html`<path class="area" fill="${colour}" d="${area}"/>` : undefined}${path(series, `M${line}`)}`;
}

function dotsView({ x, y, dots = [] }: Chart): Html[] {
  return dots.map((dot) => {
    const at = atX(x, dot.x);
    const { colour } = look(dot.series);
    return html`<g class="dot" fill="${colour}" stroke="${colour}"><line x1="${at}" x2="${at}" y1="${atY(y, dot.low)}" y2="${atY(y, dot.high)}"/><circle cx="${at}" cy="${atY(y, dot.y)}" r="3.5"/></g>`;
  });
}

/**
 * Of each series: colours after Okabe and Ito 2008, told apart with any colour vision, each at least 3 to 1 against the light
 * and the dark page, and dashes. More series begin anew.
 */
const looks = [
  { colour: '#0072b2', dashes: 'none' },
  { colour: '#c04e00', dashes: '6 3' },
  { colour: '#007d5b', dashes: '2 2' },
  { colour: '#a44a84', dashes: '8 3 2 3' },
  { colour: '#8a6300', dashes: '12 4' },
  { colour: '#3c7ea6', dashes: '1 4' },
];
const look = (series: number) => looks[series % looks.length]!;

function path(series: number, d: string): Html {
  const { colour, dashes } = look(series);
  return html`<path class="line" stroke="${colour}" stroke-dasharray="${dashes}" d="${d}"/>`;
}

/** A tenth of a unit is less than a pixel. */
const atX = ({ share }: Axis, value: number) => tenths(plot.left + share(value) * (plot.right - plot.left));
const atY = ({ share }: Axis, value: number) => tenths(plot.bottom - share(value) * (plot.bottom - plot.top));
const tenths = (value: number) => Number(value.toFixed(1));
