import type { PackManifest } from '../engine/manifest.ts';
import { defaults } from '../engine/match-options.ts';
import { Calibration, promisedRate } from '../scoring/calibration.ts';
import { html } from './html.ts';

/** docs/scores/percent.svg: a pack's calibration from normalised similarity to percent. */

/** Pixels. */
const plot = { left: 52, right: 600, top: 56, bottom: 388 };

/** Its own style, light and dark: an SVG image does not get the style of the page. */
const style = `
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.small { font-size: 11px; fill: #59636e; }
.grid { stroke: #d1d9e0; }
.line { fill: none; stroke-width: 2; }
.balance { stroke: #0969da; } .fast { stroke: #9a6700; stroke-dasharray: 2 4; } .nine { stroke: #818b98; stroke-dasharray: 6 4; }
.threshold { stroke: #1a7f37; stroke-width: 1.5; } .match { fill: #1a7f37; opacity: 0.08; }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc; } .small { fill: #9198a1; } .grid { stroke: #3d444d; } }
`;

const lines = [
  { name: 'balance', label: 'balance, one pair of faces', mode: 'balance', pairs: 1 },
  { name: 'fast', label: 'fast, one pair of faces', mode: 'fast', pairs: 1 },
  { name: 'nine', label: 'balance, best of nine pairs', mode: 'balance', pairs: 9 },
] as const;

/** The horizontal axis goes from the similarity of FMR 1 to that of 100 percent. */
export function scorePicture({ name, version, calibration }: PackManifest): string {
  const tables = {
    fast: new Calibration(calibration.fast.points),
    balance: new Calibration(calibration.balance.points),
  };
  const { left, right, top, bottom } = plot;
  const from = calibration.balance.points[0]![0];
  const to = tables.balance.similarityAt(promisedRate(100));
  const x = (similarity: number) => fixed(left + ((similarity - from) / (to - from)) * (right - left));
  const y = (percent: number) => fixed(bottom - (percent / 100) * (bottom - top));

  const grid = Array.from({ length: 11 }, (_, tenth) => {
    const percent = tenth * 10;
    // Below 40 the percent is not a function of the rate only.
    const rate = percent >= 40 && `1 in ${Math.round(1 / promisedRate(percent)).toLocaleString('en')}`;
    return html`<line x1="${left}" x2="${right}" y1="${y(percent)}" y2="${y(percent)}" class="grid"/><text x="${left - 8}" y="${y(percent) + 4}" text-anchor="end">${percent}</text>${rate ? html`<text x="${right + 8}" y="${y(percent) + 4}">${rate}</text>` : undefined}
`;
  });
  const ticks = Array.from({ length: 11 }, (_, fifth) => fifth / 5 - 1)
    .filter((tick) => tick >= from && tick <= to)
    .map(
      (
        tick,
      ) => html`<text x="${x(tick)}" y="${bottom + 18}" text-anchor="middle">${tick.toFixed(1).replace('-', '−')}</text>
`,
    );
  const curves = lines.map(({ name, label, mode, pairs }, row) => {
    const points = Array.from({ length: 241 }, (_, step) => {
      const similarity = from + ((to - from) * step) / 240;
      return `${x(similarity)} ${y(tables[mode].assess(similarity, pairs).confidence_percent)}`;
    });
    const height = bottom - 62 + row * 20;
    return html`<path class="line ${name}" d="M${points.join('L')}"/>
<path class="line ${name}" d="M${right - 220} ${height}h28"/><text x="${right - 184}" y="${height + 4}">${label}</text>
`;
  });
  const threshold = y(defaults.threshold_percent);
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 440" role="img" aria-labelledby="title text">
<title id="title">From similarity to percent</title>
<desc id="text">confidence_percent over the normalised similarity of two faces: it rises in a line to 40, where one pair of strangers in ten scores this high, and then by ten points for each tenfold lower false-match rate. The best of nine pairs gets nine and a half points less.</desc>
<style>${style}</style>
<text x="0" y="18" class="title">From similarity to percent</text>
<text x="0" y="36" class="small">pack ${name} ${version}; left: confidence_percent, right: how many strangers score at least this high</text>
<rect x="${left}" y="${top}" width="${right - left}" height="${fixed(threshold - top)}" class="match"/>
${grid}${ticks}<text x="${(left + right) / 2}" y="432" text-anchor="middle" class="small">normalised similarity</text>
<line x1="${left}" x2="${right}" y1="${threshold}" y2="${threshold}" class="threshold"/>
<text x="${left + 8}" y="${threshold - 6}" class="small">match, at the default threshold</text>
${curves}</svg>
`.text;
}

/** A tenth of a unit is less than a pixel. */
const fixed = (value: number) => Number(value.toFixed(1));
