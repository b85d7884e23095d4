import { type Command, InvalidArgumentError, Option } from 'commander';
import { addHelp, Calibration, columns } from 'facematch/for-lab';
import type { BrokenPromise, CalibrationCheck } from '../calibrate.ts';
import type { SetFolder } from '../found-faces.ts';
import type { Tally } from '../linear-score.ts';
import { countText, percentText, rateText, scoreText, timesText } from '../number-text.ts';
import { preprocessingLines } from '../packs/preprocessing-trial.ts';
import { parseGroupings } from '../people.ts';
import type { CalibrateOptions, calibratePack, ModeFit } from './calibrate-pack.ts';

export function registerCalibrate(program: Command): void {
  const command = program
    .command('calibrate')
    .description("fit a pack's cohort, human check and false match rates to images of labelled people")
    .argument(
      '[set...]',
      'NAME=FOLDER, with a folder of images per person, or one image per person, or a list people.tsv (columns image, optionally person, any labels)',
      parseSetFolder,
    )
    .option('--pack <name>', 'name or path of the pack (default: FACEMATCH_PACK)')
    .option(
      '--set <name>',
      'download a published set of photos (lfw) and use it, or with people of your own: lfw,FOLDER; implies --check and --write',
    )
    .option(
      '--cohort-only <name=dir...>',
      'more people for the cohort and the human check, not for the table',
      parseSetFolder,
    )
    .option(
      '--occluded <name=dir...>',
      'people with covered nose and mouth, also for the occlusion score; images of people of another set go under its name',
      parseSetFolder,
    )
    .option('--without-people <dir...>', 'folders of images without people, for the human check')
    .addOption(groupsOption())
    .addOption(samePersonOption())
    .option(
      '--keep-calibration',
      'keep cohort, checks and table of a calibrated pack; write only the floor and the multi-photo calibration',
    )
    .option('--write', 'write the result into the pack; without it only the table is shown')
    .option('--check', 'cross-validate over people: stated and measured false match rates of each group')
    .option('--force', 'with --check and --write, write even a table that the check contradicts')
    .option('--json', 'print what was fitted as JSON')
    .action(async (given: SetFolder[] | undefined, { json, set, ...options }: CommandOptions) => {
      if (given === undefined && set === undefined) command.error('error: give NAME=FOLDER, or --set lfw');
      const { calibratePack } = await import('./calibrate-pack.ts');
      const { openSets } = await import('../published-sets.ts');
      const published = set === undefined ? [] : await openSets(set);
      const implied = set === undefined ? {} : { check: true, write: true };
      const fit = await calibratePack([...published, ...(given ?? [])], { ...options, ...implied });
      printFit(fit, json);
      printWritten(fit, options.write || set !== undefined);
    });
  addHelp(command, {
    notes: `The table is fitted to the group with the most false matches: a set, or all who share a label of people.tsv, or several with --groups.
With --check, --write rejects a table whose stated rate lies below the 95 % interval of a group's measured rate by more than one point
of confidence_percent (1.26 times), and says how many more people it needs.`,
    examples: [
      'facematch calibrate lfw=lfw/images ages=ages/images --without-people animals --check',
      "facematch calibrate staff=staff/photos --groups 'origin*sex,age' --check",
      'facematch calibrate others=photos --check  # one image a person is enough',
      'facematch calibrate --pack ./my-pack staff=staff/photos --write',
      'facematch calibrate --pack ./my-pack --set lfw  # photos of 5,749 people, 181 MB, from their publisher',
    ],
  });
}

interface CommandOptions extends CalibrateOptions {
  json?: true;
  set?: string;
}

export function printFit(fit: Awaited<ReturnType<typeof calibratePack>>, json: true | undefined): void {
  console.log(json ? JSON.stringify(fit, null, 2) : describeFit(fit).join('\n'));
}

/** Reports whether it was written. Throws an Error if it should have been written and was not. */
export function printWritten(fit: Awaited<ReturnType<typeof calibratePack>>, write: boolean): void {
  if (fit.written) console.error(`Written into the pack ${fit.pack}`);
  else if (write) {
    throw new Error(
      'Nothing was written, because the check contradicts the table. facematch calibrate --force writes it nevertheless.',
    );
  }
}

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

export function samePersonOption(): Option {
  const text = 'for uncertain labels: leave out pairs of two people with a cosine above this';
  const isCosine = (value: number) => value > 0 && value <= 1;
  return new Option('--same-person-above <cosine>', text).argParser(
    numberParser(isCosine, 'Expected a cosine above 0, and at most 1.'),
  );
}

export const numberParser = (isValid: (value: number) => boolean, expected: string) => (text: string) => {
  if (isValid(Number(text))) return Number(text);
  throw new InvalidArgumentError(expected);
};

export function parseSetFolder(text: string, before: SetFolder[] | undefined): SetFolder[] {
  const match = /^([\w-]+)=(.+)$/.exec(text);
  if (!match) throw new InvalidArgumentError('Expected NAME=FOLDER.');
  return [...(before ?? []), { name: match[1]!, folder: match[2]! }];
}

