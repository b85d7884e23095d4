import { differentialTables, setTables, sharedTables, type TextTable } from '../lab/differential-tables.ts';
import type { PeopleFigures } from '../lab/evaluate.ts';
import type { CohortUse, Figures } from '../lab/figures.ts';
import { askedRates, canShow } from '../lab/figures.ts';
import { countText, rateText, verdictText } from '../lab/number-text.ts';
import type { Results } from '../lab/results.ts';
import { columns, printable } from './terminal.ts';

/** The figures as text for the terminal; first of all what happens at the percent that a match needs by default. */
export function describeResults({ evaluations, shared_thresholds, people }: Results): string {
  const all = [...evaluations, ...people].map(({ figures }) => figures);
  const sentences = all.map((figures) => verdictText(figures, all.length > 1));
  const sets = evaluations.map(({ figures }) => figures);
  return [
    sentences.join('\n'),
    ...sets.map(describeSet),
    ...sharedTables(shared_thresholds, sets).map((table) => describeTable(table).join('\n')),
    ...people.map(({ figures }) => describePeople(figures)),
  ].join('\n\n');
}

const cohortWords: Readonly<Record<CohortUse, string>> = {
  pack: "the pack's; figures of people that it was made of are biased",
  'held-out': 'refitted for each pair without its people',
  none: 'the pack has none: the normalised similarity is the cosine',
};

function describeSet(figures: Figures): string {
  const { set, cohort, pairs } = figures;
  return [
    `${set}: ${pairs.same} same, ${pairs.different} different pairs; mode ${figures.mode}`,
    `cohort             ${cohortWords[cohort]}`,
    ...describeUnshown(pairs.different),
    ...setTables(figures).flatMap(describeTable),
    ...describeMissing(figures, figures.pictures),
    `speed              ${figures.pictures_per_second.toFixed(0)} pictures/s`,
  ].join('\n');
}

/** Says which rates the pairs of strangers are too few to show. */
function describeUnshown(different: number): string[] {
  const unshown = askedRates.find((fmr) => !canShow(fmr, different));
  if (unshown === undefined) return [];
  return [
    `too few strangers  to show ${rateText(unshown)} or less: that takes ${countText(1 / unshown)} pairs of them`,
  ];
}

/** Error rates of labelled people by group. */
function describePeople(figures: PeopleFigures): string {
  const { set, mode, cohort, everybody, groupings, same_person_above } = figures;
  const tables = groupings.length > 0 ? groupings : [undefined];
  return [
    `${set}: ${countText(everybody.people)} people, ${countText(everybody.pictures)} pictures; mode ${mode}`,
    `cohort             ${cohortWords[cohort]}`,
    ...describeMissing(figures, everybody.pictures),
    ...(same_person_above === undefined
      ? []
      : [`one person         pictures of two people with a cosine above ${same_person_above} are left out`]),
    ...tables.flatMap((grouping) => differentialTables(figures, grouping).flatMap(describeTable)),
  ].join('\n');
}

const describeTable = ({ title, head, rows }: TextTable) => [title, ...columns(head, rows)];

function describeMissing(
  { without_face, failures }: Pick<Figures, 'without_face' | 'failures'>,
  pictures: number,
) {
  return [
    `without a face     ${countText(without_face.length)} of ${countText(pictures)} pictures${list(without_face)}`,
    ...describeFailures(failures),
  ];
}

/** The pictures that could not be read, in a line; none without any. */
export function describeFailures(failures: Figures['failures']): string[] {
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  return failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : [];
}

/** The first of some names, after a colon; nothing for no names. */
function list(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 10).map(printable).join(', ');
  return `: ${shown}${names.length > 10 ? ', …' : ''}`;
}
