import { type Content, type Html, html } from '../../html.ts';
import type { Figures, ScoreKind } from '../figures.ts';
import {
  confidenceText,
  countText,
  intervalText,
  kindTexts,
  percentText,
  rateText,
  scoreText,
} from '../number-text.ts';
import type { Observed, SharedThreshold, ThresholdPoint } from '../thresholds.ts';

const kinds: readonly ScoreKind[] = ['normalised', 'cosine'];

/** A table that is wider than a small screen scrolls by itself, by keyboard too. */
function table(caption: string, head: readonly string[], rows: readonly (readonly Content[])[]): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption><span>${caption}</span></caption>
<thead><tr>${head.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>${rows.map(
    ([first, ...cells]) =>
      html`<tr><th scope="row">${first}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
  )}</tbody>
</table></div>
`;
}

/** Accuracy and what it was measured on. */
export function summaryTable(figures: Figures): Html {
  const { by, pairs, pictures, without_face, failures } = figures;
  const spread = (deviation: number | undefined) =>
    deviation === undefined ? ' (not cross-validated)' : ` ± ${percentText(deviation)}`;
  return html`<p>${countText(pairs.same)} pairs of one person, ${countText(pairs.different)} of different people, ${countText(pictures)} pictures;
${countText(without_face.length)} without a face, ${countText(Object.keys(failures).length)} that could not be read. A pair that lacks a face counts as no match.</p>
${table(
  'Accuracy',
  ['score', 'accuracy', 'best threshold', 'equal error rate'],
  kinds.map((kind) => {
    const { accuracy, equal_error_rate } = by[kind];
    return [
      kindTexts[kind],
      `${percentText(accuracy.mean)}${spread(accuracy.deviation)}`,
      scoreText(accuracy.threshold),
      percentText(equal_error_rate),
    ];
  }),
)}`;
}

/** Thresholds chosen by the set's own false-match rates, and those of the pack's percents. */
export function thresholdTable({ by }: Figures): Html {
  return html`${kinds.map((kind) => {
    const { operating_points, percent_points } = by[kind];
    return table(
      `Thresholds of the ${kindTexts[kind]}, with 95 % confidence intervals`,
      ['chosen by', 'threshold', 'percent', 'false-match rate', 'true-accept rate'],
      [
        ...operating_points.map((point) => row(`at most ${rateText(point.fmr)} here`, point)),
        ...percent_points.map((point) =>
          row(`${point.confidence_percent} %, promises ${rateText(point.fmr)}`, point),
        ),
      ],
    );
  })}`;
}

function row(name: string, point: ThresholdPoint): Content[] {
  return [
    name,
    scoreText(point.threshold),
    confidenceText(point.confidence_percent),
    fmrOf(point),
    tarOf(point),
  ];
}

/** One row a threshold, two columns a set. */
export function sharedTable(by: ScoreKind, thresholds: readonly SharedThreshold[]): Html {
  const own = thresholds.filter((threshold) => threshold.by === by);
  const sets = Object.keys(own[0]?.sets ?? {});
  return table(
    `One threshold for all sets, by the ${kindTexts[by]}`,
    [
      'chosen by',
      'threshold',
      ...sets.flatMap((set) => [`${set}: false-match rate`, `${set}: true-accept rate`]),
    ],
    own.map(({ chosen_on, fmr, confidence_percent, threshold, sets: observed }) => [
      chosen_on === undefined
        ? `${confidence_percent} %, promises ${rateText(fmr)}`
        : `at most ${rateText(fmr)} on ${chosen_on}`,
      scoreText(threshold),
      ...sets.flatMap((set) => [fmrOf(observed[set]!), tarOf(observed[set]!)]),
    ]),
  );
}

function fmrOf({ measured_fmr, fmr_interval }: Observed): string {
  return `${percentText(measured_fmr)} ${intervalText(fmr_interval)}`;
}

function tarOf({ tar, tar_interval }: Observed): string {
  return `${percentText(tar)} ${intervalText(tar_interval)}`;
}
