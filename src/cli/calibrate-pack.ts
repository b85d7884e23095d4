import { join } from 'node:path';
import { readConfig } from '../config/config.ts';
import { type AccuracyMode, accuracyModes } from '../engine/addon.ts';
import { loadPack } from '../engine/load-addon.ts';
import { type PackManifest, packDirectory, readDraft, verifyPack } from '../engine/manifest.ts';
import { type BrokenPromise, brokenPromises, type CalibrationCheck, fitTable } from '../lab/calibrate.ts';
import { embedImages } from '../lab/embed-images.ts';
import type { EmbeddedImage } from '../lab/embed-worker.ts';
import { requirePeople } from '../lab/fmr-table.ts';
import { cohortTasks, type HeldOutCohorts, makeCohorts } from '../lab/held-out.ts';
import {
  type Example,
  humanThreshold,
  occlusionThreshold,
  type Tally,
  tallyLinear,
} from '../lab/linear-score.ts';
import {
  type Grouping,
  imagesBelow,
  type PeopleSet,
  type PersonImage,
  peopleSet,
  readPeople,
  requireColumns,
} from '../lab/people.ts';
import { manifestText, replaceFile, writeCohort, writeHumanCheck, writeOcclusion } from '../lab/write-fit.ts';
import type { CalibrationPoint } from '../scoring/calibration.ts';
import { withBar } from './terminal.ts';

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

/** What was fitted for one mode. Part of the output of --json. */
export interface ModeFit {
  mode: AccuracyMode;
  fitted_on: string;
  points: CalibrationPoint[];
  /** The lowest rate that the people can show. */
  floor: number;
  /** With --same-person-above: the pairs of each group that it left out. */
  taken_for_one_person?: { group: string; pairs: number }[];
  /** Observed rates of people in neither cohort nor fit, with --check. */
  check?: {
    with_cohort: CalibrationCheck[];
    without_cohort: CalibrationCheck[];
    /** What the check with the cohort contradicts. */
    broken: BrokenPromise[];
  };
}

export interface PackFit {
  pack: string;
  /** Whether it was written into the pack. */
  written: boolean;
  centres: number;
  modes: ModeFit[];
  /** Cross-validated: the sets of people, then the folders without people. */
  human?: Tally[];
  /** Cross-validated: which faces are taken for covered, by set. */
  occlusion?: Tally[];
}

interface CalibrateOptions {
  /** People for the cohort and the human check only. */
  cohortOnly: readonly SetFolder[];
  /** People whose nose and mouth are covered. */
  occluded: readonly SetFolder[];
  /** Folders of images without people. */
  withoutPeople: readonly string[];
  groups: readonly Grouping[] | undefined;
  /** Two people's pictures whose cosine is above it count neither as strangers nor as one person; Infinity for none. */
  samePersonAbove: number;
  write: boolean;
  check: boolean;
  /** Whether to write also what the check contradicts. */
  force: boolean;
}

type Images = ReadonlyMap<string, EmbeddedImage>;

/**
 * Fits cohort, human check, occlusion score and a table for each mode, and with `write` writes them into the configured pack, unless
 * the check contradicts a table.
 */
