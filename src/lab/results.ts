import type { Evaluation, PeopleEvaluation } from './evaluate.ts';
import type { Figures } from './figures.ts';
import { type Observed, observe } from './figures.ts';
import { type ScoreKind, scoredBy, scoreKinds } from './pairs.ts';

/** The result of `facematch eval`. */
export interface Results {
  pack: { name: string; version: string };
  evaluations: readonly Evaluation[];
  /** For several sets; empty when there is only one. */
  shared_thresholds: readonly SharedThreshold[];
  /** Sets of labelled people, of --people. */
  people: readonly PeopleEvaluation[];
}

export function resultsOf(
  pack: Results['pack'],
  evaluations: readonly Evaluation[],
  people: readonly PeopleEvaluation[] = [],
): Results {
  return {
    pack,
    evaluations,
    shared_thresholds: evaluations.length > 1 ? sharedThresholds(evaluations) : [],
    people,
  };
}

/** One threshold and its rates on every set, which show whether one threshold serves all. */
export interface SharedThreshold {
  by: ScoreKind;
  /** The set whose false-match rate it was chosen by; undefined when it comes from the pack's calibration. */
  chosen_on: string | undefined;
  fmr: number;
  confidence_percent: number | undefined;
  threshold: number;
  /** By name of the set. */
  sets: Record<string, Observed>;
}

/** First the pack's percents, then each set's own thresholds; first for the normalised similarity, then for the cosine. */
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

/**
 * One set: its figures. Several: `{sets, shared_thresholds}`, with the figures of each. `people` has those of the labelled
 * people, if there are any.
 */
export function resultsJson({ pack, evaluations, shared_thresholds, people }: Results): string {
  const sets = evaluations.map(({ figures }): SetResults => ({ ...figures, pack }));
  const json = {
    ...(sets.length === 1 ? sets[0] : sets.length > 1 ? { sets, shared_thresholds } : { pack }),
    ...(people.length > 0 ? { people: people.map(({ figures }) => figures) } : {}),
  };
  return withShortLists(JSON.stringify(json, null, 2));
}

/** Puts each list of numbers on one line, because there are thousands. JSON strings contain no line breaks. */
function withShortLists(json: string): string {
  return json.replace(/\[\n\s+(?:(?:-?\d[\d.e+-]*|null)(?:,\n\s+)?)+\n\s+\]/g, (list) =>
    list.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
  );
}
