import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AccuracyMode,
  calibrationOf,
  columns,
  count,
  exitCodes,
  loadPack,
  openable,
  packDirectory,
  printable,
  promisedRate,
  readConfig,
  readManifest,
  verifyPack,
  withBar,
} from 'facematch/for-lab';
import {
  type AttackFigures,
  attackFigures,
  type PresentationFigures,
  readPresentations,
} from '../attacks.ts';
import { groupCount } from '../differential.ts';
import { embedImages } from '../embed-images.ts';
import {
  type EmbeddedPeople,
  embedPeople,
  embedSets,
  fitHeldOut,
  judgePeople,
  judgeSets,
  type PairSet,
  type PeopleEvaluation,
  type PeopleFigures,
} from '../evaluate.ts';
import { askedRates, canShow, type Figures } from '../figures.ts';
import type { SetFolder } from '../found-faces.ts';
import { cohortTasks } from '../held-out.ts';
import {
  cohortText,
  countText,
  intervalText,
  percentText,
  rateText,
  scoreText,
  verdictText,
} from '../number-text.ts';
import { imagesOf, personOf, readPairs } from '../pairs.ts';
import { type Grouping, groupingsOf, readPeople, requireColumns } from '../people.ts';
import { judgePhotos, photosPercents } from '../photos.ts';
import { type Results, resultsJson, sharedThresholds } from '../results.ts';
import { differentialTables, setTables, sharedTables, type TextTable } from '../tables.ts';

interface SetFiles {
  name: string;
  pairsFile: string;
  folder: string;
}

export interface EvaluateOptions {
  mode: AccuracyMode;
  /** Labelled people, whose error rates are measured by group. */
  people?: readonly SetFolder[];
  /** What up to so many photos of a person on each side buy. */
  photos?: number;
  groups?: readonly Grouping[];
  /** Two people's images whose cosine is above it count neither as strangers nor as one person. */
  samePersonAbove?: number;
  heldOutCohort?: true;
  report?: string;
  json?: true;
}

/** Measures the sets with the configured pack, prints the figures, and writes the report where one is wanted. */
export async function evaluateSets(files: readonly SetFiles[], options: EvaluateOptions): Promise<void> {
  const { mode, people = [], groups, samePersonAbove = Number.POSITIVE_INFINITY, heldOutCohort } = options;
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readManifest(packDir);
  const { name, version, min_det_score: minDetScore } = manifest;
  const calibration = manifest.calibration && calibrationOf(manifest.calibration[mode]);
  if (calibration === undefined && people.length > 0) {
    throw new Error(
      `The pack ${name} is not calibrated, so its percents have no rates: calibrate it first, or give lists of pairs.`,
    );
  }
  const sets = files.map(readSet);
  // What is wrong with the lists fails now rather than at the end: measuring takes minutes.
  const folders = people.map(({ folder }) => folder);
  if (groups) requireColumns(groups, folders);
  const lists = people.map((set) => ({
    set,
    labelled: readPeople(set.name, set.folder, groups, 'kept'),
    groupings: groupingsOf(set.folder, groups),
  }));
  if (heldOutCohort) for (const { pairs } of sets) imagesOf(pairs).forEach(personOf);
  const report = options.report && (await import('../report/page.ts')).openReport(options.report);
  await verifyPack(packDir, manifest);
  const addon = loadPack(packDir, manifest);
  const engine = { packDirectory: packDir, mode, minDetScore, workers };
  const total = sets.reduce((sum, { pairs }) => sum + imagesOf(pairs).length, 0);
  const embedded = await withBar('images', total, (onImage) => embedSets(sets, { ...engine, onImage }));
  const found: EmbeddedPeople[] = [];
  for (const { set, labelled, groupings } of lists) {
    found.push(
      await withBar(set.name, labelled.length, (onImage) =>
        embedPeople(set, labelled, groupings, { ...engine, onImage }),
      ),
    );
  }
  const peopleSets = found.map((set) => set.people);
  const cohorts = heldOutCohort
    ? await withBar('cohorts', cohortTasks, (onTask) => fitHeldOut(embedded, peopleSets, { workers, onTask }))
    : undefined;
  const judging = { mode, calibration, packCohort: manifest.cohort ? 'pack' : 'none', cohorts } as const;
  const evaluations = judgeSets(embedded, judging);
  const byGroup: PeopleEvaluation[] = [];
  for (const set of found) {
    const groupsOfSet = groupCount(set.people, set.groupings);
    byGroup.push(
      await withBar(`${set.people.name} by group`, groupsOfSet, (onGroup) =>
        judgePeople(set, { ...judging, calibration: calibration! }, samePersonAbove, onGroup),
      ),
    );
  }
  const shared_thresholds = sharedThresholds(evaluations);
  const cohortScores = (vectors: Float32Array) => addon.cohortScores(packDir, vectors);
  const photos = options.photos
    ? peopleSets.map((set) => ({
        set: set.name,
        rows: judgePhotos(set, options.photos!, calibration!, cohortScores),
      }))
    : undefined;
  const results = {
    pack: { name, version },
    evaluations,
    shared_thresholds,
    people: byGroup,
    ...(photos && { photos }),
  };
  if (report) report.write(results, new Date());
  console.log(options.json ? resultsJson(results) : describeResults(results));
  if (report) console.error(`The report is ${report.page}`);
  const measured = [...evaluations, ...byGroup].map(({ figures }) => figures);
  failWhereUnread(...measured);
}

