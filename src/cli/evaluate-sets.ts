import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../config/config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import { loadPack } from '../engine/load-addon.ts';
import { packDirectory, readManifest, verifyPack } from '../engine/manifest.ts';
import { groupCount } from '../lab/differential.ts';
import {
  type EmbeddedPeople,
  embedPeople,
  embedSets,
  fitHeldOut,
  judgePeople,
  judgeSets,
  type PairSet,
  type PeopleEvaluation,
} from '../lab/evaluate.ts';
import { openable } from '../lab/file-names.ts';
import { cohortTasks } from '../lab/held-out.ts';
import { imagesOf, personOf, readPairs } from '../lab/pairs.ts';
import { type Grouping, groupingsOf, readPeople, requireColumns } from '../lab/people.ts';
import { resultsJson, resultsOf } from '../lab/results.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import type { SetFolder } from './calibrate-pack.ts';
import { describeResults } from './eval-text.ts';
import { withBar } from './terminal.ts';

interface SetFiles {
  name: string;
  pairsFile: string;
  folder: string;
}

interface EvaluateSetsOptions {
  mode: AccuracyMode;
  /** Labelled people, whose error rates are measured by group. */
  people: readonly SetFolder[];
  groups: readonly Grouping[] | undefined;
  /** Two people's pictures whose cosine is above it count neither as strangers nor as one person; Infinity for none. */
  samePersonAbove: number;
  heldOutCohort: boolean;
  report: string | undefined;
  json: boolean;
}

/** Measures the sets with the configured pack, prints the figures, and writes the report where one is wanted. */
export async function evaluateSets(
  files: readonly SetFiles[],
  { mode, people, groups, samePersonAbove, heldOutCohort, report, json }: EvaluateSetsOptions,
): Promise<void> {
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const manifest = readManifest(directory);
  const { name, version } = manifest;
  const sets = files.map(readSet);
  // What is wrong with the lists fails now rather than at the end: measuring takes minutes.
  const folders = people.map(({ folder }) => folder);
  if (groups) requireColumns(groups, folders);
  const lists = people.map(({ name, folder }) => ({
    name,
    folder,
    labelled: readPeople(name, folder, groups, 'kept'),
    groupings: groupingsOf(folder, groups),
  }));
  if (heldOutCohort) for (const { pairs } of sets) imagesOf(pairs).forEach(personOf);
  const folder = report === undefined ? undefined : await openReport(report);
  await verifyPack(directory, manifest);
  loadPack(directory, manifest);
  const total = sets.reduce((sum, { pairs }) => sum + imagesOf(pairs).length, 0);
  const { min_det_score: minDetScore } = manifest;
  const { workers } = config;
  const engine = { packDirectory: directory, mode, minDetScore, workers };
  const embedded = await withBar('pictures', total, (onImage) => embedSets(sets, { ...engine, onImage }));
  const found: EmbeddedPeople[] = [];
  for (const { labelled, groupings, ...set } of lists) {
    found.push(
      await withBar(set.name, labelled.length, (onImage) =>
        embedPeople(set, labelled, groupings, { ...engine, onImage }),
      ),
    );
  }
  const cohorts = heldOutCohort
    ? await withBar('cohorts', cohortTasks, (onTask) =>
        fitHeldOut(
          embedded,
          found.map((set) => set.people),
          { workers, onTask },
        ),
      )
    : undefined;
  const calibration = calibrationOf(manifest.calibration[mode]);
  const judging = { mode, calibration, packCohort: manifest.cohort ? 'pack' : 'none', cohorts } as const;
  const evaluations = judgeSets(embedded, judging);
  const byGroup: PeopleEvaluation[] = [];
  for (const set of found) {
    const judged = await withBar(
      `${set.people.name} by group`,
      groupCount(set.people, set.groupings),
      (onGroup) => judgePeople(set, judging, samePersonAbove, onGroup),
    );
    byGroup.push(judged);
  }
  const results = resultsOf({ name, version }, evaluations, byGroup);
  folder?.write(results, new Date());
  console.log(json ? resultsJson(results) : describeResults(results));
  if (folder) console.error(`The report is ${folder.page}`);
}

/** A picture that is not there counts as one that cannot be read. Without any, the folder is a wrong one: throws an Error. */
function readSet(set: SetFiles): PairSet {
  const { pairsFile, folder } = set;
  const pairs = readPairs(pairsFile);
  const images = imagesOf(pairs);
  if (!images.some((image) => existsSync(openable(join(folder, image))))) {
    throw new Error(`${folder} has none of the pictures that ${pairsFile} lists, such as ${images[0]}`);
  }
  return { ...set, pairs };
}

async function openReport(directory: string) {
  const { ReportFolder } = await import('../lab/report/page.ts');
  return new ReportFolder(directory);
}
