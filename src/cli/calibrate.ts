import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CalibrationCheck } from '../lab/calibrate.ts';
import { type Grouping, parseGroupings } from '../lab/groupings.ts';
import type { Tally } from '../lab/linear-score.ts';
import { percentText, rateText } from '../lab/number-text.ts';
import { Calibration } from '../scoring/calibration.ts';
import type { ModeFit, PackFit, SetFolder } from './calibrate-pack.ts';
import { addHelp } from './help.ts';

interface Options {
  cohortOnly?: SetFolder[];
  occluded?: SetFolder[];
  withoutPeople?: string[];
  groups?: Grouping[];
  samePersonAbove?: number;
  write?: boolean;
  check?: boolean;
  json?: boolean;
}

export function registerCalibrate(program: Command): void {
  const command = program
    .command('calibrate')
    .description("fit a pack's cohort, human check and false-match rates to pictures of labelled people")
    .argument(
      '<set...>',
      'NAME=FOLDER; in the folder, a folder of pictures for each person, or pictures alone, each of another person, or with a list people.tsv the pictures that it lists (columns image, perhaps person, and any labels)',
      parseSetFolder,
    )
    .option(
      '--cohort-only <name=dir...>',
      'more people, for the cohort and the human check: the table is not fitted to them',
      parseSetFolder,
    )
    .option(
      '--occluded <name=dir...>',
      "people whose nose and mouth are covered, for cohort and table and for the occlusion score; pictures of another set's people have that set's name",
      parseSetFolder,
    )
    .option(
      '--without-people <dir...>',
      'folders of images without people: every face found in them is false',
    )
    .addOption(groupsOption())
    .addOption(samePersonOption())
    .option('--write', 'write the result into the pack; without it only the table is shown')
    .option(
      '--check',
      'also cross-validate over people: promised and observed rates of each group, with and without the cohort',
    )
    .option('--json', 'print what was fitted as JSON')
    .action(async (sets: SetFolder[], options: Options) => {
      const { calibratePack } = await import('./calibrate-pack.ts');
      const fit = await calibratePack(sets, {
        cohortOnly: options.cohortOnly ?? [],
        occluded: options.occluded ?? [],
        withoutPeople: options.withoutPeople ?? [],
        groups: options.groups,
        samePersonAbove: options.samePersonAbove ?? Number.POSITIVE_INFINITY,
        write: options.write ?? false,
        check: options.check ?? false,
      });
      if (options.json) console.log(JSON.stringify(fit, null, 2));
      else printFit(fit);
      if (options.write) console.error(`Written into the pack ${fit.pack}`);
    });
  addHelp(command, {
    notes:
      'The table is fitted to the group with the most false matches: a set, or all who share a label of its people.tsv, or several with --groups.',
    examples: [
      'facematch calibrate lfw=lfw/images ages=ages/images --without-people animals --check',
      "facematch calibrate staff=staff/photos --groups 'origin*sex,age' --check",
      'facematch calibrate strangers=photos --check  # one picture a person is enough',
      'FACEMATCH_PACK=./my-pack facematch calibrate staff=staff/photos --write',
    ],
  });
}

/** For eval too. */
export function groupsOption(): Option {
  const text =
    'columns of people.tsv that make groups, crossed with *, such as origin*sex,age (default: each by itself)';
  return new Option('--groups <columns>', text).argParser((columns) => {
    try {
      return parseGroupings(columns);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  });
}

/** For eval too. */
export function samePersonOption(): Option {
  const text =
    'take pictures of two people for one person above this cosine, and leave the pair out: for uncertain labels';
  return new Option('--same-person-above <cosine>', text).argParser((cosine) => {
    const value = Number(cosine);
    if (value > 0 && value <= 1) return value;
    throw new InvalidArgumentError('Expected a cosine above 0, and at most 1.');
  });
}

export function parseSetFolder(text: string, before: SetFolder[] | undefined): SetFolder[] {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError('Expected NAME=FOLDER.');
  return [...(before ?? []), { name: match[1]!, folder: match[2]! }];
}

/** Prints what was fitted as tables. */
function printFit({ centres, modes, human, occlusion }: PackFit): void {
  console.log(`${centres} centres`);
  for (const fit of modes) printMode(fit);
  if (human) printTally('The human check', human);
  if (occlusion) printTally('Faces taken for covered', occlusion);
}

function printMode({ mode, points, floor, taken_for_one_person, check }: ModeFit): void {
  console.log(`${mode}:`);
  console.table(points.map(([similarity, false_match_rate]) => ({ similarity, false_match_rate })));
  const percent = Math.round(new Calibration(points).confidencePercent(floor));
  console.log(
    `Floor ${rateText(floor)}, ${percent} percent: these people show nothing rarer, so answers above it are "extrapolated".`,
  );
  if (taken_for_one_person) {
    console.log('Pairs of two people that were taken for one person, and left out:');
    console.table(taken_for_one_person);
  }
  if (!check) return;
  printCheck(`${mode}, with the cohort`, check.with_cohort);
  printCheck(`${mode}, without it`, check.without_cohort);
}

function printCheck(title: string, rows: readonly CalibrationCheck[]): void {
  console.log(`Cross-validated over people, ${title}:`);
  console.table(
    rows.map(({ group, percent, promised, observed, interval, pairs }) => ({
      group,
      percent,
      promised: promised.toPrecision(2),
      observed: observed.toPrecision(2),
      '95 % interval': interval.map((rate) => rate.toPrecision(2)).join(' – '),
      'observed / promised': (observed / promised).toFixed(2),
      pairs,
    })),
  );
}

function printTally(title: string, rows: readonly Tally[]): void {
  console.log(`${title}, cross-validated over people and pictures, both modes:`);
  console.table(
    rows.map(({ set, faces, passed, sources, sources_passed }) => ({
      set,
      faces,
      passed,
      share: percentText(passed / faces),
      'people or pictures': sources,
      'of them with a face that passed': sources_passed,
    })),
  );
}
