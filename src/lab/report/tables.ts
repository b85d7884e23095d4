import { type Content, type Html, html } from '../../site/html.ts';
import type { Figures } from '../figures.ts';
import {
  chosenByText,
  confidenceText,
  countText,
  intervalText,
  kindTexts,
  percentText,
  scoreText,
  verdictText,
} from '../number-text.ts';
import { type ScoreKind, scoreKinds } from '../pairs.ts';
import type { SharedThreshold } from '../results.ts';
import type { Observed } from '../thresholds.ts';

/** A table that scrolls on small screens, also by keyboard. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Content[])[]): Html {
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

/** Accuracy, and the number of pairs and images. */
export function summaryTable(figures: Figures): Html {
  const { by, pairs, pictures, without_face, failures } = figures;
  const rows = scoreKinds.map((kind) => {
    const { accuracy, equal_error_rate } = by[kind];
    const { mean, deviation, threshold } = accuracy;
    const spread = deviation === undefined ? ' (not cross-validated)' : ` ± ${percentText(deviation)}`;
    return [kindTexts[kind], percentText(mean) + spread, scoreText(threshold), percentText(equal_error_rate)];
  });
  return html`<p><strong>${verdictText(figures, false)}</strong></p>
<p>${countText(pairs.same)} pairs of one person, ${countText(pairs.different)} of different people, ${countText(pictures)} pictures;
${countText(without_face.length)} without a face, ${countText(Object.keys(failures).length)} that could not be read. A pair that lacks a face counts as no match.</p>
${table('Accuracy', ['score', 'accuracy', 'best threshold', 'equal error rate'], rows)}`;
}

/** Thresholds for false-match rates of the set, and those of the pack's percents. */
export function thresholdTable({ by }: Figures): Html {
  const tables = scoreKinds.map((kind) => {
    const { operating_points, percent_points } = by[kind];
    const rows = [
      ...operating_points.map((point) => ({ name: chosenByText(point, 'here'), point })),
      ...percent_points.map((point) => ({ name: chosenByText(point), point })),
    ];
    return table(
      `Thresholds of the ${kindTexts[kind]}, with 95 % confidence intervals`,
      ['chosen by', 'threshold', 'percent', 'false-match rate', 'true-accept rate'],
      rows.map(({ name, point }) => {
        return [
          name,
          scoreText(point.threshold),
          confidenceText(point.confidence_percent),
          ...ratesOf(point),
        ];
      }),
    );
  });
  return html`${tables}`;
}

/** One row for each threshold, two columns for each set. */
export function sharedTable(by: ScoreKind, thresholds: readonly SharedThreshold[]): Html {
  const own = thresholds.filter((threshold) => threshold.by === by);
  const sets = Object.keys(own[0]?.sets ?? {});
  const columns = sets.flatMap((set) => [`${set}: false-match rate`, `${set}: true-accept rate`]);
  return table(
    `One threshold for all sets, by the ${kindTexts[by]}`,
    ['chosen by', 'threshold', ...columns],
    own.map((point) => {
      const { chosen_on, threshold, sets: observed } = point;
      const name = chosenByText(point, chosen_on && `on ${chosen_on}`);
      return [name, scoreText(threshold), ...sets.flatMap((set) => ratesOf(observed[set]!))];
    }),
  );
}

/** False-match rate and true-accept rate with their intervals. */
function ratesOf({ measured_fmr, fmr_interval, tar, tar_interval }: Observed): string[] {
  return [
    `${percentText(measured_fmr)} ${intervalText(fmr_interval)}`,
    `${percentText(tar)} ${intervalText(tar_interval)}`,
  ];
}
