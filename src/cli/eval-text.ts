import type { CohortUse, Figures, ScoreFigures } from '../lab/figures.ts';
import { intervalText, kindTexts, percentText, scoreText } from '../lab/number-text.ts';
import { type ScoreKind, scoreKinds } from '../lab/pairs.ts';
import type { Results, SharedThreshold } from '../lab/results.ts';
import type { ThresholdPoint } from '../lab/thresholds.ts';
import { list } from './eval-list.ts';
import { describePeople } from './eval-people-text.ts';

/** The figures as text for the terminal. */
export function describeResults({ evaluations, shared_thresholds, people }: Results): string {
  const sets = evaluations.map(({ figures }) => describeSet(figures));
  const shared = scoreKinds.map((by) =>
    describeShared(
      by,
      shared_thresholds.filter((one) => one.by === by),
    ),
  );
  return [
    ...sets,
    ...(shared_thresholds.length > 0 ? shared : []),
    ...people.map(({ figures }) => describePeople(figures, cohortWords[figures.cohort])),
  ].join('\n\n');
}

const cohortWords: Readonly<Record<CohortUse, string>> = {
  pack: "the pack's; figures of people that it was made of are biased",
  'held-out': 'refitted for each pair without its people',
  none: 'the pack has none: the normalised similarity is the cosine',
};

function describeSet(figures: Figures): string {
  const { set, by, cohort, pairs, pictures, without_face, failures } = figures;
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  return [
    `${set}: ${pairs.same} same, ${pairs.different} different pairs; mode ${figures.mode}`,
    `cohort             ${cohortWords[cohort]}`,
    ...describeScores(kindTexts.normalised, by.normalised),
    ...describeScores(kindTexts.cosine, by.cosine),
    `without a face     ${without_face.length} of ${pictures} pictures${list(without_face)}`,
    ...(failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : []),
    `speed              ${figures.pictures_per_second.toFixed(0)} pictures/s`,
  ].join('\n');
}

function describeScores(kind: string, figures: ScoreFigures): string[] {
  const { accuracy, equal_error_rate, operating_points, percent_points } = figures;
  const spread =
    accuracy.deviation === undefined ? ', not cross-validated' : ` ± ${percentText(accuracy.deviation)}`;
  return [
    `by the ${kind}`,
    `  accuracy         ${percentText(accuracy.mean)}${spread} (best threshold ${scoreText(accuracy.threshold)})`,
    `  equal error rate ${percentText(equal_error_rate)}`,
    ...operating_points.map(
      (point) =>
        `  TAR at FMR ${point.fmr.toString().padEnd(6)}${percentText(point.tar)} ${intervalText(point.tar_interval)} (${thresholdOf(point)})`,
    ),
    ...percent_points.map(
      (point) =>
        `  FMR at ${point.confidence_percent} %      ${percentText(point.measured_fmr)} ${intervalText(point.fmr_interval)}, promised ${point.fmr}; TAR ${percentText(point.tar)} (threshold ${scoreText(point.threshold)})`,
    ),
  ];
}

function thresholdOf({ threshold, confidence_percent }: ThresholdPoint): string {
  const calibrated = confidence_percent === undefined ? '' : `, ${confidence_percent.toFixed(1)} %`;
  return `threshold ${scoreText(threshold)}${calibrated}`;
}

function describeShared(by: ScoreKind, thresholds: readonly SharedThreshold[]): string {
  const rows = thresholds.map(({ chosen_on, fmr, confidence_percent, threshold, sets }) => {
    const origin = chosen_on === undefined ? `${confidence_percent} %` : `${chosen_on} FMR ${fmr}`;
    const rates = Object.entries(sets).map(
      ([set, { measured_fmr, tar }]) => `${set} FMR ${percentText(measured_fmr)}, TAR ${percentText(tar)}`,
    );
    return `  ${origin.padEnd(18)} ${scoreText(threshold)}: ${rates.join('; ')}`;
  });
  return [`one threshold for all sets, by the ${kindTexts[by]}`, ...rows].join('\n');
}
