import { join } from 'node:path';
import {
  type AccuracyMode,
  accuracyModes,
  type CalibratedManifest,
  loadPack,
  netsAlone,
  packDirectory,
  readConfig,
  readManifest,
  verifyPack,
  withBar,
} from 'facematch/for-lab';
import { brokenPromises, fitTable } from '../calibrate.ts';
import { highest, quantise } from '../cohort.ts';
import { embedImages } from '../embed-images.ts';
import type { EmbeddedImage } from '../embed-worker.ts';
import { requirePeople } from '../fmr-table.ts';
import { cohortTasks, type HeldOutCohorts, makeCohorts } from '../held-out.ts';
import { type Example, humanThreshold, occlusionThreshold, tallyLinear } from '../linear-score.ts';
import {
  type Grouping,
  imagesBelow,
  type PeopleSet,
  type PersonImage,
  peopleSet,
  readPeople,
  requireColumns,
} from '../people.ts';
import { manifestText, replaceFile, writeBytes, writeLinear } from '../write-fit.ts';

export interface SetFolder {
  name: string;
  folder: string;
}

/** Both modes share the cohort; it is made with the more accurate embeddings. */
const cohortMode: AccuracyMode = 'balance';
/** The set name of faces found in images without people. Names given by users have no spaces. */
const withoutPeopleSet = 'without people';
const occludedSet = 'covered faces';
const checkedPercents = [40, 50, 60, 70, 80];
/** The human check is also fitted to false faces with a lower score than the service accepts. */
const leastOtherScore = 0.3;

export interface CalibrateOptions {
  /** People for the cohort and the human check only. */
  cohortOnly?: readonly SetFolder[];
  /** People whose nose and mouth are covered. */
  occluded?: readonly SetFolder[];
  /** Folders of images without people. */
  withoutPeople?: readonly string[];
  groups?: readonly Grouping[];
  /** Two people's images whose cosine is above it count neither as strangers nor as one person. */
  samePersonAbove?: number;
  write?: true;
  check?: true;
  /** Whether to write also what the check contradicts. */
  force?: true;
}

/** The sets of one mode, as the engine found them. */
interface FoundSets {
  mode: AccuracyMode;
  table: PeopleSet[];
  cohortOnly: PeopleSet[];
  covered: PeopleSet[];
}

/**
 * Fits cohort, human check, occlusion score and a table for each mode, and with `write` writes them into the configured pack, unless
 * the check contradicts a table. The result is the output of --json.
 */
