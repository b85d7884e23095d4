import { type AccuracyMode, type Calibration, similarityOf } from 'facematch/for-lab';
import { heldOutScores } from './calibrate.ts';
import { differentialOf } from './differential.ts';
import { type EmbedImagesOptions, embedImages } from './embed-images.ts';
import type { EmbeddedImage } from './embed-worker.ts';
import { type CohortUse, figuresOf, imageFigures } from './figures.ts';
import { type HeldOutCohorts, makeCohorts } from './held-out.ts';
import { imagesOf, type JudgedPair, type LabelledPair, personOf } from './pairs.ts';
import { type Grouping, type LabelledImage, type PeopleSet, type PersonImage, peopleSet } from './people.ts';
import { numberPeople, reachOf, tooAlike } from './strangers.ts';

/** A named list of labelled pairs, and the folder that its paths are relative to. */
export interface PairSet {
  name: string;
  pairs: readonly LabelledPair[];
  folder: string;
}

type EmbedOptions = Omit<EmbedImagesOptions, 'folder' | 'liveScores'>;

/** A set of labelled people as the engine found them. */
export type EmbeddedPeople = Awaited<ReturnType<typeof embedPeople>>;
type EmbeddedSet = Awaited<ReturnType<typeof embedSets>>[number];
export type Evaluation = ReturnType<typeof judgeSets>[number];
export type PeopleEvaluation = Awaited<ReturnType<typeof judgePeople>>;
/** All figures of one set of labelled people, for --json and the report. */
export type PeopleFigures = PeopleEvaluation['figures'];

interface JudgeOptions {
  mode: AccuracyMode;
  /** The pack's, which may have none. */
  calibration: Calibration | undefined;
  /** Whether the pack has a cohort; used unless `cohorts` replace it. */
  packCohort: Exclude<CohortUse, 'held-out'>;
  cohorts: HeldOutCohorts | undefined;
}

/** Embeds every image of the sets once. */
export async function embedSets(sets: readonly PairSet[], options: EmbedOptions) {
  const embedded: { set: PairSet; images: Map<string, EmbeddedImage>; seconds: number }[] = [];
  for (const set of sets) {
    const start = performance.now();
    const images = await embedImages(imagesOf(set.pairs), { ...options, folder: set.folder });
    embedded.push({ set, images, seconds: (performance.now() - start) / 1000 });
  }
  return embedded;
}

/** Embeds every image of a set of labelled people once. */
export async function embedPeople(
  { name, folder }: Pick<PairSet, 'name' | 'folder'>,
  labelled: readonly PersonImage[],
  groupings: readonly Grouping[],
  options: EmbedOptions,
) {
  const files = labelled.map(({ file }) => file);
  const images = await embedImages(files, { ...options, folder });
  return { folder, groupings, people: peopleSet(name, labelled, images), images };
}

/** Cohorts made of the people of all sets and of `people`. Calls `onTask` `cohortTasks` times, for progress. */
export async function fitHeldOut(
  embedded: readonly EmbeddedSet[],
  people: readonly PeopleSet[],
  options: { workers: number; onTask: () => void },
): Promise<HeldOutCohorts> {
  const labelled = embedded.flatMap(({ set, images }) =>
    // They are sorted by name, as for the cohort of a pack.
    [...images]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, { embedding }]) =>
        embedding ? [{ person: personOf(name), set: set.name, embedding }] : [],
      ),
  );
  const all = [...labelled, ...people.flatMap(({ images }) => images)];
  return (await makeCohorts(all, options)).heldOut;
}

export function judgeSets(
  embedded: readonly EmbeddedSet[],
  { mode, calibration, packCohort, cohorts }: JudgeOptions,
) {
  const cohort: CohortUse = cohorts ? 'held-out' : packCohort;
  return embedded.map(({ set, images, seconds }) => {
    const wasRead = (name: string) => images.get(name)!.failure === undefined;
    // Nothing is known of an image that could not be read: its pairs are in no rate.
    const read = set.pairs.filter(({ image1, image2 }) => wasRead(image1) && wasRead(image2));
    const judged = read.map((pair) => judge(pair, images, cohorts));
    const too_alike = alikeOf(judged);
    const pairs = judged.filter((pair) => !too_alike.includes(pair));
    const not_compared = set.pairs.length - read.length;
    const figures = figuresOf({
      set: set.name,
      mode,
      cohort,
      pairs,
      not_compared,
      too_alike: too_alike.map(({ image1, image2, cosine }) => ({ image1, image2, cosine })),
      images,
      calibration,
      seconds,
    });
    return { set, images, pairs, figures };
  });
}

/** The pairs of strangers of a list who are none, by what the others foretell. */
function alikeOf(pairs: readonly JudgedPair[]): JudgedPair[] {
  const strangers = pairs
    .filter(({ same, cosine }) => !same && Number.isFinite(cosine))
    .sort((a, b) => b.cosine - a.cosine);
  const reach = reachOf(
    strangers.map(({ cosine }) => cosine),
    strangers.length,
  );
  return strangers.filter(({ cosine }) => cosine > reach);
}

/** The percents whose rates are measured by group. */
const percents = [50, 60, 70];

/** Calls `onGroup` after each group, for progress. */
export async function judgePeople(
  { folder, groupings, people, images }: EmbeddedPeople,
  { mode, calibration, packCohort, cohorts }: JudgeOptions & { calibration: Calibration },
  samePersonAbove: number,
  onGroup: () => void,
) {
  const scoreOf = cohorts ? heldOutScores(cohorts) : ({ cohort_score }: LabelledImage) => cohort_score;
  const alike = Number.isFinite(samePersonAbove) ? undefined : tooAlike(numberPeople(people.images));
  const above = alike?.reach ?? samePersonAbove;
  const judging = { calibration, percents, scoreOf, samePersonAbove: above };
  const cohort: CohortUse = cohorts ? 'held-out' : packCohort;
  const figures = {
    set: people.name,
    mode,
    cohort,
    // Two people's images with a higher cosine were taken for one person; undefined when none were.
    same_person_above: Number.isFinite(samePersonAbove) ? samePersonAbove : undefined,
    too_alike: alike?.pairs ?? [],
    ...(await differentialOf(people, groupings, judging, onGroup)),
    ...imageFigures(images),
  };
  return { set: { name: people.name, folder }, images, figures };
}

function judge(
  pair: LabelledPair,
  images: ReadonlyMap<string, EmbeddedImage>,
  cohorts: HeldOutCohorts | undefined,
): JudgedPair {
  const [first, second] = [images.get(pair.image1)!, images.get(pair.image2)!];
  if (!first.embedding || !second.embedding) {
    return { ...pair, cosine: Number.NEGATIVE_INFINITY, normalised: Number.NEGATIVE_INFINITY };
  }
  const [scoreOfFirst, scoreOfSecond] = cohorts?.scores(
    { person: personOf(pair.image1), embedding: first.embedding },
    { person: personOf(pair.image2), embedding: second.embedding },
  ) ?? [first.cohort_score, second.cohort_score];
  const { similarity, normalised_similarity } = similarityOf(
    { embedding: first.embedding, cohort_score: scoreOfFirst },
    { embedding: second.embedding, cohort_score: scoreOfSecond },
  );
  return { ...pair, cosine: similarity, normalised: normalised_similarity };
}