/** Figures that leave out a part of what was given are no success. */
function failWhereUnread(...figures: readonly { failures: Readonly<Record<string, string>> }[]): void {
  if (figures.some(({ failures }) => Object.keys(failures).length > 0)) process.exitCode = exitCodes.failure;
}

/** An image that is not there counts as one that cannot be read. Without any, the folder is a wrong one: throws an Error. */
function readSet(set: SetFiles): PairSet {
  const { pairsFile, folder } = set;
  const pairs = readPairs(pairsFile);
  const images = imagesOf(pairs);
  if (!images.some((image) => existsSync(openable(join(folder, image))))) {
    throw new Error(`${folder} has none of the images that ${pairsFile} lists, such as ${images[0]}`);
  }
  return { ...set, pairs };
}

/** Measures the hint at presentation attacks of the configured pack, and prints the figures. */
export async function evaluateAttacks(
  folder: string,
  { mode, json }: Pick<EvaluateOptions, 'mode' | 'json'>,
): Promise<void> {
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readManifest(packDir);
  const { name, version, liveness, min_det_score: minDetScore } = manifest;
  if (liveness === undefined) {
    throw new Error(`The pack ${name} has no liveness nets; facematch packs add takes them.`);
  }
  const presentations = readPresentations(folder);
  await verifyPack(packDir, manifest);
  loadPack(packDir, manifest);
  const names = presentations.map(({ file }) => file);
  const engine = { packDirectory: packDir, folder, mode, minDetScore, workers, liveScores: true } as const;
  const images = await withBar('images', names.length, (onImage) =>
    embedImages(names, { ...engine, onImage }),
  );
  const figures = attackFigures(presentations, images, liveness.live_threshold);
  if (json) console.log(JSON.stringify({ pack: { name, version }, ...figures }, null, 2));
  else console.log(describeAttacks(`${name} ${version}`, figures));
  failWhereUnread(figures);
}

