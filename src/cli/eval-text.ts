import { differentialTables } from '../lab/differential-tables.ts';
import type { PeopleFigures } from '../lab/evaluate.ts';
import type { CohortUse, Figures, ScoreFigures } from '../lab/figures.ts';
import {
  chosenByText,
  countText,
  intervalText,
  kindTexts,
  percentText,
  rateText,
  scoreText,
  verdictText,
} from '../lab/number-text.ts';
import { type ScoreKind, scoreKinds } from '../lab/pairs.ts';
import type { Results } from '../lab/results.ts';
import { askedRates, canShow, type Observed } from '../lab/thresholds.ts';
import { columns, printable } from './terminal.ts';

/** The figures as text for the terminal; first of all what happens at the percent that a match needs by default. */
export function describeResults({ evaluations, shared_thresholds, people }: Results): string {
  const all = [...evaluations, ...people].map(({ figures }) => figures);
  const sentences = all.map((figures) => verdictText(figures, all.length > 1));
  const shared = shared_thresholds.length === 0 ? [] : scoreKinds;
  return [
    sentences.join('\n'),
    ...evaluations.map(({ figures }) => describeSet(figures)),
    ...shared.map((by) =>
      describeShared(
        by,
        shared_thresholds,
        evaluations.map(({ figures }) => figures),
      ),
    ),
    ...people.map(({ figures }) => describePeople(figures)),
  ].join('\n\n');
}

const cohortWords: Readonly<Record<CohortUse, string>> = {
  pack: "the pack's; figures of people that it was made of are biased",
  'held-out': 'refitted for each pair without its people',
  none: 'the pack has none: the normalised similarity is the cosine',
};

function describeSet(figures: Figures): string {
  const { set, by, cohort, pairs } = figures;
  return [
    `${set}: ${pairs.same} same, ${pairs.different} different pairs; mode ${figures.mode}`,
    `cohort             ${cohortWords[cohort]}`,
    ...describeUnshown(pairs.different),
    ...scoreKinds.flatMap((kind) => describeScores(kind, by[kind], pairs)),
    ...describeMissing(figures, figures.pictures),
    `speed              ${figures.pictures_per_second.toFixed(0)} pictures/s`,
  ].join('\n');
}

function describeScores(kind: ScoreKind, figures: ScoreFigures, pairs: Figures['pairs']): string[] {
  const { accuracy, equal_error_rate, operating_points, percent_points } = figures;
  const spread =
    accuracy.deviation === undefined ? ', not cross-validated' : ` ± ${percentText(accuracy.deviation)}`;
  const points = [
    ...operating_points.map((point) => ({ ...point, name: chosenByText(point, 'here') })),
    ...percent_points.map((point) => ({ ...point, name: chosenByText(point) })),
  ];
  return [
    `by the ${kindTexts[kind]}`,
    `  accuracy         ${percentText(accuracy.mean)}${spread} (best threshold ${scoreText(accuracy.threshold)})`,
    `  equal error rate ${percentText(equal_error_rate)}`,
    ...columns(
      ['chosen by', 'threshold', 'percent', 'strangers who passed', 'one person, recognised'],
      points.map(({ name, threshold, confidence_percent, ...point }) => [
        ...[name, scoreText(threshold), confidence_percent?.toFixed(1) ?? '–'],
        ...countsOf(point, pairs).map(({ text, interval }) => `${text} ${intervalText(interval)} %`),
      ]),
    ),
  ];
}

/** Says which rates the pairs of strangers are too few to show. */
function describeUnshown(different: number): string[] {
  const unshown = askedRates.find((fmr) => !canShow(fmr, different));
  if (unshown === undefined) return [];
  return [
    `too few strangers  to show ${rateText(unshown)} or less: that takes ${countText(1 / unshown)} pairs of them`,
  ];
}

/** Counts, because a rate of few pairs says more than they show: strangers who passed, and pairs of one person. */
function countsOf({ measured_fmr, fmr_interval, tar, tar_interval }: Observed, pairs: Figures['pairs']) {
  const count = (rate: number, trials: number) =>
    trials === 0 ? '–' : `${countText(rate * trials)} of ${countText(trials)}`;
  return [
    { text: count(measured_fmr, pairs.different), interval: fmr_interval },
    { text: count(tar, pairs.same), interval: tar_interval },
  ];
}

function describeShared(
  by: ScoreKind,
  thresholds: Results['shared_thresholds'],
  sets: readonly Figures[],
): string {
  const rows = thresholds
    .filter((one) => one.by === by)
    .map(({ chosen_on, threshold, sets: observed, ...point }) => [
      chosenByText(point, chosen_on && `on ${chosen_on}`),
      scoreText(threshold),
      ...sets.flatMap(({ set, pairs }) => countsOf(observed[set]!, pairs).map(({ text }) => text)),
    ]);
  const head = sets.flatMap(({ set }) => [`${set}: strangers`, 'one person']);
  return [
    `one threshold for all sets, by the ${kindTexts[by]}`,
    ...columns(['chosen by', 'threshold', ...head], rows),
  ].join('\n');
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
    ...tables.flatMap((grouping) =>
      differentialTables(figures, grouping).flatMap(({ title, head, rows }) => [
        title,
        ...columns(head, rows),
      ]),
    ),
  ].join('\n');
}

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
