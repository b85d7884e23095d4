import { basename, extname } from 'node:path';
import type { Command } from 'commander';
import { addHelp, matchFlag } from 'facematch/for-lab';
import { groupsOption, numberParser, parseSetFolder, samePersonOption } from './calibrate.ts';
import type { EvaluateOptions } from './evaluate.ts';

interface EvalOptions extends EvaluateOptions {
  images?: string;
  attacks?: string;
}

type SetArgument = ReturnType<typeof parseSet>;

export function registerEval(program: Command): void {
  const evaluate = program
    .command('eval')
    .description('measure accuracy on lists of labelled pairs, and error rates by group of labelled people')
    .argument(
      '[set...]',
      'PAIRS.tsv, or NAME=PAIRS.tsv:DIR; tab-separated columns image1, image2, same (1 or 0) and optionally fold',
      (text, before: SetArgument[] | undefined) => [...(before ?? []), parseSet(text)],
    )
    .option('--images <dir>', 'folder of the images, for sets given without DIR')
    .addOption(matchFlag('accuracy_mode'))
    .option(
      '--people <name=dir...>',
      'measure error rates by group of labelled people; NAME=DIR as for facematch calibrate',
      parseSetFolder,
    )
    .option(
      '--photos <number>',
      'with --people: also measure up to this number of photos per person on each side (2 to 4)',
      numberParser((photos) => [2, 3, 4].includes(photos), 'Expected 2, 3 or 4.'),
    )
    .option(
      '--searched <people>',
      'with --photos: correct the percents for a search among this number of people',
      numberParser((people) => Number.isSafeInteger(people) && people > 0, 'Expected 1 or more people.'),
    )
    .addOption(groupsOption())
    .addOption(samePersonOption())
    .option(
      '--attacks <dir>',
      'measure the live score: attacks in DIR/attack/TYPE/INSTRUMENT, live people in DIR/live/PERSON',
    )
    .option(
      '--held-out-cohort',
      'make the cohort from the measured people, excluding those of the compared pair',
    )
    .option(
      '--report <dir>',
      'write a report with curves, thresholds and the worst pairs into this folder; it contains copies of photos',
    )
    .option('--json', 'print the figures as JSON')
    .action(runEval);
  addHelp(evaluate, {
    notes: `Lists may be UTF-8, UTF-16 or Latin-1, and paths may have backslashes. If images cannot be read, the command excludes their pairs, names
at most ten of the images, and exits with code 1.
Figures are biased if the pack's cohort contains the measured people; --held-out-cohort avoids that. With this
option, the first folder of an image's path is the name of the person.
docs/measure.md explains people.tsv and the rates, and docs/presentation-attacks.md those of --attacks.`,
    examples: [
      'facematch eval lfw=lfw/pairs.tsv:lfw/images staff=staff.tsv:photos --report report',
      "facematch eval --people staff=staff/photos --groups 'origin*sex,age' --report report",
      'facematch eval --people staff=staff/photos --photos 3 --searched 1000',
      'FACEMATCH_PACK=./live facematch eval --attacks presentations',
    ],
  });
}

async function runEval(args: SetArgument[], options: EvalOptions, command: Command): Promise<void> {
  if (options.attacks !== undefined) {
    const others = Object.keys(options).filter((name) => !['attacks', 'mode', 'json'].includes(name));
    if (args.length + others.length > 0) command.error('error: --attacks allows only --mode and --json');
    const { evaluateAttacks } = await import('./eval-attacks.ts');
    return evaluateAttacks(options.attacks, options);
  }
  rejectConflictingOptions(args, options, command);
  const sets = args.map(({ name, pairsFile, folder = options.images }) => {
    if (folder !== undefined) return { name, pairsFile, folder };
    return command.error(
      `error: the folder of the images of ${name} is missing; add --images DIR, or give ${name}=${pairsFile}:DIR`,
    );
  });
  const { evaluateSets } = await import('./evaluate.ts');
  return evaluateSets(sets, options);
}

function rejectConflictingOptions(args: SetArgument[], options: EvalOptions, command: Command): void {
  const { people = [], groups, samePersonAbove, photos, searched } = options;
  if (args.length + people.length === 0)
    command.error('error: give a list of pairs, or --people NAME=DIR, or --attacks DIR');
  if (people.length === 0 && (groups ?? samePersonAbove ?? photos) !== undefined)
    command.error('error: --groups, --photos and --same-person-above require --people NAME=DIR');
  if (searched !== undefined && photos === undefined) command.error('error: --searched requires --photos');
  for (const [kind, named] of [
    ['NAME=PAIRS.tsv:DIR', args],
    ['--people NAME=DIR', people],
  ] as const) {
    const names = named.map(({ name }) => name);
    const duplicate = names.find((name, index) => names.indexOf(name) !== index);
    if (duplicate !== undefined)
      command.error(`error: two sets have the name ${duplicate}; choose names with ${kind}`);
  }
}

/** Parses NAME=PAIRS.tsv:DIR, or the path of a list. A path that looks like NAME=… must begin with ./ . */
function parseSet(text: string) {
  const [, name = basename(text, extname(text)), pairsFile = text, folder] =
    /^([\w-]+)=([^:]+)(?::(.+))?$/.exec(text) ?? [];
  return { name, pairsFile, folder };
}
