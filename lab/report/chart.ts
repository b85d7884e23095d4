import { type PlotOptions, plot, type ScaleOptions } from '@observablehq/plot';
import { DOMImplementation, XMLSerializer } from '@xmldom/xmldom';
import { Html, html } from 'facematch/for-lab';

/** Shared parts of the report's charts: style, axes, and their place on the page. */

/** Attributes with positions; a tenth of a unit is less than a pixel. */
const positions = /(?<= (?:d|transform|[xy][12]?|c[xy]|width|height)=")[^"]*/g;

/**
 * Draws a plot as SVG without a browser; the same options give the same text on any machine. `ariaLabel` and `ariaDescription`
 * are what screen readers say. `style` is the CSS of an image that is a file and has no page around it.
 */
export function drawSvg(options: PlotOptions, style = ''): string {
  const document = new DOMImplementation().createDocument('http://www.w3.org/2000/svg', 'svg');
  const svg = plot({ className: 'plot', ...options, document: document as never });
  svg.setAttribute('role', 'img');
  // The library names its groups, which have no role of their own (WAI-ARIA 1.2, 5.2.8.6), so the whole is
  // one image.
  for (const group of svg.getElementsByTagName('g')) group.removeAttribute('aria-label');
  // Replaces the library's own style.
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
 * Colours after Okabe and Ito 2008, distinguishable with any colour vision, each with a contrast of at least 3 to 1 on the light
 * and the dark page. Further series start again with the first.
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

/** The size is small, so that text is readable when the chart is as wide as a phone. */
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

/** A scale with a tick at each power of ten. */
export function logScale(label: string, first: number, last: number, tickFormat: (value: number) => string) {
  const powers = Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
  const ticks = powers.map((power) => Number(power.toPrecision(1)));
  const scale: ScaleOptions = { ...axis, type: 'log', domain: [ticks[0]!, ticks.at(-1)!] };
  return { ...scale, ticks, tickFormat, label };
}

/** The scale goes from the power of ten of one in `pairs` pairs (10⁻² at most) to 1. A rate of 0 is at its start. */
export function rateScale(label: string, pairs: number): ScaleOptions {
  const decades = Math.max(2, Math.ceil(Math.log10(Math.max(1, pairs))));
  return logScale(label, -decades, 0, (rate) => {
    const decade = -Math.round(Math.log10(rate));
    return decade === 0 ? '1' : `10⁻${'⁰¹²³⁴⁵⁶⁷⁸⁹'[decade]}`;
  });
}

/** The scale goes from at most `min` to at least `max`, with round ticks. */
export function linearScale(label: string, min: number, max: number): ScaleOptions {
  return { ...axis, domain: [min, max > min ? max : min + 1], nice: true, ticks: 8, label };
}

/** Distance of a label to the left of the top of its line. */
export const labelled = { dx: -3, frameAnchor: 'top', lineAnchor: 'bottom', textAnchor: 'end' } as const;
