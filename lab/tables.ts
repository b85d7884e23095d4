import type { GroupFigures, GroupingFigures, Measure, Rate, WorstOverBest } from './differential.ts';
import type { PeopleFigures, SharedThreshold } from './evaluate.ts';
import type { Figures, Observed, ThresholdPoint } from './figures.ts';
import {
  confidenceText,
  countText,
  intervalText,
  kindTexts,
  percentText,
  rateText,
  scoreText,
  smallPercentText,
  timesText,
} from './number-text.ts';
import { scoreKinds } from './pairs.ts';

/** A table for the terminal and the report. The first cell of each row is its header. */
export interface TextTable {
  title: string;
  head: readonly string[];
  rows: readonly (readonly string[])[];
}

const measureText: Readonly<Record<Measure, string>> = {
  fmr: 'within-group FMR',
  fnmr: 'FNMR',
  failure_to_acquire: 'failure-to-acquire rate',
};

/** Returns the tables of one grouping, or of all people if there is none. Omits tables without rows. */
export function differentialTables(
  figures: PeopleFigures,
  grouping: GroupingFigures | undefined,
): TextTable[] {
  const { everybody } = figures;
  const rows = [everybody, ...(grouping?.groups ?? [])];
  const by = grouping === undefined ? '' : ` by ${grouping.grouping}`;
  const tables = [
    falseMatches(rows, by, figures.same_person_above !== undefined),
    falseNonMatches(rows, by),
    failuresToAcquire(rows, by),
  ];
  if (grouping !== undefined) tables.push(worstOverBest(grouping.worst_over_best, by));
  return tables.filter((table) => table.rows.length > 0);
}

function falseMatches(groups: readonly GroupFigures[], by: string, isCleaned: boolean): TextTable {
  return {
    title: `False match rate (FMR)${by}, and its ratio to the stated rate with 95 % intervals`,
    head: [
      'non-mated pairs of',
      'people',
      'pairs',
      ...(isCleaned ? ['omitted pairs'] : []),
      ...groups[0]!.by_percent.map(
        ({ percent, stated_fmr }) => `${percent} %, stated ${rateText(stated_fmr)}`,
      ),
    ],
    rows: groups.map(({ group, people, taken_for_one_person, by_percent }) => [
      group,
      countText(people),
      countText(by_percent[0]!.fmr.trials),
      ...(isCleaned ? [countText(taken_for_one_person)] : []),
      ...by_percent.map(({ fmr: { rate, interval, trials }, stated_fmr, fmr_over_stated }) => {
        if (trials === 0) return '–';
        const [low, high] = interval.map((bound) => timesText(bound / stated_fmr));
        // Without a false match only the upper bound is known.
        if (rate === 0) return `none: at most ${high}`;
        return `${smallPercentText(rate)}: ${timesText(fmr_over_stated)} [${low}, ${high}]`;
      }),
    ]),
  };
}

function falseNonMatches(groups: readonly GroupFigures[], by: string): TextTable {
  const seen = groups.filter(({ by_percent }) => by_percent[0]!.fnmr.trials > 0);
  return {
    title: `False non-match rate (FNMR)${by}, with 95 % intervals`,
    head: ['group', 'mated pairs', ...groups[0]!.by_percent.map(({ percent }) => `${percent} %`)],
    rows: seen.map(({ group, by_percent }) => [
      group,
      countText(by_percent[0]!.fnmr.trials),
      ...by_percent.map(({ fnmr }) => withInterval(fnmr)),
    ]),
  };
}

function failuresToAcquire(groups: readonly GroupFigures[], by: string): TextTable {
  return {
    title: `Failure-to-acquire rate (FTA)${by}: images without a face, with 95 % intervals`,
    head: ['group', 'people', 'images', 'without a face'],
    rows: groups.map(({ group, people, images, failure_to_acquire }) => [
      group,
      countText(people),
      countText(images),
      withInterval(failure_to_acquire),
    ]),
  };
}

function worstOverBest(compared: readonly WorstOverBest[], by: string): TextTable {
  return {
    title: `Highest rate divided by lowest${by}, for groups with at least 30 expected errors`,
    head: ['rate', 'percent', 'highest / lowest', 'by chance up to', 'differ', 'highest', 'lowest'],
    rows: compared.map(({ measure, percent, ratio, if_equal, worst, best }) => [
      measureText[measure],
      percent === undefined ? '–' : `${percent} %`,
      Number.isFinite(ratio) ? timesText(ratio) : 'the lowest is 0',
      timesText(if_equal),
      ratio > if_equal ? 'yes' : 'not significantly',
      worst,
      best,
    ]),
  };
}

const withInterval = ({ rate, interval }: Rate) => `${percentText(rate)} ${intervalText(interval)}`;

