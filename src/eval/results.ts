import type { Honesty } from './calibrate.ts';
import type { Evaluation } from './evaluate.ts';
import type { Figures } from './figures.ts';
import { type ScoreKind, scoredBy, scoreKinds } from './pairs.ts';
import { type Observed, observe } from './thresholds.ts';

/** What a run of `facematch eval` found. */
export interface Results {
  pack: { name: string; version: string };
  evaluations: readonly Evaluation[];
  /** Of several sets; empty when there is one. */
  shared_thresholds: readonly SharedThreshold[];
  /** Of labelled people; empty when there were none. */
  groups: readonly Honesty[];
}

export function resultsOf(
  pack: Results['pack'],
  evaluations: readonly Evaluation[],
  groups: readonly Honesty[] = [],
): Results {
  return {
    pack,
    evaluations,
    shared_thresholds: evaluations.length > 1 ? sharedThresholds(evaluations) : [],
    groups,
  };
}

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

/** The pack's percents first, then each set's own thresholds; by the normalised similarity, then by the cosine. */
function sharedThresholds(evaluations: readonly Evaluation[]): SharedThreshold[] {
  return scoreKinds.flatMap((by) => {
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

type SetResults = Figures & { pack: Results['pack'] };

/** With `groups` where there are any. One set: its figures. Several: `{sets, shared_thresholds}`, where each of `sets` is what one alone would give. */
export function resultsJson({ pack, evaluations, shared_thresholds, groups }: Results): string {
  const sets = evaluations.map(({ figures }): SetResults => ({ ...figures, pack }));
  const json = {
    ...(sets.length === 1 ? sets[0] : { sets, shared_thresholds }),
    ...(groups.length > 0 ? { groups } : {}),
  };
  return withShortLists(JSON.stringify(json, null, 2));
}

/** Lists of numbers, of which there are thousands, in a line each. No text of JSON holds a line break. */
function withShortLists(json: string): string {
  return json.replace(/\[\n\s+(?:(?:-?\d[\d.e+-]*|null)(?:,\n\s+)?)+\n\s+\]/g, (list) =>
    list.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  );
}
