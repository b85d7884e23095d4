import { axisX, axisY, gridY, line, rect, ruleY, text } from '@observablehq/plot';
import { type CalibratedManifest, Calibration, defaults, promisedRate } from 'facematch/for-lab';
import { drawSvg } from './report/chart.ts';

/** CSS of an SVG file. An image does not inherit the style of its page, so it handles light and dark mode itself. */
export const fileStyle = `svg { color: #1f2328; } .plot text { font-size: 13px; } .plot .small text { font-size: 11px; }
@media (prefers-color-scheme: dark) { svg { color: #f0f6fc; } }`;

const match = '#1a7f37';
const lines = [
  { label: 'balance, one pair of faces', mode: 'balance', pairs: 1, stroke: '#0969da' },
  { label: 'fast, one pair of faces', mode: 'fast', pairs: 1, stroke: '#9a6700', dashes: '2 4' },
  { label: 'balance, best of nine pairs', mode: 'balance', pairs: 9, stroke: '#818b98', dashes: '6 4' },
] as const;

/**
 * Draws docs/scores/percent.svg: a pack's calibration from normalised similarity to percent. The horizontal axis
 * extends from the similarity at FMR 1 to the similarity at 100 percent.
 */
export function scoreChart({ name, version, calibration }: CalibratedManifest): string {
  const tables = {
    fast: new Calibration(calibration.fast.points),
    balance: new Calibration(calibration.balance.points),
  };
  const from = calibration.balance.points[0]![0];
  const to = tables.balance.similarityAt(promisedRate(100));
  const threshold = defaults.threshold_percent;
  const rateLabel = (percent: number) => `1 in ${Math.round(1 / promisedRate(percent)).toLocaleString('en')}`;
  const curves = lines.flatMap(({ label, mode, pairs, stroke, ...rest }, row) => {
    const points = Array.from({ length: 241 }, (_, step) => {
      const similarity = from + ((to - from) * step) / 240;
      return [similarity, tables[mode].assess(similarity, pairs).confidence_percent] as const;
    });
    const style = { stroke, strokeWidth: 2, ...('dashes' in rest ? { strokeDasharray: rest.dashes } : {}) };
    const [legend, at] = [to - 0.4 * (to - from), 18 - 6 * row];
    return [
      line(points, style),
      ruleY([at], { x1: legend, x2: legend + 0.05 * (to - from), ...style }),
      text([label], { x: legend + 0.06 * (to - from), y: at, textAnchor: 'start' }),
    ];
  });
  const tens = Array.from({ length: 11 }, (_, tenth) => 10 * tenth);
  return `${drawSvg(
    {
      ...{ width: 720, height: 440, marginLeft: 52, marginRight: 120, marginTop: 56, marginBottom: 52 },
      ariaLabel: 'From similarity to percent',
      ariaDescription:
        'confidence_percent by the normalised similarity of two faces. It rises linearly to 40, the score that one non-mated pair in ten reaches. Then it rises by ten points each time the false match rate falls to a tenth. The best of nine pairs gets nine and a half points less.',
      x: { domain: [from, to] },
      y: { domain: [0, 100] },
      marks: [
        rect([0], { x1: from, x2: to, y1: threshold, y2: 100, fill: match, fillOpacity: 0.08 }),
        gridY(tens),
        axisX({ label: 'normalised similarity', labelAnchor: 'center', labelArrow: 'none', tickSize: 0 }),
        axisY(tens, { label: null, tickSize: 0 }),
        // Below 40 the percent does not state a rate.
        axisY(
          tens.filter((percent) => percent >= 40),
          { anchor: 'right', label: null, tickSize: 0, tickFormat: rateLabel },
        ),
        ruleY([threshold], { stroke: match, strokeWidth: 1.5 }),
        text(['match, at the default threshold'], {
          ...{ x: from, y: threshold, dx: 8, dy: -9, textAnchor: 'start', className: 'small' },
        }),
        ...curves,
        text(['From similarity to percent'], {
          ...{ frameAnchor: 'top-left', dx: -52, dy: -54, fontWeight: 600 },
        }),
        text(
          [
            `pack ${name} ${version}; left: confidence_percent, right: how many non-mated pairs score at least this high`,
          ],
          { frameAnchor: 'top-left', dx: -52, dy: -32, className: 'small' },
        ),
      ],
    },
    fileStyle,
  )}\n`;
}
