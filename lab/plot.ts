import { type PlotOptions, plot } from '@observablehq/plot';
import { DOMImplementation, XMLSerializer } from '@xmldom/xmldom';

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
  // The library names its groups, which have no role of their own (WAI-ARIA 1.2, 5.2.8.6): the whole is one image.
  for (const group of svg.getElementsByTagName('g')) group.removeAttribute('aria-label');
  // This takes the place of the library's own style.
  if (style === '') svg.removeChild(svg.firstChild!);
  else svg.firstChild!.textContent = style;
  const text = new XMLSerializer().serializeToString(svg as never);
  return text.replace(positions, (value) => value.replace(/\d+\.\d+/g, (n) => String(+(+n).toFixed(1))));
}
