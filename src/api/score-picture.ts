import { Calibration, promisedRate } from '../calibration.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import type { PackManifest } from '../engine/pack.ts';
import { fieldTable } from '../http/fields.ts';
import { html } from './html.ts';

/** docs/scores/percent.svg: how a pack's calibration makes a percent of a normalised similarity. */

const size = { width: 720, height: 440 };
const plot = { left: 52, right: 600, top: 56, bottom: 388 };

/** Its own, light and dark: a picture in a page sees nothing of the page's. */
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

const lines: readonly { name: string; label: string; mode: AccuracyMode; pairs: number }[] = [
  { name: 'balance', label: 'balance, one pair of faces', mode: 'balance', pairs: 1 },
  { name: 'fast', label: 'fast, one pair of faces', mode: 'fast', pairs: 1 },
  { name: 'nine', label: 'balance, best of nine pairs', mode: 'balance', pairs: 9 },
];

export function scorePicture({ name, version, calibration }: PackManifest): string {
  const tables = {
    fast: new Calibration(calibration.fast.points),
    balance: new Calibration(calibration.balance.points),
  };
  const scale = axis(calibration.balance.points[0]![0], tables.balance.similarityAt(promisedRate(100)));
  const threshold = atPercent(fieldTable.threshold_percent.default);
  const percents = Array.from({ length: 11 }, (_, tenth) => tenth * 10);
  return `${
    html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-labelledby="title text">
<title id="title">From similarity to percent</title>
<desc id="text">confidence_percent over the normalised similarity of two faces: it rises in a line to 40, where one pair of strangers in ten scores as high, and from there by ten points for each tenth of the false-match rate. The best of nine pairs gets nine and a half points less.</desc>
<style>${style}</style>
<text x="0" y="18" class="title">From similarity to percent</text>
<text x="0" y="36" class="small">pack ${name} ${version}; left confidence_percent, right how many strangers score at least as high</text>
<rect x="${plot.left}" y="${plot.top}" width="${plot.right - plot.left}" height="${fixed(threshold - plot.top)}" class="match"/>
${percents.map((percent) => gridLine(percent))}
${scale.ticks.map(
  (value) =>
    html`<text x="${scale.at(value)}" y="${plot.bottom + 18}" text-anchor="middle">${value.toFixed(1).replace('-', '−')}</text>
`,
)}<text x="${(plot.left + plot.right) / 2}" y="${size.height - 8}" text-anchor="middle" class="small">normalised similarity</text>
<line x1="${plot.left}" x2="${plot.right}" y1="${threshold}" y2="${threshold}" class="threshold"/>
<text x="${plot.left + 8}" y="${threshold - 6}" class="small">match, at the default threshold</text>
${lines.map(({ name, mode, pairs }) => curve(name, tables[mode], pairs, scale))}
${lines.map(({ name, label }, i) => legend(name, label, i))}
</svg>
`.text
  }`;
}

interface Axis {
  from: number;
  to: number;
  ticks: readonly number[];
  at(value: number): number;
}

/** As wide as all similarities from FMR 1 to 100 percent, with ticks at every fifth. */
function axis(from: number, to: number): Axis {
  const ticks: number[] = [];
  for (let fifth = Math.ceil(from * 5); fifth <= to * 5; fifth++) ticks.push(fifth / 5);
  return {
    from,
    to,
    ticks,
    at: (value) => fixed(plot.left + ((value - from) / (to - from)) * (plot.right - plot.left)),
  };
}

function atPercent(percent: number): number {
  return fixed(plot.bottom - (percent / 100) * (plot.bottom - plot.top));
}

/** Below 40 the percent does not stand for a rate alone. */
function gridLine(percent: number) {
  const y = atPercent(percent);
  const rate = `1 in ${Math.round(1 / promisedRate(percent)).toLocaleString('en')}`;
  return html`<line x1="${plot.left}" x2="${plot.right}" y1="${y}" y2="${y}" class="grid"/><text x="${plot.left - 8}" y="${y + 4}" text-anchor="end">${percent}</text>${
    percent >= 40 ? html`<text x="${plot.right + 8}" y="${y + 4}">${rate}</text>` : undefined
  }
`;
}

function curve(name: string, calibration: Calibration, pairs: number, scale: Axis) {
  const steps = 240;
  const points = Array.from({ length: steps + 1 }, (_, step) => {
    const similarity = scale.from + ((scale.to - scale.from) * step) / steps;
    return `${scale.at(similarity)} ${atPercent(calibration.judge(similarity, pairs).confidence_percent)}`;
  });
  return html`<path class="line ${name}" d="M${points.join('L')}"/>
`;
}

function legend(name: string, label: string, row: number) {
  const y = plot.bottom - 62 + row * 20;
  const x = plot.right - 220;
  return html`<path class="line ${name}" d="M${x} ${y}h28"/><text x="${x + 36}" y="${y + 4}">${label}</text>
`;
}

/** A tenth of a unit is less than a pixel. */
function fixed(value: number): number {
  return Number(value.toFixed(1));
}
