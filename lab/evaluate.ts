import { type AccuracyMode, type Calibration, similarityOf } from 'facematch/for-lab';
import { heldOutScores } from './calibrate.ts';
import { differentialOf } from './differential.ts';
import { type EmbedImagesOptions, embedImages } from './embed-images.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import { type CohortUse, figuresOf, imageFigures, observe, percents } from './figures.ts';
import { type HeldOutCohorts, makeCohorts } from './held-out.ts';
import { reachOf, tooAlikeByGroup } from './non-mated.ts';
import { jsonText } from './number-text.ts';
import {
  imagesOf,
  type JudgedPair,
  type LabelledPair,
  peopleOfPairs,
  personOf,
  scoredBy,
  scoreKinds,
} from './pairs.ts';
import { type Grouping, type LabelledImage, type PeopleSet, type PersonImage, peopleSet } from './people.ts';
import type { ForeignFigures, PhotosFigures } from './several-photos.ts';

/** A named list of labelled pairs, and the folder that its paths are relative to. */
export interface PairSet {
  name: string;
  pairs: readonly LabelledPair[];
  folder: string;
}

type EmbedOptions = Omit<EmbedImagesOptions, 'folder' | 'liveScores'>;

type EmbeddedPeople = Awaited<ReturnType<typeof embedPeople>>;
type EmbeddedSet = Awaited<ReturnType<typeof embedSet>>;
export type Evaluation = ReturnType<typeof judgeSet>;
export type PeopleEvaluation = ReturnType<typeof judgePeople>;
export type PeopleFigures = PeopleEvaluation['figures'];

interface JudgeOptions {
  mode: AccuracyMode;
  /** The pack's calibration; undefined if it has none. */
  calibration: Calibration | undefined;
  /** `none` if the pack has no cohort. `cohorts` replace the pack's cohort. */
  packCohort: Exclude<CohortUse, 'held-out'>;
  cohorts: HeldOutCohorts | undefined;
}

export async function embedSet(set: PairSet, options: EmbedOptions) {
  const start = performance.now();
  const how = { ...options, folder: set.folder };
  const images = await embedImages(`${set.name} images`, imagesOf(set.pairs), how);
  return { set, images, seconds: (performance.now() - start) / 1000 };
}

export async function embedPeople(
  { name, folder }: Pick<PairSet, 'name' | 'folder'>,
  labelled: readonly PersonImage[],
  groupings: readonly Grouping[],
  options: EmbedOptions,
) {
  const files = labelled.map(({ file }) => file);
  const images = await embedImages(`${name} images`, files, { ...options, folder });
  return { folder, groupings, people: peopleSet(name, labelled, images), images };
}

/** Makes held-out cohorts from the people of all sets and of `people`. */
export async function fitHeldOut(
  embedded: readonly EmbeddedSet[],
  people: readonly PeopleSet[],
  workers: number,
): Promise<HeldOutCohorts> {
  const labelled = embedded.flatMap(({ set, images }) =>
    // Sorts by name, like the images for a pack's cohort.
    [...images]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, { embedding }]) =>
        embedding ? [{ person: personOf(name), set: set.name, embedding }] : [],
      ),
  );
  const all = [...labelled, ...people.flatMap(({ images }) => images)];
  return (await makeCohorts(all, workers)).heldOut;
}

export function judgeSet(
  { set, images, seconds }: EmbeddedSet,
  { mode, calibration, packCohort, cohorts }: JudgeOptions,
) {
  const wasRead = (name: string) => images.get(name)!.failure === undefined;
  // All rates exclude pairs with an image that could not be read.
  const read = set.pairs.filter(({ image1, image2 }) => wasRead(image1) && wasRead(image2));
  const numbers = peopleOfPairs(set.pairs);
  const judged = read.flatMap((pair) => judge(pair, images, cohorts, numbers) ?? []);
  const hasFaces = ({ image1, image2 }: LabelledPair) =>
    images.get(image1)!.embedding !== undefined && images.get(image2)!.embedding !== undefined;
  const lacking = read.filter((pair) => !hasFaces(pair));
  const mated = lacking.filter(({ same }) => same).length;
  const too_alike = alikeOf(judged);
  const pairs = judged.filter((pair) => !too_alike.includes(pair));
  const figures = figuresOf({
    set: set.name,
    mode,
    cohort: cohorts ? 'held-out' : packCohort,
    pairs,
    not_compared: set.pairs.length - read.length,
    not_acquired: { mated, non_mated: lacking.length - mated },
    acquisitions: [...images].flatMap(([name, { embedding, failure }]) =>
      failure === undefined ? [{ failed: !embedding, person: numbers.get(name)! }] : [],
    ),
    too_alike: too_alike.map(({ image1, image2, cosine }) => ({ image1, image2, cosine })),
    images,
    calibration,
    seconds,
  });
  return { set, images, pairs, figures };
}

