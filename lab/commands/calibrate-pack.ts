import {
  type AccuracyMode,
  type CalibratedManifest,
  Calibration,
  calibrationOf,
  embeddingPart,
  loadPack,
  packDirectory,
  promisedRate,
  readCalibratedManifest,
  readConfig,
  readManifest,
  verifyPack,
} from 'facematch/for-lab';
import { checkedPercents, contradictedRates, fitTable, largestGroup } from '../calibrate.ts';
import { percents } from '../figures.ts';
import { requirePeople } from '../fmr-table.ts';
import { examplesOf, type FoundFaces, findFaces, type SetFolder } from '../found-faces.ts';
import { type HeldOutCohorts, makeCohorts } from '../held-out.ts';
import { humanThreshold, occlusionThreshold, tallyLinear } from '../linear-score.ts';
import { pairsOfPeople, tryPreprocessings } from '../packs/preprocessing-trial.ts';
import { type Grouping, type PeopleSet, readPeople, requireColumns } from '../people.ts';
import { checkShifts, fitShifts, groupsOf, newMeans, type PhotoGroup, statedShifts } from '../photos.ts';
import { writeFits } from '../write-fit.ts';

/** Both modes share the cohort, which is made from the more accurate embeddings. */
const cohortMode: AccuracyMode = 'balance';
const coveredSet = 'covered faces';

/** Flags of the command; its help describes each. */
export interface CalibrateOptions {
  pack?: string;
  cohortOnly?: readonly SetFolder[];
  occluded?: readonly SetFolder[];
  withoutPeople?: readonly string[];
  groups?: readonly Grouping[];
  samePersonAbove?: number;
  write?: boolean;
  check?: boolean;
  keepCalibration?: boolean;
  force?: boolean;
}

/**
 * Fits the cohort, the human check, the occlusion score and a table for each mode. With `write`, also writes them
 * into the pack, but only with `force` if the check contradicts a table. Resolves to the output of --json.
 */
export async function calibratePack(table: readonly SetFolder[], options: CalibrateOptions) {
  const {
    cohortOnly = [],
    occluded: covered = [],
    withoutPeople = [],
    groups,
    check,
    write,
    keepCalibration,
    force,
  } = options;
  // Reports errors in the lists first, because embedding takes minutes.
  const folders = [...table, ...covered].map(({ folder }) => folder);
  if (groups) requireColumns(groups, folders);
  requirePeople(largestGroup(table.map(({ name, folder }) => readPeople(name, folder, groups))));
  const { directory, manifest, workers } = await openPack(options);
  const preprocessing = keepCalibration ? undefined : await preprocessingOf(directory, manifest, table);
  const faces = await findFaces(
    { table, cohortOnly, covered, withoutPeople, groups },
    { packDirectory: directory, minDetScore: manifest.min_det_score, workers },
  );
  const photoGroups = faces.modes.map((sets) => groupsOf(sets.table));
  const { centres, heldOut } = await cohortsOf(faces, workers, photoGroups.flat());
  if (write && centres.length === 0) {
    throw new Error(
      'Nothing was written, because there are too few people for a cohort. Use images of at least a few hundred people.',
    );
  }
  const modes = faces.modes.map((sets, i) => {
    const { tableWithout, ...fit } = fitMode(sets.mode, [...sets.table, ...sets.covered], heldOut, {
      ...options,
      table,
    });
    const kept = keepCalibration ? calibrationOf(manifest.calibration[sets.mode]) : undefined;
    const tables = {
      whole: kept ?? new Calibration(fit.points),
      without: (low: number, high: number) => kept ?? new Calibration(tableWithout(low, high)),
    };
    return { ...fit, ...shiftsOf(photoGroups[i]!, heldOut, tables, check) };
  });
  const examples = keepCalibration ? undefined : examplesFor(faces);
  // --keep-calibration writes no table, so the check cannot contradict one.
  const mayBeWritten =
    force || keepCalibration || modes.every((fit) => (fit.check?.broken ?? []).length === 0);
  const written = write === true && mayBeWritten;
  if (written) writeFits(directory, manifest, modes, examples && { centres, ...examples });
  return {
    pack: manifest.name,
    written,
    // Comparison of input scalings, for a model that the user added.
    ...(preprocessing && { preprocessing }),
    // Descriptions of the published sets. Rates for other people and photos are unknown.
    known_for: table.flatMap(({ about }) => about ?? []),
    centres: centres.length,
    modes,
    ...(check && examples && talliesOf(examples)),
  };
}

/**
 * Opens a pack, and loads its models without the human check, so that no face is discarded.
 */
async function openPack({ pack: nameOrPath, keepCalibration }: CalibrateOptions) {
  const { pack, workers } = readConfig();
  const directory = packDirectory(nameOrPath ?? pack);
  const draft = keepCalibration ? readCalibratedManifest(directory) : readManifest(directory);
  const calibration = draft.calibration ?? ({} as CalibratedManifest['calibration']);
  const manifest: CalibratedManifest = { ...draft, calibration };
  await verifyPack(directory, manifest);
  loadPack(directory, embeddingPart(manifest));
  return { directory, manifest, workers };
}

