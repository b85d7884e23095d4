import { type Command, InvalidArgumentError } from 'commander';
import type { CalibrationCheck } from '../eval/calibrate.ts';
import type { HumanTally } from '../eval/human.ts';
import { percentText } from '../eval/number-text.ts';
import type { ModeFit, PackFit, SetFolder } from './calibrate-pack.ts';
import { addHelp } from './help.ts';

interface Options {
  withoutPeople?: string[];
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
      'NAME=FOLDER; in the folder, a folder of pictures for each person, or with a people.tsv (columns image and any labels) pictures of one person each',
      parseSetFolder,
    )
    .option(
      '--without-people <dir...>',
      'folders of images without people: every face found in them is false',
    )
    .option('--write', 'write the result into the pack; without it only the table is shown')
    .option(
      '--check',
      'also cross-validate over people: promised and observed rates of each group, with and without the cohort',
    )
    .option('--json', 'print what was fitted as JSON')
    .action(async (sets: SetFolder[], options: Options) => {
      const { calibratePack } = await import('./calibrate-pack.ts');
      const fit = await calibratePack(sets, {
        withoutPeople: options.withoutPeople ?? [],
        write: options.write ?? false,
        check: options.check ?? false,
      });
      if (options.json) console.log(JSON.stringify(fit, null, 2));
      else printFit(fit);
      if (options.write) console.error(`Written into the pack ${fit.pack}`);
    });
  addHelp(command, {
    notes:
      'The table is fitted to the group with the most false matches: a set, or all who share a label of its people.tsv.',
    examples: [
      'facematch calibrate lfw=lfw/images ages=ages/images --without-people animals --check',
      'facematch calibrate staff=staff/photos --write',
    ],
  });
}

export function parseSetFolder(text: string, before: SetFolder[] | undefined): SetFolder[] {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError('Expected NAME=FOLDER.');
  return [...(before ?? []), { name: match[1]!, folder: match[2]! }];
}

/** Prints what was fitted as tables. */
function printFit({ centres, modes, human }: PackFit): void {
  console.log(`${centres} centres`);
  for (const fit of modes) printMode(fit);
  if (human) printHuman(human);
}

function printMode({ mode, points, check }: ModeFit): void {
  console.log(`${mode}:`);
  console.table(points.map(([similarity, false_match_rate]) => ({ similarity, false_match_rate })));
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

function printHuman(rows: readonly HumanTally[]): void {
  console.log('The human check, cross-validated over people and pictures, both modes:');
  console.table(
    rows.map(({ set, faces, passed, sources, sources_passed }) => ({
      set,
      faces,
      passed,
      lost: percentText(1 - passed / faces),
      'people or pictures': sources,
      'of them with a face that passed': sources_passed,
    })),
  );
}
