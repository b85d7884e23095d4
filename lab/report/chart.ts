import { type PlotOptions, plot, type ScaleOptions } from '@observablehq/plot';
import { DOMImplementation, XMLSerializer } from '@xmldom/xmldom';
import { Html, html } from 'facematch/for-lab';

/** Shared parts of the report's charts: style, axes and HTML. */

/** Matches the values of attributes with coordinates, which are rounded to 0.1 units (less than a pixel). */
const positions = /(?<= (?:d|transform|[xy][12]?|c[xy]|width|height)=")[^"]*/g;

/**
 * Draws a plot as SVG without a browser; the same options produce the same text on any machine. `ariaLabel` and
 * `ariaDescription` are for screen readers. `style` is the CSS of an SVG file, which has no page around it.
 */
export function drawSvg(options: PlotOptions, style = ''): string {
  const document = new DOMImplementation().createDocument('http://www.w3.org/2000/svg', 'svg');
  const svg = plot({ className: 'plot', ...options, document: document as never });
  svg.setAttribute('role', 'img');
  // The library labels groups, but elements without a role must not be named (WAI-ARIA 1.2, 5.2.8.6).
  for (const group of svg.getElementsByTagName('g')) group.removeAttribute('aria-label');
  // Removes or replaces the library's own style.
  if (style === '') svg.removeChild(svg.firstChild!);
  else svg.firstChild!.textContent = style;
  const text = new XMLSerializer().serializeToString(svg as never);
  return text.replace(positions, (value) => value.replace(/\d+\.\d+/g, (n) => String(+(+n).toFixed(1))));
}

export interface Chart extends PlotOptions {
  title: string;
  /** Text for screen readers. */
  description: string;
  /** Names of the series; empty for a single one. */
  legend: readonly string[];
}

/**
 * Colours after Okabe and Ito 2008, distinguishable with any colour vision, each with a contrast of at least 3 to 1
 * on the light and the dark page. Further series start again with the first.
 */
const styles = [
  { stroke: '#0072b2', strokeDasharray: 'none' },
  { stroke: '#c04e00', strokeDasharray: '6 3' },
  { stroke: '#007d5b', strokeDasharray: '2 2' },
  { stroke: '#a44a84', strokeDasharray: '8 3 2 3' },
  { stroke: '#8a6300', strokeDasharray: '12 4' },
  { stroke: '#3c7ea6', strokeDasharray: '1 4' },
];
export const styleOf = (series: number) => styles[series % styles.length]!;

/** Small enough that the text is readable on a phone. */
export const size = { width: 430, height: 280, marginLeft: 60, marginRight: 12, marginBottom: 44 };

export function chartView({ title, description, legend, ...options }: Chart): Html {
  const svg = drawSvg({ ...size, ariaLabel: title, ariaDescription: description, ...options });
  const keys = legend.map((label, series) => {
    const { stroke, strokeDasharray } = styleOf(series);
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

/** Returns a scale with a tick at each power of ten. */
export function logScale(label: string, first: number, last: number, tickFormat: (value: number) => string) {
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const ticks = powers.map((power) => Number(power.toPrecision(1)));
  const scale: ScaleOptions = { ...axis, type: 'log', domain: [ticks[0]!, ticks.at(-1)!] };
  return { ...scale, ticks, tickFormat, label };
}

/**
 * Returns a scale for rates, from the power of ten at or below 1 / `pairs` (at most 0.01) to 1. Clamps 0 to its start.
 */
export function rateScale(label: string, pairs: number): ScaleOptions {
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
  return logScale(label, -decades, 0, (rate) => {
    const decade = -Math.round(Math.log10(rate));
    return decade === 0 ? '1' : `10⁻${'⁰¹²³⁴⁵⁶⁷⁸⁹'[decade]}`;
  });
}

/** Returns a scale with round ticks that includes `min` and `max`. */
export function linearScale(label: string, min: number, max: number): ScaleOptions {
  return { ...axis, domain: [min, max > min ? max : min + 1], nice: true, ticks: 8, label };
}

/** Places a label at the top of a vertical line, on its left. */
export const labelled = { dx: -3, frameAnchor: 'top', lineAnchor: 'bottom', textAnchor: 'end' } as const;