/**
 * Compares the input scalings of an embedder that the user added, on the first set with enough people. Resolves to
 * undefined for other embedders, and if no set has enough people with two images.
 */
async function preprocessingOf(
  directory: string,
  { source, embedder }: CalibratedManifest,
  table: readonly SetFolder[],
) {
  if (source.kind !== 'project' || typeof embedder.from !== 'string') return undefined;
  for (const { name, folder } of table) {
    const pairs = pairsOfPeople(readPeople(name, folder));
    if (pairs) return tryPreprocessings(directory, pairs, folder);
  }
  return undefined;
}

function cohortsOf({ modes }: FoundFaces, workers: number, photoGroups: readonly PhotoGroup[]) {
  const { table, covered, cohortOnly } = modes.find(({ mode }) => mode === cohortMode)!;
  const images = [...table, ...covered, ...cohortOnly].flatMap((set, place) =>
    set.images.map(({ person, embedding }) => ({ person, embedding, set: String(place) })),
  );
  const judged = modes.flatMap((sets) => [...sets.table, ...sets.covered]).flatMap((set) => set.images);
  return makeCohorts(images, workers, [...judged, ...newMeans(photoGroups)]);
}

/** Returns the faces of both modes that the human check and the occlusion score are fitted to. */
function examplesFor({ modes, others }: FoundFaces) {
  const covered = modes.flatMap((sets) => sets.covered);
  const uncovered = modes.flatMap(({ table, cohortOnly }) => [...table, ...cohortOnly]);
  return {
    humans: modes
      .flatMap(({ table, covered: some, cohortOnly }) => [...table, ...some, ...cohortOnly])
      .flatMap((set) => examplesOf(set)),
    others,
    covered: covered.flatMap((set) => examplesOf(set, coveredSet)),
    uncovered: uncovered.flatMap((set) => examplesOf(set)),
  };
}

/**
 * Cross-validates the human check and the occlusion score. Counts for each set the faces that pass.
 */
function talliesOf({ humans, others, covered, uncovered }: ReturnType<typeof examplesFor>) {
  return {
    ...(others.length > 0 && { human: tallyLinear(humans, others, humanThreshold) }),
    ...(covered.length > 0 && { occlusion: tallyLinear(covered, uncovered, occlusionThreshold) }),
  };
}

/**
 * Fits the similarity shifts for several photos per person. Returns {} if too few people have several photos. With
 * `check`, also measures the FMR of people who are left out of the fit.
 */
function shiftsOf(
  groups: readonly PhotoGroup[],
  cohorts: HeldOutCohorts,
  { whole, without }: { whole: Calibration; without: (low: number, high: number) => Calibration },
  check: boolean | undefined,
) {
  const shiftsWithout = fitShifts(groups, cohorts);
  const measured = shiftsWithout();
  if (measured.length < 2) return {};
  const photos = statedShifts(measured, whole);
  if (!check) return { photos };
  const stated = percents.map((percent) => ({ percent, stated_fmr: promisedRate(percent) }));
  const rates = stated.map(({ stated_fmr }) => stated_fmr);
  const rows = checkShifts(groups, cohorts, shiftsWithout, without, rates);
  const photos_check = stated.flatMap((one, i) => rows[i]!.map((row) => ({ ...one, ...row })));
  return { photos, photos_check };
}

export type ModeFit = Omit<ReturnType<typeof fitMode>, 'tableWithout'> & ReturnType<typeof shiftsOf>;

function fitMode(
  mode: AccuracyMode,
  sets: readonly PeopleSet[],
  cohorts: HeldOutCohorts,
  { check, keepCalibration, samePersonAbove, table }: CalibrateOptions & { table: readonly SetFolder[] },
) {
  // The check always runs, because it can raise the floor.
  const fitWith = (use: HeldOutCohorts | undefined) =>
    fitTable(sets, use, checkedPercents(sets), samePersonAbove);
  const {
    points,
    tableWithout,
    floor,
    check: with_cohort,
    taken_for_one_person,
    too_alike,
  } = fitWith(cohorts);
  return {
    mode,
    tableWithout,
    fitted_on: describeSets(sets, table),
    points,
    floor,
    ...(samePersonAbove !== undefined && { taken_for_one_person }),
    too_alike,
    // Rates of people who are in neither the cohort nor the fit. `broken` lists the stated rates that the check
    // with the cohort contradicts.
    ...(check && {
      check: {
        with_cohort,
        // --keep-calibration keeps the cohort, so a check without a cohort would not apply.
        ...(!keepCalibration && { without_cohort: fitWith(undefined).check }),
        broken: contradictedRates(with_cohort, floor),
      },
    }),
  };
}

function describeSets(sets: readonly PeopleSet[], table: readonly SetFolder[]): string {
  return sets
    .map(({ name, images }) => {
      const people = new Set(images.map(({ person }) => person)).size;
      const { title, about } = table.find((set) => set.name === name) ?? {};
      const known = title === undefined ? name : `${title} (${about})`;
      return `${known}: ${images.length} images of ${people} people`;
    })
    .join('; ');
}
