import { type Command, InvalidArgumentError, Option } from 'commander';
import { addHelp, Calibration, columns } from 'facematch/for-lab';
import type { CalibrationCheck, ContradictedRate } from '../calibrate.ts';
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
      'NAME=FOLDER; FOLDER has one folder per person, one image per person, or a list people.tsv (columns: image, optional person, any labels)',
      parseSetFolder,
    )
    .option('--pack <name>', 'name or path of the pack (default: FACEMATCH_PACK)')
    .option(
      '--set <name>',
      'use the published photos lfw, downloaded if missing; add your own folders as lfw,FOLDER; implies --check and --write',
    )
    .option(
      '--cohort-only <name=dir...>',
      'more people for the cohort and the human check, but not for the table',
      parseSetFolder,
    )
    .option(
      '--occluded <name=dir...>',
      'people whose nose and mouth are covered; also fits the occlusion score; if another set has the same people, NAME must be the name of that set',
      parseSetFolder,
    )
    .option('--without-people <dir...>', 'folders of images without people, for the human check')
    .addOption(groupsOption())
    .addOption(samePersonOption())
    .option(
      '--keep-calibration',
      'keep cohort, checks and table of a calibrated pack; write only the floor and the multi-photo calibration',
    )
    .option('--write', 'write the result into the pack (default: print it only)')
    .option('--check', 'cross-validate over people: stated and measured false match rates of each group')
    .option('--force', 'with --check and --write, write the table even if the check contradicts it')
    .option('--json', 'print the result as JSON')
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
    notes: `The table is fitted to the group with the highest false match rate. A group is a set, or the people who share a label in people.tsv, or
several labels with --groups.
With --check, --write rejects a table that states too low a rate for a group: even 1.26 times the stated rate (one
point of confidence_percent) is below the 95 % interval of the measured rate. The command then prints how many more people are needed.`,
    examples: [
      'facematch calibrate lfw=lfw/images ages=ages/images --without-people animals --check',
      "facematch calibrate --pack ./my-pack staff=staff/photos --groups 'origin*sex,age' --check --write",
      'facematch calibrate others=photos --check  # one image per person is enough',
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

/** Reports a written pack. Throws an Error if `write` is true and the pack was not written. */
export function printWritten(fit: Awaited<ReturnType<typeof calibratePack>>, write: boolean): void {
  if (fit.written) console.error(`Wrote the calibration into the pack ${fit.pack}`);
  else if (write) {
    throw new Error(
      'Nothing was written, because the check contradicts the table. To write it anyway, run facematch calibrate with --write and --force.',
    );
  }
}

export function groupsOption(): Option {
  const text =
    'columns of people.tsv to group by; * crosses columns, such as origin*sex,age (default: each column)';
  return new Option('--groups <columns>', text).argParser((columns) => {
    try {
      return parseGroupings(columns);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  });
}

export function samePersonOption(): Option {
  const text = 'omit non-mated pairs with a cosine above this, for uncertain labels';
  const isCosine = (value: number) => value > 0 && value <= 1;
  return new Option('--same-person-above <cosine>', text).argParser(
    numberParser(isCosine, 'Expected a cosine above 0 and at most 1.'),
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
        `The rates were measured on ${about}. For other people and photos they are an estimate: measure yours with facematch eval --people, or calibrate on them too.`,
    ),
    ...(preprocessing ? preprocessingLines(preprocessing) : []),
    `${centres} cohort centres`,
    ...modes.flatMap(describeMode),
    ...describeTally('The human check', human),
    ...describeTally('Faces classified as covered', occlusion),
  ];
}

/** Returns a title and a table; empty if there are no rows. */
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
    `Floor ${rateText(floor)}, ${percent} percent: these people are too few to measure a lower rate, so results above this percent are "extrapolated".`,
    ...tableOf(
      'Non-mated pairs omitted because their cosine is above --same-person-above:',
      ['group', 'pairs'],
      taken_for_one_person.map(({ group, pairs }) => [group, countText(pairs)]),
    ),
    ...tableOf(
      'Non-mated pairs omitted because they are too similar (copies, or one person under two names):',
      ['group', 'image', 'image', 'cosine'],
      too_alike.map(({ group, image1, image2, cosine }) => [group, image1, image2, scoreText(cosine)]),
    ),
    ...describeCheck(`${mode}, with the cohort`, check?.with_cohort),
    ...describeCheck(`${mode}, without a cohort`, check?.without_cohort),
    ...(check?.broken ?? []).map((row) => `${mode}: ${brokenText(row)}`),
  ];
}

function describePhotos({ mode, photos, photos_check = [] }: ModeFit): string[] {
  if (photos === undefined) return [];
  const shifts = photos.slice(1);
  const numbers = shifts.map((_shift, i) => i + 2);
  return [
    `multi-photo shifts: the similarity of non-mated pairs rises by ${shifts.join(', ')} if a side is the mean of ${numbers.join(', ')} photos`,
    ...tableOf(
      `Multi-photo calibration (${mode}), cross-validated over people, for all groups together and for the worst group:`,
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

function brokenText(row: ContradictedRate): string {
  const { group, percent, stated_fmr, people, more_people } = row;
  const [times, low, high] = timesTexts(row, stated_fmr);
  return `the check contradicts the table: the false match rate of ${group} at ${percent} percent is ${times} times the stated ${rateText(stated_fmr)} (95 % interval: ${low} to ${high} times). Add about ${countText(more_people)} people to the ${countText(people)} of this group.`;
}

function describeTally(title: string, rows: readonly Tally[] = []): string[] {
  return tableOf(
    `${title}, cross-validated over people and images, both modes:`,
    ['set', 'faces', 'passed', 'share', 'people or images', 'people or images with a face that passed'],
    rows.map(({ set, faces, passed, sources, sources_passed }) => [
      ...[set, countText(faces), countText(passed), percentText(passed / faces)],
      ...[countText(sources), countText(sources_passed)],
    ]),
  );
}
