import type { TextTable } from './differential-tables.ts';
import type { Figures } from './figures.ts';
import {
  confidenceText,
  countText,
  intervalText,
  kindTexts,
  percentText,
  rateText,
  scoreText,
} from './number-text.ts';
import { scoreKinds } from './pairs.ts';
import type { SharedThreshold } from './results.ts';
import type { Observed, ThresholdPoint } from './thresholds.ts';

/** Accuracy by both scores, and the thresholds of each: for rates of the set, and for percents of the pack. */
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
      head: ['chosen by', 'threshold', 'percent', 'strangers who passed', 'one person, recognised'],
      rows: points.map(({ name, threshold, confidence_percent, ...point }) => [
        ...[name, scoreText(threshold), confidenceText(confidence_percent), ...countsOf(point, pairs)],
      ]),
    };
  });
  const head = ['score', 'accuracy', 'best threshold', 'equal error rate'];
  return [{ title: 'Accuracy', head, rows: accuracy }, ...thresholds.filter(({ rows }) => rows.length > 0)];
}

/** For each score one row for each threshold, two columns for each set. */
export function sharedTables(thresholds: readonly SharedThreshold[], sets: readonly Figures[]): TextTable[] {
  const tables = scoreKinds.map((kind) => ({
    title: `One threshold for all sets, by the ${kindTexts[kind]}`,
    head: [
      'chosen by',
      'threshold',
      ...sets.flatMap(({ set }) => [`${set}: strangers`, `${set}: one person`]),
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

/** What a threshold was chosen by: a rate of a set (`where`), or a percent of the pack. */
function chosenBy(
  { fmr, confidence_percent }: Pick<ThresholdPoint, 'fmr' | 'confidence_percent'>,
  where?: string,
): string {
  if (where !== undefined) return `at most ${rateText(fmr)} ${where}`;
  return `${confidence_percent} %, promises ${rateText(fmr)}`;
}

/** Strangers who passed, and pairs of one person: as counts, because a rate of few pairs says more than they show. */
function countsOf(
  { measured_fmr, fmr_interval, tar, tar_interval }: Observed,
  pairs: Figures['pairs'],
): string[] {
  const count = (rate: number, trials: number, interval: [number, number]) =>
    trials === 0 ? '–' : `${countText(rate * trials)} of ${countText(trials)} ${intervalText(interval)} %`;
  return [count(measured_fmr, pairs.different, fmr_interval), count(tar, pairs.same, tar_interval)];
}
