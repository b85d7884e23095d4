import { columns, count, defaults, printable, promisedRate } from 'facematch/for-lab';
import type { PeopleFigures, Results } from '../evaluate.ts';
import { canShow, type Figures, percents, targetRates } from '../figures.ts';
import {
  cohortText,
  countText,
  intervalText,
  percentText,
  rateText,
  scoreText,
  timesText,
} from '../number-text.ts';
import { differentialTables, setTables, sharedTables, type TextTable, verdictText } from '../tables.ts';

/**
 * Returns the figures as text for the terminal, starting with the results at the default `threshold_percent`.
 */
export function describeResults({ evaluations, shared_thresholds, people, photos = [] }: Results): string {
  const sets = evaluations.map(({ figures }) => figures);
  const all = [...sets, ...people.map(({ figures }) => figures)];
  return [
    all.map((figures) => verdictText(figures, all.length > 1)).join('\n'),
    ...sets.map(describeSet),
    ...sharedTables(shared_thresholds, sets).map((table) => describeTable(table).join('\n')),
    ...people.map(({ figures }) => describePeople(figures)),
    ...photos.map((set) => describePhotos(set)),
  ].join('\n\n');
}

function describeSet(figures: Figures): string {
  const { set, cohort, pairs } = figures;
  // The highest FMR for which the set has too few non-mated pairs.
  const unmeasurable = targetRates.filter((fmr) => !canShow(fmr, pairs.non_mated)).slice(0, 1);
  return [
    `${set}: ${count(pairs.mated, 'mated pair')} (same person), ${pairs.non_mated} non-mated (different people); mode ${figures.mode}`,
    `cohort             ${cohortText[cohort]}`,
    ...unmeasurable.map(
      (fmr) =>
        `too few pairs      an FMR of ${rateText(fmr)} or lower needs at least ${countText(1 / fmr)} non-mated pairs`,
    ),
    ...describeAlike(figures),
    ...setTables(figures).flatMap(describeTable),
    ...describeMissing(figures, figures.images),
    ...describeAcquisition(figures),
    `speed              ${figures.images_per_second.toFixed(0)} images/s`,
  ].join('\n');
}

function describeAcquisition({ failure_to_acquire, not_acquired }: Figures): string[] {
  const { rate, interval } = failure_to_acquire;
  const { mated, non_mated } = not_acquired;
  if (rate === 0) return [];
  return [
    `failure to acquire ${percentText(rate)} ${intervalText(interval)}: ${countText(mated)} mated and ${countText(non_mated)} non-mated pairs have an image without a face. FAR and FRR count them as rejected; FMR and FNMR exclude them`,
  ];
}

function describePeople(figures: PeopleFigures): string {
  const { set, mode, cohort, everybody, groupings, same_person_above: above } = figures;
  const tables = groupings.length > 0 ? groupings : [undefined];
  return [
    `${set}: ${countText(everybody.people)} people, ${countText(everybody.images)} images; mode ${mode}`,
    `cohort             ${cohortText[cohort]}`,
    ...describeMissing(figures, everybody.images),
    ...describeAlike(figures),
    above === undefined
      ? []
      : `omitted            non-mated pairs with a cosine above ${above} (probably one person)`,
    ...tables.flatMap((grouping) => differentialTables(figures, grouping).flatMap(describeTable)),
  ]
    .flat()
    .join('\n');
}

function describePhotos({ set, searched, rows, foreign }: NonNullable<Results['photos']>[number]): string {
  const stated = percents.map((percent) => promisedRate(percent) / searched);
  return [
    `${set}: several photos per probe and reference${searched === 1 ? '' : `, searched among ${countText(searched)} people`}`,
    ...columns(
      [
        'photos',
        `FNMR at ${percents.join(', ')} percent, with 95 % intervals`,
        'people',
        'trials',
        `FMR: measured / stated at ${percents.join(', ')}`,
        'non-mated pairs',
      ],
      rows.map(({ probe, reference, fnmr, fnmr_intervals, people, trials, fmr, non_mated }) => [
        `${probe} + ${reference}`,
        fnmr.map((rate, at) => `${percentText(rate)} ${intervalText(fnmr_intervals[at]!)}`).join(', '),
        countText(people),
        countText(trials),
        fmr.map((rate, at) => timesText(rate / stated[at]!)).join(', '),
        countText(non_mated),
      ]),
    ),
    ...foreign.map(
      ({ photos, sets, own_rejected, foreign_detected }) =>
        `Of ${countText(sets)} sets of ${photos} photos of one person, ${percentText(own_rejected)} are rejected (photos_disagree, agreement below ${defaults.min_agreement_percent}). If one photo shows another person, the error identifies that photo in ${percentText(foreign_detected)} of the sets.`,
    ),
  ].join('\n');
}

const describeTable = ({ title, head, rows }: TextTable) => [title, ...columns(head, rows)];

function describeMissing(
  { without_face, failures, low_quality }: Pick<Figures, 'without_face' | 'failures' | 'low_quality'>,
  images: number,
) {
  const warnings = Object.entries(low_quality)
    .filter(([, number]) => number > 0)
    .map(([name, number]) => `${countText(number)} ${name}`);
  return [
    `without a face     ${countText(without_face.length)} of ${countText(images)} images${list(without_face)}`,
    warnings.length === 0 ? [] : `low-quality faces  ${warnings.join(', ')}`,
    describeFailures(failures),
  ].flat();
}

function describeAlike({ too_alike }: Pick<Figures, 'too_alike'>): string[] {
  const pairs = too_alike.map(
    ({ image1, image2, cosine }) => `${image1} and ${image2} (${scoreText(cosine)})`,
  );
  if (pairs.length === 0) return [];
  return [
    `omitted            ${count(pairs.length, 'non-mated pair')}, too similar to show different people${list(pairs)}`,
  ];
}

export function describeFailures(failures: Figures['failures']): string[] {
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  return failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : [];
}

/** Returns a colon and the first ten names; empty if there are none. */
function list(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 10).map(printable).join(', ');
  return `: ${shown}${names.length > 10 ? ', …' : ''}`;
}
