import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import {
  addHelp,
  type Calibration,
  calibrationOf,
  columns,
  liveReasons,
  loadPack,
  matchFlag,
  packDirectory,
  printable,
  readCalibratedManifest,
  readConfig,
  type Step,
  steps as stepNames,
  verifyPack,
} from 'facematch/for-lab';
import { embedImages } from '../embed-images.ts';
import type { EmbeddedImage } from '../embed-worker.ts';
import {
  assembled,
  attacksOn,
  doubtfulPhotos,
  type Frame,
  frameOf,
  judge,
  type KeyPhotos,
  keyPhotos,
  SeededRandom,
  type Sequence,
} from '../liveness-sequences.ts';
import { type Interval, PersonRate } from '../metrics.ts';
import { intervalText, percentText } from '../number-text.ts';
import { imagesBelow } from '../people.ts';
import { pathOf, readTable } from '../table.ts';
import { parseSetFolder } from './calibrate.ts';
import { type EvaluateOptions, failIfUnread } from './evaluate.ts';

/**
 * Measures how well the challenge of match/upload/live distinguishes prints from live heads, by the error rates of
 * ISO/IEC 30107-3.
 */

type Options = Pick<EvaluateOptions, 'mode' | 'json'> & {
  people?: ReturnType<typeof parseSetFolder>;
  seed: string;
};

export function registerEvalLiveness(program: Command): void {
  const evaluate = program
    .command('eval-liveness')
    .description('measure the liveness challenge on sequences of frames')
    .argument(
      '[set...]',
      'folder with sequences.tsv: tab-separated columns folder, kind (live or print), person, and optionally motion and steps',
    )
    .option(
      '--people <name=dir...>',
      'photos with one folder per person, to make live and attack sequences from',
      parseSetFolder,
    )
    .addOption(matchFlag('accuracy_mode'))
    .option('--seed <number>', 'seed of the random choices', '1')
    .option('--json', 'print the figures as JSON')
    .action(evaluateLiveness);
  addHelp(evaluate, {
    notes: `The command tries each attack against all twelve challenges of two steps. APCER is the share of attacks that pass any challenge, for each
kind of motion. BPCER is the share of live sequences that fail their challenge (column steps, such as left,up). 95 % intervals are
clustered by person. Sequences made from photos have interpolated poses, so they do not test the continuity of a real movement. The
line "certain labels only" omits a sequence if one of its photos disagrees with at least half of the person's other frontal photos.`,
    examples: ['facematch eval-liveness presentations --people staff=staff/photos'],
  });
}

/** All pairs of two different steps, including pairs on one axis, which the server never draws. */
const challenges: readonly (readonly Step[])[] = stepNames.flatMap((first) =>
  stepNames.filter((second) => second !== first).map((second) => [first, second]),
);
/** The pairs of steps that the server draws. */
const drawn = challenges.filter(
  (steps) => steps.filter((step) => step === 'left' || step === 'right').length === 1,
);

async function evaluateLiveness(sets: string[], options: Options, command: Command): Promise<void> {
  const { mode, people = [], json } = options;
  if (sets.length + people.length === 0)
    command.error('error: give a folder with sequences.tsv, or --people NAME=DIR');
  const { pack, workers } = readConfig();
  const packDir = packDirectory(pack);
  const manifest = readCalibratedManifest(packDir);
  await verifyPack(packDir, manifest);
  loadPack(packDir, manifest);
  const calibration = calibrationOf(manifest.calibration[mode]);
  const how = {
    packDirectory: packDir,
    mode,
    minDetScore: manifest.min_det_score,
    workers,
    refineLandmarks: true,
  } as const;
  const failures: Record<string, string> = {};
  const embed = async (title: string, names: readonly string[], folder: string) => {
    const images = await embedImages(title, names, { ...how, folder });
    for (const [name, { failure }] of images) if (failure !== undefined) failures[name] = failure;
    return images;
  };
  const sequences: Sequence[] = [];
  const faceless: string[] = [];
  for (const folder of sets) {
    const rows = readSequences(folder);
    const images = await embed(
      folder,
      rows.flatMap(({ files }) => files),
      folder,
    );
    for (const { files, ...row } of rows) {
      const frames = framesOf(files, images);
      if (frames === undefined) faceless.push(row.name);
      else sequences.push({ ...row, frames });
    }
  }
  for (const { name, folder } of people) {
    const images = await embed(name, imagesBelow(folder), folder);
    sequences.push(...sequencesFrom(images, new SeededRandom(Number(options.seed)), calibration));
  }
  const figures = figuresOf(sequences, calibration);
  const all = {
    pack: { name: manifest.name, version: manifest.version },
    mode,
    faceless,
    ...figures,
    failures,
  };
  if (json) console.log(JSON.stringify(all, null, 2));
  else console.log(describe(all));
  failIfUnread(all);
}

