import { readConfig } from '../config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import { packDirectory, readManifest, verifyPack } from '../engine/pack.ts';
import { checkCalibration } from '../eval/calibrate.ts';
import { embedImages } from '../eval/embed-images.ts';
import { embedSets, fitHeldOut, judgeSets, type PairSet } from '../eval/evaluate.ts';
import { heldOutFits } from '../eval/held-out.ts';
import { imagesOf, personOf, readPairs } from '../eval/pairs.ts';
import { type PeopleSet, peopleSet, readPeople } from '../eval/people.ts';
import { resultsJson, resultsOf } from '../eval/results.ts';
import { calibrationOf } from '../matching/calibration.ts';
import type { SetFolder } from './calibrate-pack.ts';
import { describeResults } from './eval-text.ts';
import { withBar } from './terminal.ts';

interface SetFiles {
  name: string;
  pairsFile: string;
  folder: string;
}

const promisedPercents = [50, 60, 70];

interface EvaluateSetsOptions {
  mode: AccuracyMode;
  /** Labelled people, whose false-match rates are checked by group. */
  people: readonly SetFolder[];
  heldOutCohort: boolean;
  report: string | undefined;
  json: boolean;
}

/** Measures the sets with the configured pack, prints the figures, and writes the report where one is wanted. */
export async function evaluateSets(
  files: readonly SetFiles[],
  { mode, people, heldOutCohort, report, json }: EvaluateSetsOptions,
): Promise<void> {
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const manifest = readManifest(directory);
  const { name, version } = manifest;
  const sets = files.map((set): PairSet => ({ ...set, pairs: readPairs(set.pairsFile) }));
  // Fails now rather than at the end: measuring takes minutes.
  if (heldOutCohort) for (const { pairs } of sets) imagesOf(pairs).forEach(personOf);
  const folder = report === undefined ? undefined : await openReport(report);
  await verifyPack(directory, manifest);
  const total = sets.reduce((sum, { pairs }) => sum + imagesOf(pairs).length, 0);
  const { min_det_score: minDetScore } = manifest;
  const { workers } = config;
  const embedded = await withBar('pictures', total, (onImage) =>
    embedSets(sets, { packDirectory: directory, mode, minDetScore, workers, onImage }),
  );
  const peopleSets: PeopleSet[] = [];
  for (const set of people) {
    const labelled = readPeople(set.name, set.folder);
    const files = labelled.map(({ file }) => file);
    const found = await withBar(set.name, files.length, (onImage) =>
      embedImages(files, {
        packDirectory: directory,
        folder: set.folder,
        mode,
        minDetScore,
        workers,
        onImage,
      }),
    );
    peopleSets.push(peopleSet(set.name, labelled, found));
  }
  const cohorts = heldOutCohort
    ? await withBar('cohorts', heldOutFits, (onFit) => fitHeldOut(embedded, peopleSets, { workers, onFit }))
    : undefined;
  const calibration = calibrationOf(manifest.calibration[mode]);
  const packCohort = manifest.cohort ? 'pack' : 'none';
  const evaluations = judgeSets(embedded, { mode, calibration, packCohort, cohorts });
  const groups = checkCalibration(peopleSets, cohorts, calibration, promisedPercents);
  const results = resultsOf({ name, version }, evaluations, groups);
  folder?.write(results, new Date());
  console.log(json ? resultsJson(results) : describeResults(results));
  if (folder) console.error(`The report is ${folder.page}`);
}

async function openReport(directory: string) {
  const { ReportFolder } = await import('../eval/report/folder.ts');
  return new ReportFolder(directory);
}
