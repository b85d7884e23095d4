import type { Evaluation, PeopleEvaluation } from './evaluate.ts';
import { observe } from './figures.ts';
import { jsonText } from './number-text.ts';
import { scoredBy, scoreKinds } from './pairs.ts';
import type { ForeignFigures, PhotosFigures } from './several-photos.ts';

/** The result of `facematch eval`. */
export interface Results {
  pack: { name: string; version: string };
  evaluations: readonly Evaluation[];
  /** Several sets have them; empty when there is only one. */
  shared_thresholds: readonly SharedThreshold[];
  /** Sets of labelled people, of --people. */
  people: readonly PeopleEvaluation[];
  /** What several photos of these people buy, where it was asked for. */
  photos?: readonly {
    set: string;
    searched: number;
    rows: readonly PhotosFigures[];
    foreign: readonly ForeignFigures[];
  }[];
}

/** One threshold and its rates on every set, by name: they show whether one threshold serves all. */
export type SharedThreshold = ReturnType<typeof sharedThresholds>[number];

/**
 * For several sets: first the pack's percents, then each set's own thresholds; first for the normalised similarity, then for the
 * cosine. None for a single set.
 */
export function sharedThresholds(evaluations: readonly Evaluation[]) {
  if (evaluations.length < 2) return [];
  return scoreKinds.flatMap((by) => {
    const scored = evaluations.map(({ figures, pairs }) => ({
      set: figures.set,
      pairs: scoredBy(pairs, by),
    }));
    const ofPack = evaluations[0]!.figures.by[by].percent_points;
    const points = [
      // No set's rate chose it.
      ...ofPack.map((point) => ({ ...point, chosen_on: undefined })),
      ...evaluations.flatMap(({ figures: { set: chosen_on, by: figures } }) =>
        figures[by].operating_points.map((point) => ({ ...point, chosen_on })),
      ),
    ];
    return points.map(({ chosen_on, fmr, confidence_percent, threshold }) => {
      const sets = Object.fromEntries(scored.map(({ set, pairs }) => [set, observe(pairs, threshold)]));
      return { by, chosen_on, fmr, confidence_percent, threshold, sets };
    });
  });
}

/**
 * One set: its figures. Several: `{sets, shared_thresholds}`, with the figures of each. `people` has those of the labelled
 * people, if there are any.
 */
export function resultsJson({ pack, evaluations, shared_thresholds, people, photos }: Results): string {
  const sets = evaluations.map(({ figures }) => ({ ...figures, pack }));
  const json = {
    ...(sets.length === 1 ? sets[0] : sets.length > 1 ? { sets, shared_thresholds } : { pack }),
    ...(people.length > 0 && { people: people.map(({ figures }) => figures) }),
    ...(photos && { photos }),
  };
  return jsonText(json);
}