export async function calibratePack(folders: readonly SetFolder[], options: CalibrateOptions) {
  const { cohortOnly = [], occluded = [], withoutPeople = [], groups, write, check, force } = options;
  const paths = [...folders, ...occluded].map(({ folder }) => folder);
  if (groups) requireColumns(groups, paths);
  requirePeople(largestGroup(folders.map(({ name, folder }) => readPeople(name, folder, groups))));
  const { pack, workers } = readConfig();
  const directory = packDirectory(pack);
  const draft = readManifest(directory);
  // A new pack has no table before its first fit.
  const calibration = draft.calibration ?? ({} as CalibratedManifest['calibration']);
  const manifest: CalibratedManifest = { ...draft, calibration };
  await verifyPack(directory, manifest);
  // All faces of the detector are kept.
  loadPack(directory, netsAlone(manifest));
  const embed = (title: string, folder: string, files: string[], mode: AccuracyMode, minDetScore: number) =>
    withBar(`${title} ${mode}`, files.length, (onImage) =>
      embedImages(files, { packDirectory: directory, folder, mode, minDetScore, workers, onImage }),
    );
  const others: Example[] = [];
  const atDefault = new Set<Example>();
  const modes: FoundSets[] = [];
  for (const mode of accuracyModes) {
    const read = async (list: readonly SetFolder[]) => {
      const sets: PeopleSet[] = [];
      for (const { name, folder } of list) {
        const labelled = readPeople(name, folder, groups);
        const files = labelled.map(({ file }) => file);
        const found = await embed(name, folder, files, mode, manifest.min_det_score);
        sets.push(peopleSet(name, labelled, found));
      }
      return sets;
    };
    const table = await read(folders);
    modes.push({ mode, table, cohortOnly: await read(cohortOnly), covered: await read(occluded) });
    for (const folder of withoutPeople) {
      const found = await embed(withoutPeopleSet, folder, imagesBelow(folder), mode, leastOtherScore);
      for (const { example, score } of falseFaces(folder, found)) {
        others.push(example);
        if (score >= manifest.min_det_score) atDefault.add(example);
      }
    }
  }
  const tableSets = ({ table, covered }: FoundSets) => [...table, ...covered];
  const allSets = (sets: FoundSets) => [...tableSets(sets), ...sets.cohortOnly];
  const cohortSets = modes.flatMap((sets) => (sets.mode === cohortMode ? allSets(sets) : []));
  const cohortImages = cohortSets.flatMap(({ images }, set) =>
    images.map(({ person, embedding }) => ({ person, embedding, set: String(set) })),
  );
  const judged = modes.flatMap(tableSets).flatMap(({ images }) => images);
  const { centres, heldOut } = await withBar('cohorts', cohortTasks, (onTask) =>
    makeCohorts(cohortImages, { workers, onTask }, judged),
  );
  if (write && centres.length === 0) {
    throw new Error(
      'There are too few people to make a cohort. Nothing was written. Use images of some hundred people.',
    );
  }
  const fits = modes.map((sets) => fitMode(sets.mode, tableSets(sets), heldOut, options));
  const humans = modes.flatMap(allSets).flatMap((set) => examplesOf(set));
  const covered = modes.flatMap((sets) => sets.covered).flatMap((set) => examplesOf(set, occludedSet));
  const uncovered = modes
    .flatMap(({ table, cohortOnly }) => [...table, ...cohortOnly])
    .flatMap((set) => examplesOf(set));
  // False faces below the service's score are used for the fit, but not counted in the result.
  const isCounted = (one: Example) => one.set !== withoutPeopleSet || atDefault.has(one);
  // Cross-validated: the sets of people, then the folders without people; and which faces are taken for covered, by set.
  const human =
    check && others.length > 0 ? tallyLinear(humans, others, humanThreshold, isCounted) : undefined;
  const occlusion =
    check && covered.length > 0 ? tallyLinear(covered, uncovered, occlusionThreshold, () => true) : undefined;
  const written = write === true && (force || fits.every((fit) => (fit.check?.broken ?? []).length === 0));
  if (written) {
    for (const { mode, fitted_on, points, floor } of fits) {
      manifest.calibration[mode] = { fitted_on, floor, points: points.map(([...point]) => point) };
    }
    const cohort = writeBytes(directory, 'cohort.i8', quantise(centres));
    manifest.cohort = { ...cohort, centres: centres.length, highest, weight: 1 };
    if (others.length > 0) {
      const images = new Set(others.map(({ source }) => source)).size;
      manifest.human = {
        ...writeLinear(directory, 'human.i8', humans, others),
        bar: humanThreshold,
        fitted_on: `${humans.length} faces of people, and ${others.length} false faces in ${images} images without people, both modes`,
      };
    }
    if (covered.length > 0) {
      const { bias, ...score } = writeLinear(directory, 'occlusion.i8', covered, uncovered);
      manifest.occlusion = {
        ...score,
        bias: bias - occlusionThreshold,
        fitted_on: `${covered.length} faces with a drawn mask and ${uncovered.length} without, both modes`,
      };
    }
    replaceFile(join(directory, 'manifest.json'), manifestText(manifest));
  }
  return {
    pack: manifest.name,
    written,
    centres: centres.length,
    modes: fits,
    ...(human && { human }),
    ...(occlusion && { occlusion }),
  };
}

/** The most people that share a label of a set: known before minutes of embedding. */
function largestGroup(sets: readonly PersonImage[][]): number {
  const sizes = sets.flatMap((images) => {
    const labels = new Set(images.flatMap((image) => image.labels));
    return [...labels].map((label) => {
      const own = images.filter((image) => image.labels.includes(label));
      return new Set(own.map(({ person }) => person)).size;
    });
  });
  return Math.max(...sizes);
}

function examplesOf({ name, images }: PeopleSet, set = name): Example[] {
  return images.map(({ person, embedding }) => ({ source: person, set, embedding }));
}

function* falseFaces(folder: string, found: ReadonlyMap<string, EmbeddedImage>) {
  for (const [name, { faces }] of found) {
    for (const { embedding, detection_score: score } of faces) {
      yield { example: { source: `${folder}/${name}`, set: withoutPeopleSet, embedding }, score };
    }
  }
}

/** What was fitted for one mode. */
export type ModeFit = ReturnType<typeof fitMode>;

function fitMode(
  mode: AccuracyMode,
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts,
  { check, samePersonAbove }: CalibrateOptions,
) {
  const fitWith = (use: HeldOutCohorts | undefined) =>
    fitTable(sets, use, check ? checkedPercents : [], samePersonAbove);
  const { points, floor, check: with_cohort, taken_for_one_person } = fitWith(cohorts);
  return {
    mode,
    fitted_on: describeSets(sets),
    points,
    floor,
    ...(samePersonAbove !== undefined && { taken_for_one_person }),
    // The rates of people in neither cohort nor fit, and what those with the cohort contradict.
    ...(check && {
      check: {
        with_cohort,
        without_cohort: fitWith(undefined).check,
        broken: brokenPromises(with_cohort, floor),
      },
    }),
  };
}

function describeSets(sets: readonly PeopleSet[]): string {
  return sets
    .map(({ name, images }) => {
      const people = new Set(images.map(({ person }) => person)).size;
      return `${name}: ${images.length} images of ${people} people`;
    })
    .join('; ');
}