function describeFit(fit: Awaited<ReturnType<typeof calibratePack>>): string[] {
  const { centres, modes, human, occlusion, known_for, preprocessing } = fit;
  return [
    ...known_for.map(
      (about) =>
        `The rates are known for ${about}. For other people and other photos they are a guess: measure your own with facematch eval --people, or add them.`,
    ),
    ...(preprocessing ? preprocessingLines(preprocessing) : []),
    `${centres} centres`,
    ...modes.flatMap(describeMode),
    ...describeTally('The human check', human),
    ...describeTally('Faces taken for covered', occlusion),
  ];
}

/** Returns a table below its title; nothing without rows. */
function tableOf(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return rows.length === 0 ? [] : [title, ...columns(head, rows)];
}

function describeMode(fit: ModeFit): string[] {
  const { mode, points, floor, taken_for_one_person = [], too_alike, check } = fit;
  const percent = Math.round(new Calibration(points).confidencePercent(floor));
  return [
    ...tableOf(
      `${mode}:`,
      ['similarity', 'false match rate'],
      points.map(([similarity, rate]) => [similarity.toFixed(5), rateText(rate)]),
    ),
    ...describePhotos(fit),
    `Floor ${rateText(floor)}, ${percent} percent: these people show no lower rate, so results above it are "extrapolated".`,
    ...tableOf(
      'Pairs of two people that were taken for one person, and left out:',
      ['group', 'pairs'],
      taken_for_one_person.map(({ group, pairs }) => [group, countText(pairs)]),
    ),
    ...tableOf(
      'Left out, because different people are not so alike: copies, or one person under two names:',
      ['group', 'image', 'image', 'cosine'],
      too_alike.map(({ group, image1, image2, cosine }) => [group, image1, image2, scoreText(cosine)]),
    ),
    ...describeCheck(`${mode}, with the cohort`, check?.with_cohort),
    ...describeCheck(`${mode}, without it`, check?.without_cohort),
    ...(check?.broken ?? []).map((row) => `${mode}: ${brokenText(row)}`),
  ];
}

function describePhotos({ mode, photos, photos_check = [] }: ModeFit): string[] {
  if (photos === undefined) return [];
  const shifts = photos.slice(1);
  const numbers = shifts.map((_shift, i) => i + 2);
  return [
    `non-mated pairs are more similar by ${shifts.join(', ')} where a side is the mean of ${numbers.join(', ')} photos`,
    ...tableOf(
      `Several photos, cross-validated over people, ${mode}, all groups together and the worst that shows it:`,
      [
        ...['photos', 'percent', 'stated', 'measured / stated', 'pairs', 'people', 'worst group'],
        'measured / stated',
      ],
      photos_check.map(({ photos: [a, b], percent, stated_fmr, fmr, pairs, people, worst }) => {
        const [times, low, high] = worst ? timesTexts(worst, stated_fmr) : [];
        return [
          ...[`${b} + ${a}`, String(percent), stated_fmr.toPrecision(2), (fmr / stated_fmr).toFixed(2)],
          ...[countText(pairs), countText(people), worst?.group ?? ''],
          worst ? `${times} [${low}, ${high}]` : '',
        ];
      }),
    ),
  ];
}

/** Returns the measured rate as a multiple of the stated one, with the bounds of its interval. */
const timesTexts = ({ fmr, interval }: Pick<CalibrationCheck, 'fmr' | 'interval'>, stated_fmr: number) =>
  [fmr, ...interval].map((rate) => timesText(rate / stated_fmr));

function describeCheck(title: string, rows: readonly CalibrationCheck[] = []): string[] {
  return tableOf(
    `Cross-validated over people, ${title}:`,
    ['group', 'percent', 'stated', 'measured', '95 % interval', 'measured / stated', 'pairs'],
    rows.map(({ group, percent, stated_fmr, fmr, interval, pairs }) => [
      ...[group, String(percent), stated_fmr.toPrecision(2), pairs === 0 ? '–' : fmr.toPrecision(2)],
      interval.map((rate) => rate.toPrecision(2)).join(' – '),
      ...[pairs === 0 ? '–' : (fmr / stated_fmr).toFixed(2), countText(pairs)],
    ]),
  );
}

function brokenText(row: BrokenPromise): string {
  const { group, percent, stated_fmr, people, more_people } = row;
  const [times, low, high] = timesTexts(row, stated_fmr);
  return `the check contradicts the table: non-mated pairs of ${group} reach ${percent} percent ${times} times as often as the stated ${rateText(stated_fmr)} (95 %: ${low} to ${high} times). It takes about ${countText(more_people)} more people than its ${countText(people)}.`;
}

function describeTally(title: string, rows: readonly Tally[] = []): string[] {
  return tableOf(
    `${title}, cross-validated over people and images, both modes:`,
    ['set', 'faces', 'passed', 'share', 'people or images', 'of them with a face that passed'],
    rows.map(({ set, faces, passed, sources, sources_passed }) => [
      ...[set, countText(faces), countText(passed), percentText(passed / faces)],
      ...[countText(sources), countText(sources_passed)],
    ]),
  );
}
