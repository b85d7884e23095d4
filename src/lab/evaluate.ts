import type { AccuracyMode } from '../engine/addon.ts';
import type { Calibration } from '../scoring/calibration.ts';
import { heldOutScores } from './calibrate.ts';
import { dot } from './cohort.ts';
import { type Differential, differentialOf } from './differential.ts';
import { embedImages } from './embed-images.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import { type CohortUse, type Figures, figuresOf, missing } from './figures.ts';
import { type HeldOutCohorts, makeCohorts } from './held-out.ts';
import { imagesOf, type JudgedPair, type LabelledPair, personOf } from './pairs.ts';
import {
  type FoundPeople,
  type Grouping,
  type LabelledImage,
  type PeopleSet,
  type PersonImage,
  peopleSet,
} from './people.ts';

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
  onImage(): void;
}

/** A set of labelled people as the engine found them. */
export interface EmbeddedPeople {
  folder: string;
  groupings: readonly Grouping[];
  people: FoundPeople;
  /** By name, in the order of the list. */
  images: ReadonlyMap<string, EmbeddedImage>;
}

/** All figures of one set of labelled people, for --json and the report. */
export interface PeopleFigures extends Differential {
  set: string;
  mode: AccuracyMode;
  cohort: CohortUse;
  /** Two people's pictures with a higher cosine were taken for one person; undefined when none were. */
  same_person_above: number | undefined;
  without_face: string[];
  /** Images that could not be read, with the reason. */
  failures: Record<string, string>;
}

export interface PeopleEvaluation {
  /** `name` and `folder` as of PairSet. */
  set: Pick<PairSet, 'name' | 'folder'>;
  images: ReadonlyMap<string, EmbeddedImage>;
  figures: PeopleFigures;
}

interface EmbeddedSet {
  set: PairSet;
  /** By name, in the order of the list. */
  images: ReadonlyMap<string, EmbeddedImage>;
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
  images: ReadonlyMap<string, EmbeddedImage>;
  pairs: readonly JudgedPair[];
  figures: Figures;
}

/** Embeds every image of the sets once. */
export async function embedSets(sets: readonly PairSet[], options: EmbedOptions): Promise<EmbeddedSet[]> {
  const embedded: EmbeddedSet[] = [];
  for (const set of sets) {
    const names = imagesOf(set.pairs);
    const start = performance.now();
    const found = await embedImages(names, { ...options, folder: set.folder });
    const seconds = (performance.now() - start) / 1000;
    // In the order of the list, which threads do not keep.
    const images = new Map(names.map((name) => [name, found.get(name)!]));
    embedded.push({ set, images, seconds });
  }
  return embedded;
}

/** Embeds every image of a set of labelled people once. */
export async function embedPeople(
  { name, folder }: Pick<PairSet, 'name' | 'folder'>,
  people: readonly PersonImage[],
  groupings: readonly Grouping[],
  options: EmbedOptions,
): Promise<EmbeddedPeople> {
  const files = people.map(({ file }) => file);
  const found = await embedImages(files, { ...options, folder });
  const images = new Map(files.map((file) => [file, found.get(file)!]));
  return { folder, groupings, people: peopleSet(name, people, images), images };
}

/** Cohorts made of the people of all sets and of `people`. Calls `onTask` `cohortTasks` times, for progress. */
export async function fitHeldOut(
  embedded: readonly EmbeddedSet[],
  people: readonly PeopleSet[],
  options: { workers: number; onTask: () => void },
): Promise<HeldOutCohorts> {
  const labelled = embedded.flatMap(({ set, images }) =>
    // Sorted by name, as for the cohort of a pack.
    [...images]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, { embedding }]) =>
        embedding ? [{ person: personOf(name), set: set.name, embedding }] : [],
      ),
  );
  const more = people.flatMap(({ images }) => images);
  const { heldOut } = await makeCohorts([...labelled, ...more], options);
  return heldOut;
}

export function judgeSets(embedded: readonly EmbeddedSet[], options: JudgeOptions): Evaluation[] {
  const { mode, calibration, packCohort, cohorts } = options;
  return embedded.map(({ set, images, seconds }) => {
    const pairs = set.pairs.map((pair) => judge(pair, images, cohorts));
    const cohort = cohorts ? 'held-out' : packCohort;
    const figures = figuresOf({ set: set.name, mode, cohort, pairs, images, calibration, seconds });
    return { set, images, pairs, figures };
  });
}

/** The percents whose promise is judged by group. */
const percents = [50, 60, 70];

/** Calls `onGroup` after each group, for progress. */
export async function judgePeople(
  { folder, groupings, people, images }: EmbeddedPeople,
  { mode, calibration, packCohort, cohorts }: JudgeOptions,
  samePersonAbove: number,
  onGroup: () => void,
): Promise<PeopleEvaluation> {
  const scoreOf = cohorts ? heldOutScores(cohorts) : ({ cohort_score }: LabelledImage) => cohort_score;
  const judging = { calibration, percents, scoreOf, samePersonAbove };
  const differential = await differentialOf(people, groupings, judging, onGroup);
  const figures: PeopleFigures = {
    set: people.name,
    mode,
    cohort: cohorts ? 'held-out' : packCohort,
    same_person_above: Number.isFinite(samePersonAbove) ? samePersonAbove : undefined,
    ...differential,
    ...missing(images),
  };
  return { set: { name: people.name, folder }, images, figures };
}

function judge(
  pair: LabelledPair,
  images: ReadonlyMap<string, EmbeddedImage>,
  cohorts: HeldOutCohorts | undefined,
): JudgedPair {
  const [first, second] = [images.get(pair.image1), images.get(pair.image2)];
  if (!first?.embedding || !second?.embedding) {
    return { ...pair, cosine: Number.NEGATIVE_INFINITY, normalised: Number.NEGATIVE_INFINITY };
  }
  const cosine = dot(first.embedding, second.embedding);
  const normalised = cohorts
    ? cosine -
      cohorts.common(
        { person: personOf(pair.image1), embedding: first.embedding },
        { person: personOf(pair.image2), embedding: second.embedding },
      )
    : cosine - (first.cohort_score + second.cohort_score) / 2;
  return { ...pair, cosine, normalised };
}
