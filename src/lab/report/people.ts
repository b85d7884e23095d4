import { type Html, html } from '../../site/html.ts';
import type { GroupingFigures } from '../differential.ts';
import { differentialTables } from '../differential-tables.ts';
import type { PeopleFigures } from '../evaluate.ts';
import { countText } from '../number-text.ts';
import { failureChart, falseMatchChart, falseNonMatchChart } from './charts.ts';
import { type Gallery, missingView, pairsView } from './pairs.ts';
import { table } from './tables.ts';

/** One set of labelled people: rates by group, and the worst pairs. `id` is unique in the page. */
export function peopleView(figures: PeopleFigures, id: string, gallery: Gallery): Html {
  const { set, everybody, groupings, same_person_above, worst } = figures;
  return html`<section id="${id}" aria-labelledby="${id}-name">
<h2 id="${id}-name">Differential performance: <bdi>${set}</bdi></h2>
<p>${countText(everybody.people)} people, ${countText(everybody.pictures)} pictures. Rates are in the terms of ISO/IEC 19795-10, with confidence intervals of 95 % by person.
Strangers of a group are two people of that group (within-group, non-mated). Two people of different groups (cross-group) look less alike: they are only among the strangers of the whole set.
Pairs of one person (mated) are counted where both pictures are of the group and have a face.</p>
${
  same_person_above === undefined
    ? undefined
    : html`<p>Pictures of two people with a cosine above ${same_person_above} were taken for one person's, and counted neither as strangers nor as one person.</p>`
}
${groupings.length === 0 ? groupingView(figures, undefined) : groupings.map((one) => groupingView(figures, one))}
${pairsView(groupings.length === 0 ? 'Different people who look most alike' : 'Different people of one group who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

function groupingView(figures: PeopleFigures, grouping: GroupingFigures | undefined): Html {
  const groups = [figures.everybody, ...(grouping?.groups ?? [])];
  const tables = differentialTables(figures, grouping);
  const hasMated = groups.some(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0);
  return html`${grouping && html`<h3>By <bdi>${grouping.grouping}</bdi></h3>`}
<div class="charts">
${falseMatchChart(groups)}
${hasMated ? falseNonMatchChart(groups) : undefined}
${failureChart(groups)}
</div>
${tables.map(({ title, head, rows }) => table(title, head, rows))}
`;
}