function readSequences(set: string): (Omit<Sequence, 'frames'> & { files: string[] })[] {
  const file = join(set, 'sequences.tsv');
  const { columns: names, rows } = readTable(file);
  const at = (name: string) => {
    const column = names.indexOf(name);
    if (column < 0) throw new Error(`${file}: expected the columns folder, kind and person`);
    return column;
  };
  const [folder, kind, person] = [at('folder'), at('kind'), at('person')];
  const [motion, asked] = ['motion', 'steps'].map((name) => names.indexOf(name));
  return rows.map(({ cells, line }) => {
    const path = pathOf(cells[folder]!);
    const steps = (cells[asked!] ?? '').split(',').filter(Boolean) as Step[];
    if (steps.some((step) => !stepNames.includes(step)))
      throw new Error(`${file}:${line}: expected steps such as left,up`);
    if (!['live', 'print'].includes(cells[kind]!))
      throw new Error(`${file}:${line}: expected the kind live or print`);
    if (!existsSync(join(set, path))) throw new Error(`${file}:${line}: the folder ${path} does not exist`);
    const files = readdirSync(join(set, path))
      .toSorted()
      .map((name) => join(path, name));
    return {
      name: path,
      person: cells[person]!,
      species: cells[kind] === 'live' ? undefined : `print, ${cells[motion!] ?? 'any'}`,
      asked: steps.length > 0 ? steps : undefined,
      files,
    };
  });
}

/**
 * Returns the first 16 frames, the maximum of a request. Returns undefined if one of them has no face,
 * because the server rejects such a request.
 */
function framesOf(files: readonly string[], images: ReadonlyMap<string, EmbeddedImage>): Frame[] | undefined {
  const faces = files.slice(0, 16).map((file) => images.get(file)!.faces);
  return faces.every(({ length }) => length > 0) ? faces.map(frameOf) : undefined;
}

/** Number of random choices of photos for each challenge and person. */
const draws = 4;

/**
 * Makes live and attack sequences from photos with one folder per person. Each other person with suitable photos
 * attacks each live sequence that passes.
 */
function sequencesFrom(
  images: ReadonlyMap<string, EmbeddedImage>,
  random: SeededRandom,
  calibration: Calibration,
): Sequence[] {
  const photos = new Map<string, Frame[]>();
  for (const [file, { faces }] of images) {
    const person = file.split('/')[0]!;
    if (faces.length > 0) photos.set(person, [...(photos.get(person) ?? []), frameOf(faces)]);
  }
  const doubtful = new Set([...photos.values()].flatMap((its) => [...doubtfulPhotos(its, calibration)]));
  const made: Sequence[] = [];
  for (const asked of Array.from({ length: draws }, () => drawn).flat()) {
    const able: KeyPhotos[] = [...photos].flatMap(
      ([person, its]) => keyPhotos(person, its, asked, random) ?? [],
    );
    for (const keys of able) {
      const { person } = keys;
      const name = `${person}: ${asked.join(', ')}`;
      const frames = assembled(keys, random);
      const isDoubtful = [keys.straight, ...keys.turned].some((photo) => doubtful.has(photo));
      made.push({ name, person, species: undefined, asked, isDoubtful, frames });
      if (!judge({ frames }, asked, calibration).live) continue;
      for (const attacker of able.filter((other) => other !== keys))
        for (const [species, attack] of Object.entries(attacksOn(frames, keys, attacker, random)))
          made.push({ name, person, species, asked, frames: attack });
    }
  }
  return made;
}

interface Rate {
  sequences: number;
  errors: number;
  rate: number;
  people: number;
  people_with_errors: number;
  /** 95 % interval, clustered by person. */
  interval: Interval;
}

function rateOf(judged: readonly { person: string; isError: boolean }[]): Rate {
  const numbers = new Map([...new Set(judged.map(({ person }) => person))].map((person, i) => [person, i]));
  const errors = new PersonRate(numbers.size);
  for (const { person, isError } of judged) errors.add(isError, numbers.get(person)!);
  const { trials, hits, rate, interval, hitsOf } = errors;
  const people_with_errors = hitsOf.filter((own) => own > 0).length;
  return { sequences: trials, errors: hits, rate, people: numbers.size, people_with_errors, interval };
}

