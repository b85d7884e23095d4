import { type Html, html } from '../../site/html.ts';

/** A chart as data; chartView() draws it as SVG. Coordinates are values of the axes. */
export interface Chart {
  /** Unique in the page. */
  id: string;
  title: string;
  /** For screen readers. */
  description: string;
  x: Axis;
  y: Axis;
  lines: readonly Line[];
  /** Vertical lines with a label at the top. */
  markers?: readonly { x: number; label: string }[];
  /** Points with an interval in y. */
  dots?: readonly { series: number; x: number; y: number; low: number; high: number }[];
}

export interface Axis {
  title: string;
  /** 0 at the start of the axis, 1 at its end; values outside are clamped. */
  share(value: number): number;
  ticks: readonly { value: number; label: string }[];
}

export interface Line {
  /** Decides its colour and dashes. */
  series: number;
  /** For the legend; a line without a label belongs to the one before. */
  label?: string;
  points: readonly (readonly [x: number, y: number])[];
  /** Whether the area below it is filled. */
  filled?: boolean;
}

/** Logarithmic, from the power of ten of one in `pairs` pairs (10⁻² at most) to 1. A rate of 0 is at the start. */
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
export function clamped(share: number): number {
  return share > 0 ? Math.min(1, share) : 0;
}

/** In units of the viewBox: small, so that text is readable when the chart is as wide as a phone. */
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
${legendView(lines)}
</figure>
`;
}

/** Of the series that have a label. */
export function legendView(lines: readonly Pick<Line, 'series' | 'label'>[]): Html {
  return html`<ul class="legend">${lines.map(({ series, label }) =>
    label === undefined
      ? undefined
      : html`<li><svg viewBox="0 0 28 8" aria-hidden="true">${path(series, 'M0 4L28 4')}</svg> ${label}</li>`,
  )}</ul>`;
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

/** Labels to the left of their lines, each in its own row, so that no line crosses a label. */
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
 * Colour and dashes of each series. Colours after Okabe and Ito 2008, distinguishable with any colour vision, each with a
 * contrast of at least 3 to 1 on the light and the dark page. Further series start again with the first.
 */
const looks = [
  { colour: '#0072b2', dashes: 'none' },
  { colour: '#c04e00', dashes: '6 3' },
  { colour: '#007d5b', dashes: '2 2' },
  { colour: '#a44a84', dashes: '8 3 2 3' },
  { colour: '#8a6300', dashes: '12 4' },
  { colour: '#3c7ea6', dashes: '1 4' },
];
export const look = (series: number) => looks[series % looks.length]!;

function path(series: number, d: string): Html {
  const { colour, dashes } = look(series);
  return html`<path class="line" stroke="${colour}" stroke-dasharray="${dashes}" d="${d}"/>`;
}

/** A tenth of a unit is less than a pixel. */
const atX = ({ share }: Axis, value: number) => tenths(plot.left + share(value) * (plot.right - plot.left));
const atY = ({ share }: Axis, value: number) => tenths(plot.bottom - share(value) * (plot.bottom - plot.top));
export const tenths = (value: number) => Number(value.toFixed(1));
