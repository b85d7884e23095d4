import { type Html, html } from '../../html.ts';
import type { Evaluation } from '../evaluate.ts';
import { countText } from '../number-text.ts';
import { chartView } from './chart.ts';
import { curvesOf, detChart, rocChart } from './curves.ts';
import { type Gallery, pairsView, picturesView } from './pair-view.ts';
import { histogramChart } from './score-charts.ts';
import { summaryTable, thresholdTable } from './tables.ts';

/** Most pictures without a face that are shown; the others are named. */
const mostShown = 24;

/** The pictures of a set that its part of the page shows. */
export function picturesShown({ figures }: Evaluation): string[] {
  const { worst, without_face } = figures;
  const pairs = [...worst.different, ...worst.same].flatMap(({ image1, image2 }) => [image1, image2]);
  return [...new Set([...pairs, ...without_face.slice(0, mostShown)])];
}

/** One set: figures, curves, thresholds, and where it goes wrong. `id` is unique in the page. */
export function setView({ figures }: Evaluation, id: string, gallery: Gallery): Html {
  const { set, by, worst } = figures;
  const curves = curvesOf(figures);
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name"><bdi>${set}</bdi></h2>
${summaryTable(figures)}
<div class="charts">
${chartView(detChart(`${id}-det`, curves))}
${chartView(rocChart(`${id}-roc`, curves))}
${chartView(histogramChart(`${id}-normalised`, 'normalised', by.normalised))}
${chartView(histogramChart(`${id}-cosine`, 'cosine', by.cosine))}
</div>
${thresholdTable(figures)}
${pairsView('Different people who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
<h3>Pictures without a face</h3>
${withoutFace(figures.without_face, gallery)}
${unread(figures.failures)}
</section>
`;
}

function withoutFace(names: readonly string[], gallery: Gallery): Html {
  if (names.length === 0) return html`<p>None.</p>`;
  const rest = names.slice(mostShown);
  return html`${picturesView(names.slice(0, mostShown), gallery)}${
    rest.length > 0
      ? html`<details><summary>${countText(rest.length)} more</summary><ul>${rest.map((name) => html`<li><bdi>${name}</bdi></li>`)}</ul></details>`
      : undefined
  }`;
}

function unread(failures: Readonly<Record<string, string>>): Html | undefined {
  const entries = Object.entries(failures);
  if (entries.length === 0) return undefined;
  return html`<h3>Pictures that could not be read</h3>
<ul>${entries.map(([name, reason]) => html`<li><bdi>${name}</bdi>: <code>${reason}</code></li>`)}</ul>`;
}
