import { type Html, html } from '../../site/html.ts';
import type { GroupFigures, GroupingFigures, Rate } from '../differential.ts';
import { differentialTables } from '../differential-tables.ts';
import type { PeopleFigures } from '../evaluate.ts';
import { countText, percentText, timesText } from '../number-text.ts';
import { linearAxis } from './chart.ts';
import { type GroupChart, groupChartView, timesAxis } from './group-chart.ts';
import { missingView } from './missing.ts';
import { type Gallery, pairsView } from './pairs.ts';
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
${groupings.length === 0 ? groupingView(figures, undefined, id) : groupings.map((one, index) => groupingView(figures, one, `${id}-${index + 1}`))}
${pairsView(groupings.length === 0 ? 'Different people who look most alike' : 'Different people of one group who look most alike', worst.different, gallery)}
${pairsView('One person who looks least alike', worst.same, gallery)}
${missingView(figures, gallery)}
</section>
`;
}

function groupingView(figures: PeopleFigures, grouping: GroupingFigures | undefined, id: string): Html {
  const groups = [figures.everybody, ...(grouping?.groups ?? [])];
  const tables = differentialTables(figures, grouping);
  const hasMated = groups.some(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0);
  return html`${grouping && html`<h3>By <bdi>${grouping.grouping}</bdi></h3>`}
<div class="charts">
${groupChartView(falseMatchChart(`${id}-fmr`, groups))}
${hasMated ? groupChartView(falseNonMatchChart(`${id}-fnmr`, groups)) : undefined}
${groupChartView(failureChart(`${id}-fta`, groups))}
</div>
${tables.map(({ title, head, rows }) => table(title, head, rows))}
`;
}

function falseMatchChart(id: string, groups: readonly GroupFigures[]): GroupChart {
  const rows = groups.map(({ group, by_percent }) => ({
    name: group,
    values: by_percent.map(({ ratio, promised, false_match }) => {
      const [low, high] = false_match.interval;
      return { value: ratio, low: low / promised, high: high / promised };
    }),
  }));
  const values = rows.flatMap((row) => row.values.flatMap(({ value, high }) => [value, high]));
  return {
    id,
    title: 'Within-group false-match rate',
    description: `Observed over promised rate, logarithmic. ${inWords(groups, ({ ratio }) => `${timesText(ratio)} times the promise`)}`,
    x: timesAxis('times the promised rate', values),
    marker: { x: 1, label: 'as promised' },
    series: percentsOf(groups),
    groups: rows,
  };
}

function falseNonMatchChart(id: string, groups: readonly GroupFigures[]): GroupChart {
  const rows = groups
    .filter(({ by_percent }) => by_percent[0]!.false_non_match.trials > 0)
    .map(({ group, by_percent }) => ({
      name: group,
      values: by_percent.map(({ false_non_match }) => pointOf(false_non_match)),
    }));
  return {
    id,
    title: 'False non-match rate',
    description: `Share of pairs of one person that do not match. ${inWords(groups, ({ false_non_match }) => percentText(false_non_match.rate))}`,
    x: shareAxis(rows),
    series: percentsOf(groups),
    groups: rows,
  };
}

function failureChart(id: string, groups: readonly GroupFigures[]): GroupChart {
  const rows = groups.map(({ group, failure_to_acquire }) => ({
    name: group,
    values: [pointOf(failure_to_acquire)],
  }));
  return {
    id,
    title: 'Failure-to-acquire rate',
    description: `Share of pictures without a face. ${groups.map(({ group, failure_to_acquire }) => `${group}: ${percentText(failure_to_acquire.rate)}.`).join(' ')}`,
    x: shareAxis(rows),
    series: [],
    groups: rows,
  };
}

/** In percent. */
function pointOf({ rate, interval: [low, high] }: Rate) {
  return { value: rate * 100, low: low * 100, high: high * 100 };
}

function shareAxis(rows: GroupChart['groups']) {
  const highest = rows.flatMap(({ values }) =>
    values.map(({ value, high }) => (Number.isNaN(value) ? 0 : high)),
  );
  return linearAxis('percent', 0, Math.max(1, ...highest));
}

function percentsOf(groups: readonly GroupFigures[]): string[] {
  return groups[0]!.by_percent.map(({ percent }) => `at ${percent} %`);
}

function inWords(
  groups: readonly GroupFigures[],
  text: (one: GroupFigures['by_percent'][number]) => string,
): string {
  return groups
    .map(
      ({ group, by_percent }) =>
        `${group}: ${by_percent.map((one) => `${text(one)} at ${one.percent} %`).join(', ')}.`,
    )
    .join(' ');
}
