// Plots as SVG: bars, lines, stacks. They stand in a page by themselves, so each brings its style for light and dark.

const width = 720;
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.small { font-size: 11px; fill: #59636e; }
.axis { stroke: #d1d9e0; }
.c0 { fill: #0969da; stroke: #0969da; } .c1 { fill: #9a6700; stroke: #9a6700; }
.c2 { fill: #818b98; stroke: #818b98; } .c3 { fill: #1a7f37; stroke: #1a7f37; }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 5 4; }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc; } .small { fill: #9198a1; } .axis { stroke: #3d444d; } }
</style>`;

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escapeXml = (text) => String(text).replace(/[&<>"]/g, (letter) => escapes[letter]);

const round = (value) => Math.round(value * 10) / 10;
const text = (x, y, content, name = '', anchor = 'start') =>
  `<text x="${round(x)}" y="${round(y)}" class="${name}" text-anchor="${anchor}">${escapeXml(content)}</text>`;

function page(title, subtitle, height, parts) {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">`;
  return `${[head, style, text(0, 18, title, 'title'), text(0, 36, subtitle, 'small'), ...parts, '</svg>'].join('\n')}\n`;
}

/** Length of a value on an axis of `length` that goes up to `most`: linear, or logarithmic from `least`. */
export function scaled(value, { least, most, length }) {
  if (least === undefined) return (value / most) * length;
  return (Math.log(value / least) / Math.log(most / least)) * length;
}

const left = 150;
const bar = { height: 20, step: 30 };

/** One bar a row: `rows` of { label, value, shown, accent }. */
export function bars({ title, subtitle, rows }) {
  const axis = { most: Math.max(...rows.map(({ value }) => value)), length: width - left - 90 };
  const parts = rows.flatMap(({ label, value, shown, accent }, index) => {
    const y = 52 + index * bar.step;
    const length = Math.max(1, scaled(value, axis));
    return [
      text(left - 8, y + 15, label, '', 'end'),
      `<rect x="${left}" y="${y}" width="${round(length)}" height="${bar.height}" class="c${accent ? 0 : 2}"/>`,
      text(left + length + 6, y + 15, shown),
    ];
  });
  return page(title, subtitle, 60 + rows.length * bar.step, parts);
}

/** One bar a row out of parts that add up: `rows` of { label, values }, in the order of `names`. */
export function stacks({ title, subtitle, names, rows, show }) {
  const sum = ({ values }) => values.reduce((total, value) => total + value, 0);
  const axis = { most: Math.max(...rows.map(sum)), length: width - left - 90 };
  let x = left;
  const legend = names.flatMap((name, i) => {
    const at = x;
    x += 28 + name.length * 7;
    return [
      `<rect x="${at}" y="48" width="12" height="12" class="c${i}"/>`,
      text(at + 18, 59, name, 'small'),
    ];
  });
  const parts = rows.flatMap((row, index) => {
    const y = 72 + index * bar.step;
    let start = left;
    const pieces = row.values.map((value, i) => {
      const length = scaled(value, axis);
      const piece = `<rect x="${round(start)}" y="${y}" width="${round(length)}" height="${bar.height}" class="c${i}"/>`;
      start += length;
      return piece;
    });
    return [text(left - 8, y + 15, row.label, '', 'end'), ...pieces, text(start + 6, y + 15, show(sum(row)))];
  });
  return page(title, subtitle, 80 + rows.length * bar.step, [...legend, ...parts]);
}

const plot = { top: 60, height: 220, left: 60 };

/** Moves what lies closer than `gap` to its neighbour above down. */
export function spaced(places, gap) {
  const order = places.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y);
  const moved = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { y, index } of order) {
    last = Math.max(y, last + gap);
    moved[index] = last;
  }
  return moved;
}

/** Lines over `places` (labels along the bottom): `series` of { name, values, colour, dashed }; logarithmic upwards. */
export function lines({ title, subtitle, places, series, show }) {
  const values = series.flatMap((one) => one.values).filter(Number.isFinite);
  const least = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const most = 10 ** Math.ceil(Math.log10(Math.max(...values) * 1.001));
  const bottom = plot.top + plot.height;
  const right = width - 150;
  const x = (index) => plot.left + 20 + (index * (right - plot.left - 40)) / Math.max(1, places.length - 1);
  const y = (value) => bottom - scaled(value, { least, most, length: plot.height });
  const parts = [];
  for (let tick = least; tick <= most * 1.001; tick *= 10) {
    parts.push(
      `<line x1="${plot.left}" y1="${round(y(tick))}" x2="${right}" y2="${round(y(tick))}" class="axis"/>`,
    );
    parts.push(text(plot.left - 8, y(tick) + 4, show(tick), 'small', 'end'));
  }
  for (const [index, place] of places.entries())
    parts.push(text(x(index), bottom + 20, place, 'small', 'middle'));
  const drawn = series
    .map((one) => ({
      ...one,
      points: one.values.map((value, index) => [x(index), y(value)]).filter(([, to]) => Number.isFinite(to)),
    }))
    .filter(({ points }) => points.length > 0);
  const names = spaced(
    drawn.map(({ points }) => points.at(-1)[1]),
    14,
  );
  for (const [index, { name, points, colour, dashed }] of drawn.entries()) {
    const path = points.map((point) => point.map(round).join()).join(' ');
    parts.push(
      `<polyline points="${path}" class="line c${colour}${dashed ? ' dashed' : ''}" style="fill:none"/>`,
    );
    parts.push(text(points.at(-1)[0] + 8, names[index] + 4, name, 'small'));
  }
  return page(title, subtitle, bottom + 36, parts);
}
