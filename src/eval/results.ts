import type { Honesty } from './calibrate.ts';
import type { Evaluation } from './evaluate.ts';
import type { Figures } from './figures.ts';
import { type SharedThreshold, sharedThresholds } from './thresholds.ts';

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

export type SetResults = Figures & { pack: Results['pack'] };
export type SeveralResults = { sets: SetResults[]; shared_thresholds: readonly SharedThreshold[] };

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