/** Returns the accuracy by both scores, and for each score the thresholds chosen on the set and by the pack. */
export function setTables({ by, pairs }: Figures): TextTable[] {
  const accuracy = scoreKinds.map((kind) => {
    const { accuracy, equal_error_rate } = by[kind];
    const { mean, deviation, threshold } = accuracy;
    const spread = deviation === undefined ? ' (not cross-validated)' : ` ± ${percentText(deviation)}`;
    return [kindTexts[kind], percentText(mean) + spread, scoreText(threshold), percentText(equal_error_rate)];
  });
  const thresholds = scoreKinds.map((kind): TextTable => {
    const points = [
      ...by[kind].operating_points.map((point) => ({ ...point, name: chosenBy(point, 'here') })),
      ...by[kind].percent_points.map((point) => ({ ...point, name: chosenBy(point) })),
    ];
    return {
      title: `Thresholds of the ${kindTexts[kind]}, with 95 % intervals`,
      head: ['chosen by', 'threshold', 'percent', 'false matches', 'false non-matches', 'FAR', 'FRR'],
      rows: points.map(({ name, threshold, confidence_percent, ...point }) => [
        ...[name, scoreText(threshold), confidenceText(confidence_percent), ...countsOf(point, pairs)],
        ...[smallPercentText(point.far), percentText(point.frr)],
      ]),
    };
  });
  const head = ['score', 'accuracy', 'best threshold', 'equal error rate'];
  return [{ title: 'Accuracy', head, rows: accuracy }, ...thresholds.filter(({ rows }) => rows.length > 0)];
}

/** Returns a table for each score, with a row for each threshold and two columns for each set. */
export function sharedTables(thresholds: readonly SharedThreshold[], sets: readonly Figures[]): TextTable[] {
  const tables = scoreKinds.map((kind) => ({
    title: `The same thresholds on all sets, by the ${kindTexts[kind]}`,
    head: [
      'chosen by',
      'threshold',
      ...sets.flatMap(({ set }) => [`${set}: false matches`, `${set}: false non-matches`]),
    ],
    rows: thresholds
      .filter(({ by }) => by === kind)
      .map(({ chosen_on, threshold, sets: observed, ...point }) => [
        ...[chosenBy(point, chosen_on && `on ${chosen_on}`), scoreText(threshold)],
        ...sets.flatMap(({ set, pairs }) => countsOf(observed[set]!, pairs)),
      ]),
  }));
  return tables.filter(({ rows }) => rows.length > 0);
}

/** Describes how a threshold was chosen: by the FMR on a set (`where`), or by a percent of the pack. */
function chosenBy(
  { target_fmr, confidence_percent }: Pick<ThresholdPoint, 'target_fmr' | 'confidence_percent'>,
  where?: string,
): string {
  if (where !== undefined) return `at most ${rateText(target_fmr)} ${where}`;
  return `${confidence_percent} %, stated ${rateText(target_fmr)}`;
}

/** Shows errors as counts, because a percentage of a few pairs looks more precise than it is. */
function countsOf({ fmr, fmr_interval, fnmr, fnmr_interval }: Observed, pairs: Figures['pairs']): string[] {
  const count = (rate: number, trials: number, interval: [number, number]) =>
    trials === 0 ? '–' : `${countText(rate * trials)} of ${countText(trials)} ${intervalText(interval)} %`;
  return [count(fmr, pairs.non_mated, fmr_interval), count(fnmr, pairs.mated, fnmr_interval)];
}

/** Describes the results at the highest percent, or else at the lowest target rate. Omits kinds without pairs. */
export function verdictText(figures: Figures | PeopleFigures, isNamed: boolean): string {
  const [unread, lacking] =
    'by' in figures
      ? [figures.not_compared, figures.not_acquired.mated + figures.not_acquired.non_mated]
      : [0, 0];
  const left = (pairs: number, why: string) =>
    pairs === 0
      ? ''
      : ` ${pairs === 1 ? '1 pair was' : `${countText(pairs)} pairs were`} not compared, because ${why}.`;
  return [
    ...[isNamed ? `${figures.set}: ` : '', outcomeText(figures)],
    left(lacking, 'an image has no face'),
    left(unread, 'an image could not be read'),
  ].join('');
}

function outcomeText(figures: Figures | PeopleFigures): string {
  const seen = 'by' in figures ? ofPairs(figures) : ofPeople(figures);
  if (seen === undefined) return 'The pack is not calibrated, and there are too few pairs to measure rates.';
  const parts = [
    { ...seen.nonMated, what: 'non-mated pairs matched' },
    { ...seen.mated, what: 'mated pairs matched' },
  ].flatMap(({ rate, trials, what }) =>
    trials === 0 ? [] : [`${countText(rate * trials)} of ${countText(trials)} ${what}`],
  );
  return `At ${seen.at}: ${parts.join(', ') || 'nothing was compared'}.`;
}

function ofPairs({ by, pairs }: Figures) {
  const { percent_points, operating_points } = by.normalised;
  // Without a calibration there are no percents, and with too few pairs no operating points.
  const point = percent_points.at(-1) ?? operating_points.at(-1);
  if (point === undefined) return undefined;
  const { confidence_percent, threshold, fmr, fnmr } = point;
  const at =
    confidence_percent === undefined ? `a cosine of ${scoreText(threshold)}` : `${confidence_percent} %`;
  const nonMated = { rate: fmr, trials: pairs.non_mated };
  return { at, nonMated, mated: { rate: 1 - fnmr, trials: pairs.mated } };
}

function ofPeople({ everybody: { by_percent } }: PeopleFigures) {
  const { percent, fmr, fnmr } = by_percent.at(-1)!;
  return {
    at: `${percent} %`,
    nonMated: fmr,
    mated: { ...fnmr, rate: 1 - fnmr.rate },
  };
}