/** Returns the non-mated pairs of a list that probably show one person, according to reachOf. */
function alikeOf(pairs: readonly JudgedPair[]): JudgedPair[] {
  const nonMated = pairs.filter(({ same }) => !same).sort((a, b) => b.cosine - a.cosine);
  const reach = reachOf(
    nonMated.map(({ cosine }) => cosine),
    nonMated.length,
  );
  return nonMated.filter(({ cosine }) => cosine > reach);
}

export function judgePeople(
  { folder, groupings, people, images }: EmbeddedPeople,
  { mode, calibration, packCohort, cohorts }: JudgeOptions & { calibration: Calibration },
  samePersonAbove = Number.POSITIVE_INFINITY,
) {
  const scoreOf = cohorts ? heldOutScores(cohorts) : ({ cohort_score }: LabelledImage) => cohort_score;
  const alike = Number.isFinite(samePersonAbove) ? undefined : tooAlikeByGroup(people.images);
  const above = alike?.isTooAlike ?? samePersonAbove;
  const cohort: CohortUse = cohorts ? 'held-out' : packCohort;
  const figures = {
    set: people.name,
    mode,
    cohort,
    // The value of --same-person-above; undefined if it is not set.
    same_person_above: Number.isFinite(samePersonAbove) ? samePersonAbove : undefined,
    too_alike: alike?.pairs ?? [],
    ...differentialOf(people, groupings, { calibration, percents, scoreOf, samePersonAbove: above }),
    ...imageFigures(images),
  };
  return { set: { name: people.name, folder }, images, figures };
}

function judge(
  pair: LabelledPair,
  images: ReadonlyMap<string, EmbeddedImage>,
  cohorts: HeldOutCohorts | undefined,
  numbers: ReadonlyMap<string, number>,
): JudgedPair | undefined {
  const [first, second] = [images.get(pair.image1)!, images.get(pair.image2)!];
  if (!first.embedding || !second.embedding) return undefined;
  const [scoreOfFirst, scoreOfSecond] = cohorts?.scores(
    { person: personOf(pair.image1), embedding: first.embedding },
    { person: personOf(pair.image2), embedding: second.embedding },
  ) ?? [first.cohort_score, second.cohort_score];
  const { similarity, normalised_similarity } = similarityOf(
    { embedding: first.embedding, cohort_score: scoreOfFirst },
    { embedding: second.embedding, cohort_score: scoreOfSecond },
  );
  const people = [numbers.get(pair.image1)!, numbers.get(pair.image2)!] as const;
  return { ...pair, people, cosine: similarity, normalised: normalised_similarity };
}

/** The result of `facematch eval`. */
export interface Results {
  pack: { name: string; version: string };
  evaluations: readonly Evaluation[];
  /** Empty for fewer than two sets. */
  shared_thresholds: readonly SharedThreshold[];
  people: readonly PeopleEvaluation[];
  photos?: readonly {
    set: string;
    searched: number;
    rows: readonly PhotosFigures[];
    foreign: readonly ForeignFigures[];
  }[];
}

/** A threshold and its rates on every set, by the name of the set. */
export type SharedThreshold = ReturnType<typeof sharedThresholds>[number];

/**
 * Returns the rates of all sets at the same thresholds: those of the pack's percents, then those chosen on each set.
 * Returns them for the normalised similarity and then for the cosine; empty for fewer than two sets.
 */
export function sharedThresholds(evaluations: readonly Evaluation[]) {
  if (evaluations.length < 2) return [];
  return scoreKinds.flatMap((by) => {
    const scored = evaluations.map(({ set, pairs, figures: { not_acquired } }) => {
      return { set: set.name, pairs: scoredBy(pairs, by), not_acquired };
    });
    const ofPack = evaluations[0]!.figures.by[by].percent_points;
    const points = [
      // The pack's percents were not chosen on a set.
      ...ofPack.map((point) => ({ ...point, chosen_on: undefined })),
      ...evaluations.flatMap(({ figures: { set: chosen_on, by: figures } }) =>
        figures[by].operating_points.map((point) => ({ ...point, chosen_on })),
      ),
    ];
    return points.map(({ chosen_on, target_fmr, confidence_percent, threshold }) => {
      const sets = Object.fromEntries(
        scored.map(({ set, pairs, not_acquired }) => [set, observe(pairs, threshold, not_acquired)]),
      );
      return { by, chosen_on, target_fmr, confidence_percent, threshold, sets };
    });
  });
}

/**
 * Formats the results as JSON: the figures of a single set, or `{sets, shared_thresholds}` for several. `people` has
 * the figures of labelled people.
 */
export function resultsJson({ pack, evaluations, shared_thresholds, people, photos }: Results): string {
  const sets = evaluations.map(({ figures }) => ({ ...figures, pack }));
  return jsonText({
    ...(sets.length === 1 ? sets[0] : sets.length > 1 ? { sets, shared_thresholds } : { pack }),
    ...(people.length > 0 && { people: people.map(({ figures }) => figures) }),
    ...(photos && { photos }),
  });
}