export async function calibratePack(
  folders: readonly SetFolder[],
  options: CalibrateOptions,
): Promise<PackFit> {
  const { cohortOnly, occluded, withoutPeople, groups, write, check, force } = options;
  const paths = [...folders, ...occluded].map(({ folder }) => folder);
  if (groups) requireColumns(groups, paths);
  requirePeople(largestGroup(folders.map(({ name, folder }) => readPeople(name, folder, groups))));
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const draft = readDraft(directory);
  // A new pack has no table before its first fit.
  const calibration = draft.calibration ?? ({} as PackManifest['calibration']);
  const manifest: PackManifest = { ...draft, calibration };
  await verifyPack(directory, manifest);
  // Without its scores of the embedding, so that all faces of the detector are kept.
  const {
    human: _human,
    occlusion: _occlusion,
    cohort: _cohort,
    liveness: _liveness,
    ...unchecked
  } = manifest;
  loadPack(directory, unchecked);
  const embed = (title: string, folder: string, files: string[], mode: AccuracyMode, minDetScore: number) =>
    withBar(`${title} ${mode}`, files.length, (onImage) =>
      embedImages(files, {
        packDirectory: directory,
        folder,
        mode,
        minDetScore,
        workers: config.workers,
        onImage,
      }),
    );
  const people = {
    table: byMode<PeopleSet>(),
    cohortOnly: byMode<PeopleSet>(),
    covered: byMode<PeopleSet>(),
  };
  const others: Example[] = [];
  const atDefault = new Set<Example>();
  for (const mode of accuracyModes) {
    const read = async (list: readonly SetFolder[], into: Record<AccuracyMode, PeopleSet[]>) => {
      for (const { name, folder } of list) {
        const labelled = readPeople(name, folder, groups);
        const files = labelled.map(({ file }) => file);
        const found = await embed(name, folder, files, mode, manifest.min_det_score);
        into[mode].push(peopleSet(name, labelled, found));
      }
    };
    await read(folders, people.table);
    await read(cohortOnly, people.cohortOnly);
    await read(occluded, people.covered);
    for (const folder of withoutPeople) {
      const found = await embed(withoutPeopleSet, folder, imagesBelow(folder), mode, leastOtherScore);
      for (const { example, score } of falseFaces(folder, found)) {
        others.push(example);
        if (score >= manifest.min_det_score) atDefault.add(example);
      }
    }
  }
  const tableSets = (mode: AccuracyMode) => [...people.table[mode], ...people.covered[mode]];
  const allSets = (mode: AccuracyMode) => [...tableSets(mode), ...people.cohortOnly[mode]];
  const cohortImages = allSets(cohortMode).flatMap(({ images }, set) =>
    images.map(({ person, embedding }) => ({ person, embedding, set: String(set) })),
  );
  const judged = accuracyModes.flatMap((mode) => tableSets(mode).flatMap(({ images }) => images));
  const { centres, heldOut } = await withBar('cohorts', cohortTasks, (onTask) =>
    makeCohorts(cohortImages, { workers: config.workers, onTask }, judged),
  );
  if (write && centres.length === 0) {
    throw new Error(
      'There are too few people to make a cohort. Nothing was written. Use pictures of some hundred people.',
    );
  }
  const fits = accuracyModes.map((mode) => fitMode(mode, tableSets(mode), heldOut, options));
  const examples = (sets: (mode: AccuracyMode) => PeopleSet[], set?: string) =>
    accuracyModes.flatMap((mode) => sets(mode).flatMap((one) => examplesOf(one, set)));
  const humans = examples(allSets);
  const covered = examples((mode) => people.covered[mode], occludedSet);
  const uncovered = examples((mode) => [...people.table[mode], ...people.cohortOnly[mode]]);
  // False faces below the service's score are used for the fit, but not counted in the result.
  const isCounted = (one: Example) => one.set !== withoutPeopleSet || atDefault.has(one);
  const human =
    check && others.length > 0
      ? { human: tallyLinear(humans, others, humanThreshold, isCounted) }
      : undefined;
  const occlusion =
    check && covered.length > 0
      ? { occlusion: tallyLinear(covered, uncovered, occlusionThreshold, () => true) }
      : undefined;
  const written = write && (force || fits.every((fit) => (fit.check?.broken ?? []).length === 0));
  if (written) {
    for (const { mode, fitted_on, points, floor } of fits) {
      manifest.calibration[mode] = {
        fitted_on,
        floor,
        points: points.map(([similarity, rate]) => [similarity, rate]),
      };
    }
    writeCohort(directory, manifest, centres);
    if (others.length > 0) writeHumanCheck(directory, manifest, humans, others);
    if (covered.length > 0) writeOcclusion(directory, manifest, covered, uncovered);
    replaceFile(join(directory, 'manifest.json'), manifestText(manifest));
  }
  return { pack: manifest.name, written, centres: centres.length, modes: fits, ...human, ...occlusion };
}

/** The most people that share a label of a set: known before minutes of embedding. */
function largestGroup(sets: readonly PersonImage[][]): number {
  const sizes = sets.flatMap((images) => {
    const people = new Map<string, Set<string>>();
    for (const { person, labels } of images) {
      for (const label of labels) people.set(label, (people.get(label) ?? new Set()).add(person));
    }
    return [...people.values()].map(({ size }) => size);
  });
  return Math.max(...sizes);
}

function byMode<T>(): Record<AccuracyMode, T[]> {
  return { fast: [], balance: [] };
}

function examplesOf({ name, images }: PeopleSet, set = name): Example[] {
  return images.map(({ person, embedding }) => ({ source: person, set, embedding }));
}

function* falseFaces(folder: string, found: Images) {
  for (const [name, { faces, embeddings }] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [i, { detection_score: score }] of faces.entries()) {
      const embedding = embeddings[i]!;
      yield { example: { source: `${folder}/${name}`, set: withoutPeopleSet, embedding }, score };
    }
  }
}

function fitMode(
  mode: AccuracyMode,
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts,
  { check, samePersonAbove }: Pick<CalibrateOptions, 'check' | 'samePersonAbove'>,
): ModeFit {
  const fitWith = (use: HeldOutCohorts | undefined) =>
    fitTable(sets, use, check ? checkedPercents : [], samePersonAbove);
  const { points, floor, check: with_cohort, taken_for_one_person } = fitWith(cohorts);
  const fit = {
    mode,
    fitted_on: describeSets(sets),
    points,
    floor,
    ...(Number.isFinite(samePersonAbove) ? { taken_for_one_person } : {}),
  };
  if (!check) return fit;
  const broken = brokenPromises(with_cohort, floor);
  return { ...fit, check: { with_cohort, without_cohort: fitWith(undefined).check, broken } };
}

function describeSets(sets: readonly PeopleSet[]): string {
  return sets
    .map(({ name, images }) => {
      const people = new Set(images.map(({ person }) => person)).size;
      return `${name}: ${images.length} pictures of ${people} people`;
    })
    .join('; ');
}