function figuresOf(sequences: readonly Sequence[], calibration: Calibration) {
  const attacks = sequences.filter(({ species }) => species !== undefined);
  const species = [...new Set(attacks.map(({ species }) => species!))].map((name) => {
    const its = attacks.filter(({ species }) => species === name);
    const asked = its.filter(({ asked }) => asked !== undefined);
    const passes = (sequence: Sequence, all: readonly (readonly Step[])[]) =>
      all.some((steps) => judge(sequence, steps, calibration).live);
    const judged = (some: readonly Sequence[], of: (sequence: Sequence) => readonly (readonly Step[])[]) =>
      rateOf(some.map((one) => ({ person: one.person, isError: passes(one, of(one)) })));
    return {
      species: name,
      apcer: judged(its, () => challenges),
      ...(asked.length > 0 && { apcer_of_its_challenge: judged(asked, ({ asked }) => [asked!]) }),
      reasons: reasonsOf(its, calibration),
    };
  });
  const live = sequences.filter(({ species }) => species === undefined);
  const moving = live.filter(({ asked }) => asked !== undefined);
  const still = live.filter(({ asked }) => asked === undefined);
  const fails = (sequence: Sequence) => !judge(sequence, sequence.asked!, calibration).live;
  const withoutIdentity = (sequence: Sequence) =>
    judge(sequence, sequence.asked!, calibration).reasons.some((reason) => reason !== 'identity_changed');
  const bpcerOf = (some: readonly Sequence[], isError: (sequence: Sequence) => boolean) =>
    rateOf(some.map((one) => ({ person: one.person, isError: isError(one) })));
  const certain = moving.filter(({ isDoubtful }) => !isDoubtful);
  return {
    species,
    bpcer: bpcerOf(moving, fails),
    bpcer_without_identity: bpcerOf(moving, withoutIdentity),
    // Excludes sequences with a photo that probably shows another person.
    ...(certain.length < moving.length && { bpcer_of_certain_labels: bpcerOf(certain, fails) }),
    bona_fide_reasons: reasonsOf(moving, calibration),
    still: { sequences: still.length, reasons: reasonsOf(still, calibration) },
  };
}

/** Counts the failed sequences by reason. A sequence without a challenge of its own is judged by a fixed one. */
function reasonsOf(sequences: readonly Sequence[], calibration: Calibration): Record<string, number> {
  const all = sequences.flatMap((one) => judge(one, one.asked ?? challenges[1]!, calibration).reasons);
  const counts = liveReasons.map(
    (reason) => [reason, all.filter((other) => other === reason).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

type All = ReturnType<typeof figuresOf> & {
  pack: { name: string; version: string };
  mode: string;
  faceless: string[];
};

const rateText = ({ rate, interval, errors, sequences, people }: Rate) =>
  `${percentText(rate)} ${intervalText(interval)}: ${errors} of ${sequences} sequences of ${people} people`;

const reasonsText = (reasons: Record<string, number>) =>
  Object.entries(reasons)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(', ');

function describe({
  pack,
  mode,
  species,
  bpcer,
  bpcer_without_identity,
  bpcer_of_certain_labels: certain,
  bona_fide_reasons,
  still,
  faceless,
}: All): string {
  const rows: string[][] = species.flatMap(({ species, apcer, apcer_of_its_challenge: own, reasons }) => [
    ['APCER', species, `${rateText(apcer)} pass any of 12 challenges`],
    ...(own ? [['', '', `${rateText(own)} pass the challenge that they were made for`]] : []),
    ...(Object.keys(reasons).length > 0 ? [['', '', `reasons: ${reasonsText(reasons)}`]] : []),
  ]);
  const bona = [
    ['BPCER', 'asked to move', bpcer.sequences > 0 ? rateText(bpcer) : 'no sequences with steps were given'],
    ...(bpcer.sequences > 0
      ? [
          ['', 'without identity_changed', rateText(bpcer_without_identity)],
          ...(certain ? [['', 'certain labels only', rateText(certain)]] : []),
          ['', '', `reasons: ${reasonsText(bona_fide_reasons) || 'none'}`],
        ]
      : []),
    ...(still.sequences > 0
      ? [['', 'not asked to move', `${still.sequences} sequences, reasons: ${reasonsText(still.reasons)}`]]
      : []),
  ];
  return [
    `pack ${pack.name} ${pack.version}, mode ${mode}; 95 % intervals by person`,
    ...columns(['rate', 'of', ''], [...rows, ...bona]),
    ...(faceless.length > 0
      ? [`rejected because a frame has no face: ${faceless.map(printable).join(', ')}`]
      : []),
  ].join('\n');
}
