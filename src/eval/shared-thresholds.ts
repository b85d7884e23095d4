import type { Evaluation } from './evaluate.ts';
import { type ScoreKind, scoredBy } from './figures.ts';
import { type Observed, observe } from './thresholds.ts';

/** One threshold, and what it does to every set: whether one serves all. */
export interface SharedThreshold {
  by: ScoreKind;
  /** The set whose false-match rate it was chosen by; undefined where the pack's calibration says the rate. */
  chosen_on: string | undefined;
  fmr: number;
  confidence_percent: number | undefined;
  threshold: number;
  /** By the sets' names. */
  sets: Record<string, Observed>;
}

const kinds: readonly ScoreKind[] = ['normalised', 'cosine'];

/** The pack's percents first, then each set's own thresholds; by the normalised similarity, then by the cosine. */
export function sharedThresholds(evaluations: readonly Evaluation[]): SharedThreshold[] {
  return kinds.flatMap((by) => {
    const scored = evaluations.map(({ figures, pairs }) => ({
      set: figures.set,
      pairs: scoredBy(pairs, by),
    }));
    const onSets = (threshold: number) =>
      Object.fromEntries(scored.map(({ set, pairs }) => [set, observe(pairs, threshold)]));
    const ofPack = evaluations[0]!.figures.by[by].percent_points;
    const ofSets = evaluations.flatMap(({ figures }) =>
      figures.by[by].operating_points.map((point) => ({ ...point, chosen_on: figures.set })),
    );
    return [...ofPack.map((point) => ({ ...point, chosen_on: undefined })), ...ofSets].map(
      ({ chosen_on, fmr, confidence_percent, threshold }) => ({
        by,
        chosen_on,
        fmr,
        confidence_percent,
        threshold,
        sets: onSets(threshold),
      }),
    );
  });
}
