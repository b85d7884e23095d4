import { type Command, InvalidArgumentError } from 'commander';
import { addHelp } from './help-text.ts';

interface SetArgument {
  name: string;
  folder: string;
  weight: number;
}

interface Options {
  write?: boolean;
  check?: boolean;
  json?: boolean;
}

export function registerCalibrate(program: Command): void {
  const command = program
    .command('calibrate')
    .description("fit a pack's cohort and false-match rates to pictures of labelled people")
    .argument(
      '<set...>',
      'NAME=FOLDER[:WEIGHT]; in the folder, a folder of pictures for each person',
      parseSet,
    )
    .option('--write', 'write the result into the pack; without it only the table is shown')
    .option(
      '--check',
      'also cross-validate over people: promised and observed rates, with and without the cohort',
    )
    .option('--json', 'print what was fitted as JSON')
    .action(async (sets: SetArgument[], options: Options) => {
      const { calibratePack } = await import('./calibrate-pack.ts');
      const fit = await calibratePack(sets, { write: options.write ?? false, check: options.check ?? false });
      if (options.json) console.log(JSON.stringify(fit, null, 2));
      else (await import('./calibrate-text.ts')).printFit(fit);
      if (options.write) console.error(`Written into the pack ${fit.pack}`);
    });
  addHelp(command, {
    notes: 'A set counts by its weight, however many pictures it has.',
    examples: [
      'facematch calibrate lfw=lfw/images:2 rmfd=rmfd/images:1 --check',
      'facematch calibrate staff=staff/photos --write',
    ],
  });
}

function parseSet(text: string, before: SetArgument[] | undefined): SetArgument[] {
  const match = /^([\w-]+)=(.+?)(?::(\d+(?:\.\d+)?))?$/.exec(text);
  const weight = Number(match?.[3] ?? 1);
  if (!match || !(weight > 0)) throw new InvalidArgumentError('Expected NAME=FOLDER or NAME=FOLDER:WEIGHT.');
  return [...(before ?? []), { name: match[1]!, folder: match[2]!, weight }];
}
