import { type Command, InvalidArgumentError } from 'commander';
import type { SetFolder } from './calibrate-pack.ts';
import { addHelp } from './help-text.ts';

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
      'folders of pictures in which nobody is: what is found in them is no face',
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
      else (await import('./calibrate-text.ts')).printFit(fit);
      if (options.write) console.error(`Written into the pack ${fit.pack}`);
    });
  addHelp(command, {
    notes:
      'The table is made by the group that is served worst: a set, or all who share a label of its people.tsv.',
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
