import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AccuracyMode,
  calibrationOf,
  defaults,
  exitCodes,
  loadPack,
  openable,
  packDirectory,
  readConfig,
  readManifest,
  verifyPack,
} from 'facematch/for-lab';
import {
  embedPeople,
  embedSet,
  fitHeldOut,
  judgePeople,
  judgeSet,
  type PairSet,
  resultsJson,
  sharedThresholds,
} from '../evaluate.ts';
import type { SetFolder } from '../found-faces.ts';
import { imagesOf, personOf, readPairs } from '../pairs.ts';
import { type Grouping, groupingsOf, type PeopleSet, readPeople, requireColumns } from '../people.ts';
import { judgeForeign, judgePhotos } from '../several-photos.ts';
import { describeResults } from './describe-eval.ts';

interface SetFiles {
  name: string;
  pairsFile: string;
  folder: string;
}

/** Flags of the command; its help describes each. */
export interface EvaluateOptions {
  mode: AccuracyMode;
  people?: readonly SetFolder[];
  photos?: number;
  searched?: number;
  groups?: readonly Grouping[];
  samePersonAbove?: number;
  heldOutCohort?: true;
  report?: string;
  json?: true;
}

/** Measures the sets with the configured pack, prints the figures, and writes the report if requested. */
export async function evaluateSets(files: readonly SetFiles[], options: EvaluateOptions): Promise<void> {
  const { mode, people = [], heldOutCohort, samePersonAbove } = options;
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readManifest(packDir);
  const { name, version, min_det_score: minDetScore } = manifest;
  const calibration = manifest.calibration && calibrationOf(manifest.calibration[mode]);
  if (calibration === undefined && people.length > 0) {
    throw new Error(
      `The pack ${name} is not calibrated, so confidence_percent has no false match rate. Calibrate it first, or give lists of pairs.`,
    );
  }
  const { sets, lists } = readLists(files, options);
  const report = options.report && (await import('../report/page.ts')).openReport(options.report);
  await verifyPack(packDir, manifest);
  const addon = loadPack(packDir, manifest);
  const engine = { packDirectory: packDir, mode, minDetScore, workers };
  const embedded = [];
  for (const set of sets) embedded.push(await embedSet(set, engine));
  const found = [];
  for (const { set, labelled, groupings } of lists)
    found.push(await embedPeople(set, labelled, groupings, engine));
  const peopleSets = found.map((set) => set.people);
  const cohorts = heldOutCohort ? await fitHeldOut(embedded, peopleSets, workers) : undefined;
  const judging = { mode, calibration, packCohort: manifest.cohort ? 'pack' : 'none', cohorts } as const;
  const evaluations = embedded.map((set) => judgeSet(set, judging));
  const ofPeople = { ...judging, calibration: calibration! };
  const byGroup = found.map((set) => judgePeople(set, ofPeople, samePersonAbove));
  const cohortScores = (vectors: Float32Array) => addon.cohortScores(packDir, vectors);
  const photos = photosOf(peopleSets, { calibration: calibration!, cohortScores }, options);
  const results = {
    pack: { name, version },
    evaluations,
    shared_thresholds: sharedThresholds(evaluations),
    people: byGroup,
    ...(photos && { photos }),
  };
  if (report) report.write(results, new Date());
  console.log(options.json ? resultsJson(results) : describeResults(results));
  if (report) console.error(`The report is ${report.page}`);
  failIfUnread(...[...evaluations, ...byGroup].map(({ figures }) => figures));
}

/** Reads all lists before anything is measured, because measuring takes minutes and a list may have errors. */
function readLists(files: readonly SetFiles[], { people = [], groups, heldOutCohort }: EvaluateOptions) {
  const sets = files.map(readSet);
  const folders = people.map(({ folder }) => folder);
  if (groups) requireColumns(groups, folders);
  const lists = people.map((set) => ({
    set,
    labelled: readPeople(set.name, set.folder, groups, 'kept'),
    groupings: groupingsOf(set.folder, groups),
  }));
  if (heldOutCohort) for (const { pairs } of sets) imagesOf(pairs).forEach(personOf);
  return { sets, lists };
}

function photosOf(
  sets: readonly PeopleSet[],
  judge: Parameters<typeof judgePhotos>[2],
  { photos: maxPhotos, searched = 1 }: EvaluateOptions,
) {
  if (maxPhotos === undefined) return undefined;
  return sets.map((set) => ({
    set: set.name,
    searched,
    rows: judgePhotos(set, maxPhotos, judge, searched),
    foreign: judgeForeign(set, maxPhotos, judge, defaults.min_agreement_percent),
  }));
}

/** Sets the exit code of a failure if images could not be read, because the figures then omit part of the input. */
export function failIfUnread(...figures: readonly { failures: Readonly<Record<string, string>> }[]): void {
  if (figures.some(({ failures }) => Object.keys(failures).length > 0)) process.exitCode = exitCodes.failure;
}

/** Reads a list of pairs. Missing images count as unreadable. Throws an Error if the folder has none of them. */
function readSet(set: SetFiles): PairSet {
  const { pairsFile, folder } = set;
  const pairs = readPairs(pairsFile);
  const images = imagesOf(pairs);
  if (!images.some((image) => existsSync(openable(join(folder, image))))) {
    throw new Error(`${folder} has none of the images that ${pairsFile} lists, such as ${images[0]}`);
  }
  return { ...set, pairs };
}