function describeAttacks(pack: string, { threshold, attacks, live, acer, failures }: AttackFigures): string {
  const width = Math.max(4, ...attacks.map(({ type }) => type.length));
  const line = (rate: string, type: string, its: PresentationFigures, wrong: string) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.error_rate)} ${intervalText(its.error_interval)}: ${its.errors} of ${its.images - its.non_responses} ${wrong}`;
  const silent = (rate: string, type: string, its: PresentationFigures) =>
    `${rate}  ${printable(type).padEnd(width)}  ${percentText(its.non_response_rate)}: ${its.non_responses} of ${its.images} without a face`;
  const [worst] = attacks;
  return [
    `pack ${pack}, live from a live_score of ${threshold}; 95 % intervals`,
    `APCER  ${worst ? `${percentText(worst.error_rate)}, that of the worst type of attack` : 'no attacks were given'}`,
    ...attacks.map((its) => line('APCER', its.type, its, 'taken for live')),
    live.images === 0 ? 'BPCER  no live people were given' : line('BPCER', 'live', live, 'taken for attacks'),
    `ACER   ${percentText(acer)}, the mean of both`,
    ...attacks.map((its) => silent('APNRR', its.type, its)),
    ...(live.images === 0 ? [] : [silent('BPNRR', 'live', live)]),
    ...describeFailures(failures),
  ].join('\n');
}

/** The figures as text for the terminal; first of all what happens at the percent that a match needs by default. */
function describeResults({ evaluations, shared_thresholds, people, photos = [] }: Results): string {
  const sets = evaluations.map(({ figures }) => figures);
  const all = [...sets, ...people.map(({ figures }) => figures)];
  return [
    all.map((figures) => verdictText(figures, all.length > 1)).join('\n'),
    ...sets.map(describeSet),
    ...sharedTables(shared_thresholds, sets).map((table) => describeTable(table).join('\n')),
    ...people.map(({ figures }) => describePeople(figures)),
    ...photos.map((set) => describePhotos(set)),
  ].join('\n\n');
}

function describeSet(figures: Figures): string {
  const { set, cohort, pairs } = figures;
  // Rates that the pairs of strangers are too few to show.
  const unshown = askedRates.find((fmr) => !canShow(fmr, pairs.different));
  return [
    `${set}: ${pairs.same} same, ${pairs.different} different pairs; mode ${figures.mode}`,
    `cohort             ${cohortText[cohort]}`,
    ...(unshown === undefined
      ? []
      : [
          `too few strangers  to show ${rateText(unshown)} or less: that takes ${countText(1 / unshown)} pairs of them`,
        ]),
    ...describeAlike(figures),
    ...setTables(figures).flatMap(describeTable),
    ...describeMissing(figures, figures.images),
    `speed              ${figures.images_per_second.toFixed(0)} images/s`,
  ].join('\n');
}

/** Error rates of labelled people by group. */
function describePeople(figures: PeopleFigures): string {
  const { set, mode, cohort, everybody, groupings, same_person_above } = figures;
  const tables = groupings.length > 0 ? groupings : [undefined];
  return [
    `${set}: ${countText(everybody.people)} people, ${countText(everybody.images)} images; mode ${mode}`,
    `cohort             ${cohortText[cohort]}`,
    ...describeMissing(figures, everybody.images),
    ...describeAlike(figures),
    ...(same_person_above === undefined
      ? []
      : [`one person         images of two people with a cosine above ${same_person_above} are left out`]),
    ...tables.flatMap((grouping) => differentialTables(figures, grouping).flatMap(describeTable)),
  ].join('\n');
}

/** What several photos of a person buy. */
function describePhotos({ set, rows }: NonNullable<Results['photos']>[number]): string {
  const percents = photosPercents.join(', ');
  return [
    `${set}: photos of the probe and of the reference, all people together`,
    ...columns(
      [
        'photos',
        `pass ${percents} percent`,
        'people',
        `strangers: measured / stated at ${percents}`,
        'pairs',
      ],
      rows.map(({ probe, reference, passed, people, passed_strangers, strangers }) => [
        `${probe} + ${reference}`,
        passed.map((share) => percentText(share)).join(', '),
        countText(people),
        passed_strangers.map((rate, at) => (rate / promisedRate(photosPercents[at]!)).toFixed(2)).join(', '),
        countText(strangers),
      ]),
    ),
  ].join('\n');
}

const describeTable = ({ title, head, rows }: TextTable) => [title, ...columns(head, rows)];

function describeMissing(
  { without_face, failures, low_quality }: Pick<Figures, 'without_face' | 'failures' | 'low_quality'>,
  images: number,
) {
  const warnings = Object.entries(low_quality).filter(([, number]) => number > 0);
  return [
    `without a face     ${countText(without_face.length)} of ${countText(images)} images${list(without_face)}`,
    ...(warnings.length === 0
      ? []
      : [
          `low quality faces  ${warnings.map(([name, number]) => `${countText(number)} ${name}`).join(', ')}`,
        ]),
    ...describeFailures(failures),
  ];
}

/** The pairs of strangers that were left out, in a line; none without any. */
function describeAlike({ too_alike }: Pick<Figures, 'too_alike'>): string[] {
  const pairs = too_alike.map(
    ({ image1, image2, cosine }) => `${image1} and ${image2} (${scoreText(cosine)})`,
  );
  return pairs.length > 0
    ? [
        `left out           ${count(pairs.length, 'pair')} of strangers, more alike than strangers are${list(pairs)}`,
      ]
    : [];
}

/** The images that could not be read, in a line; none without any. */
function describeFailures(failures: Figures['failures']): string[] {
  const failed = Object.entries(failures).map(([name, reason]) => `${name} (${reason})`);
  return failed.length > 0 ? [`could not be read  ${failed.length}${list(failed)}`] : [];
}

/** The first of some names, after a colon; nothing for no names. */
function list(names: readonly string[]): string {
  if (names.length === 0) return '';
  const shown = names.slice(0, 10).map(printable).join(', ');
  return `: ${shown}${names.length > 10 ? ', …' : ''}`;
}
