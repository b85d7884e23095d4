import type { AccuracyMode } from '../engine/addon.ts';
import type { Calibration } from '../matching/calibration.ts';
import { dot } from './cohort.ts';
import { embedPictures } from './embed-pictures.ts';
import type { EmbeddedPicture } from './embed-worker.ts';
import { type CohortUse, type Figures, figuresOf } from './figures.ts';
import { HeldOutCohorts, withFitCentres } from './held-out.ts';
import { type JudgedPair, type LabelledPair, personOf, picturesOf } from './pairs.ts';
import type { PeopleSet } from './people.ts';

/** A named list of labelled pairs, and the folder that its paths are relative to. */
export interface PairSet {
  name: string;
  pairs: readonly LabelledPair[];
  folder: string;
}

interface EmbedOptions {
  packDirectory: string;
  mode: AccuracyMode;
  minDetScore: number;
  workers: number;
  onPicture(): void;
}

interface EmbeddedSet {
  set: PairSet;
  /** By name, in the order of the list. */
  pictures: ReadonlyMap<string, EmbeddedPicture>;
  seconds: number;
}

interface JudgeOptions {
  mode: AccuracyMode;
  calibration: Calibration;
  /** Whether the pack has a cohort; used unless `cohorts` replace it. */
  packCohort: Exclude<CohortUse, 'held-out'>;
  cohorts: HeldOutCohorts | undefined;
}

export interface Evaluation {
  set: PairSet;
  pictures: ReadonlyMap<string, EmbeddedPicture>;
  pairs: readonly JudgedPair[];
  figures: Figures;
}

/** Embeds every image of the sets once. */
export async function embedSets(sets: readonly PairSet[], options: EmbedOptions): Promise<EmbeddedSet[]> {
  const embedded: EmbeddedSet[] = [];
  for (const set of sets) {
    const names = picturesOf(set.pairs);
    const start = performance.now();
    const found = await embedPictures(names, { ...options, folder: set.folder });
    const seconds = (performance.now() - start) / 1000;
    // In the order of the list, which threads do not keep.
    const pictures = new Map(names.map((name) => [name, found.get(name)!]));
    embedded.push({ set, pictures, seconds });
  }
  return embedded;
}

/** Cohorts made of the people of all sets and of `people`. Calls `onFit` heldOutFits times, for progress. */
export function fitHeldOut(
  embedded: readonly EmbeddedSet[],
  people: readonly PeopleSet[],
  { workers, onFit }: { workers: number; onFit: () => void },
): Promise<HeldOutCohorts> {
  const labelled = embedded.flatMap(({ set, pictures }) =>
    // Sorted by name, as for the cohort of a pack.
    [...pictures]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, { embedding }]) =>
        embedding ? [{ person: personOf(name), group: set.name, embedding }] : [],
      ),
  );
  const more = people.flatMap(({ pictures }) => pictures);
  return withFitCentres(workers, onFit, (fit) => HeldOutCohorts.make([...labelled, ...more], fit));
}

export function judgeSets(embedded: readonly EmbeddedSet[], options: JudgeOptions): Evaluation[] {
  const { mode, calibration, packCohort, cohorts } = options;
  return embedded.map(({ set, pictures, seconds }) => {
    const pairs = set.pairs.map((pair) => judge(pair, pictures, cohorts));
    const cohort = cohorts ? 'held-out' : packCohort;
    const figures = figuresOf({ set: set.name, mode, cohort, pairs, pictures, calibration, seconds });
    return { set, pictures, pairs, figures };
  });
}

function judge(
  pair: LabelledPair,
  pictures: ReadonlyMap<string, EmbeddedPicture>,
  cohorts: HeldOutCohorts | undefined,
): JudgedPair {
  const [first, second] = [pictures.get(pair.image1), pictures.get(pair.image2)];
  if (!first?.embedding || !second?.embedding) {
    return { ...pair, cosine: Number.NEGATIVE_INFINITY, normalised: Number.NEGATIVE_INFINITY };
  }
  const cosine = dot(first.embedding, second.embedding);
  const normalised = cohorts
    ? cohorts.normalised(
        { person: personOf(pair.image1), embedding: first.embedding },
        { person: personOf(pair.image2), embedding: second.embedding },
      )
    : cosine - (first.cohort_score + second.cohort_score) / 2;
  return { ...pair, cosine, normalised };
}
