import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CalibrationPoint } from '../calibration.ts';
import { readConfig } from '../config.ts';
import type { AccuracyMode } from '../engine/addon.ts';
import { type PackManifest, packDirectory, readDraft, sha256, verifyPack } from '../engine/pack.ts';
import { fitTable, type Honesty, honesty, type PeopleSet } from '../eval/calibrate.ts';
import { highest, quantise } from '../eval/cohort.ts';
import { CohortFits, parts } from '../eval/cohort-fits.ts';
import { embedPictures } from '../eval/embed-pictures.ts';
import { progressBar } from './progress.ts';

interface SetFolder {
  name: string;
  folder: string;
  weight: number;
}

const modes: readonly AccuracyMode[] = ['fast', 'balance'];
/** The cohort serves both modes; it is made with the better embeddings. */
const cohortMode: AccuracyMode = 'balance';
const cohortFile = 'cohort.i8';
const checkedPercents = [40, 50, 60, 70];

/** What was fitted for one mode: what --json prints. */
export interface ModeFit {
  mode: AccuracyMode;
  fitted_on: string;
  points: CalibrationPoint[];
  /** What was seen of people in neither cohort nor fit, when it was asked for. */
  check?: { with_cohort: Honesty[]; without_cohort: Honesty[] };
}

export interface PackFit {
  pack: string;
  centres: number;
  modes: ModeFit[];
}

/** Fits the cohort and a table for each mode, and writes them into the configured pack when told to. */
export async function calibratePack(
  folders: readonly SetFolder[],
  { write, check }: { write: boolean; check: boolean },
): Promise<PackFit> {
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const draft = readDraft(directory);
  // A pack of one's own has no table before its first fit.
  const calibration = draft.calibration ?? ({} as PackManifest['calibration']);
  const manifest: PackManifest = { ...draft, calibration };
  await verifyPack(directory, manifest);
  const load = async (mode: AccuracyMode) => {
    const loaded: PeopleSet[] = [];
    for (const folder of folders) {
      const { min_det_score: minDetScore } = manifest;
      loaded.push(await loadSet(folder, { directory, mode, minDetScore, workers: config.workers }));
    }
    return loaded;
  };
  const sets = { fast: await load('fast'), balance: await load('balance') };
  const { centres, fits } = await fitModes(sets, { write, check });
  if (write) {
    for (const { mode, fitted_on, points } of fits) {
      manifest.calibration[mode] = {
        fitted_on,
        points: points.map(([similarity, rate]) => [similarity, rate]),
        floor: manifest.calibration[mode]?.floor ?? 1e-5,
      };
    }
    writePack(directory, manifest, centres);
  }
  return { pack: manifest.name, centres: centres.length, modes: fits };
}

/** Cohorts: of everybody, without each part, and for a check without each two parts. */
const cohorts = { fit: 1 + parts, check: (parts * (parts - 1)) / 2 };
const checkedParts = 2 * modes.length * parts;

async function fitModes(
  sets: Readonly<Record<AccuracyMode, readonly PeopleSet[]>>,
  { write, check }: { write: boolean; check: boolean },
): Promise<{ centres: Float32Array[]; fits: ModeFit[] }> {
  const steps = cohorts.fit + modes.length + (check ? cohorts.check + checkedParts : 0);
  const bar = await progressBar('fits', steps);
  const advance = () => bar.advance();
  try {
    const cohort = new CohortFits(
      sets[cohortMode].flatMap(({ pictures }) => pictures),
      advance,
    );
    const centres = cohort.without();
    if (write && centres.length < highest) {
      throw new Error(
        `There are too few people: they make a cohort of ${centres.length} centres, and a face is compared with its ` +
          `${highest} nearest. Nothing was written; bring pictures of some hundred people, at least five for each centre.`,
      );
    }
    const fits = modes.map((mode): ModeFit => {
      const fit = { mode, fitted_on: describeSets(sets[mode]), points: fitTable(sets[mode], cohort) };
      advance();
      if (!check) return fit;
      const [with_cohort, without_cohort] = [cohort, undefined].map((by) =>
        honesty(sets[mode], by, checkedPercents, advance),
      ) as [Honesty[], Honesty[]];
      return { ...fit, check: { with_cohort, without_cohort } };
    });
    return { centres, fits };
  } finally {
    bar.stop();
  }
}

function writePack(directory: string, manifest: PackManifest, centres: readonly Float32Array[]): void {
  const bytes = quantise(centres);
  const licence = manifest.cohort?.licence ?? 'Apache-2.0';
  manifest.cohort = {
    file: cohortFile,
    sha256: sha256(new Uint8Array(bytes.buffer)),
    licence,
    centres: centres.length,
    highest,
    weights: manifest.cohort?.weights ?? { highest: 1, spread: 0 },
  };
  replaceFile(join(directory, cohortFile), bytes);
  replaceFile(join(directory, 'manifest.json'), manifestText(manifest));
}

async function loadSet(
  { name, folder, weight }: SetFolder,
  options: { directory: string; mode: AccuracyMode; minDetScore: number; workers: number },
): Promise<PeopleSet> {
  const names = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((file) => /\.(jpe?g|png|webp)$/i.test(file) && file.includes('/'))
    .sort();
  if (names.length === 0) throw new Error(`${folder} has no folders of pictures`);
  const bar = await progressBar(`${name} ${options.mode}`, names.length);
  try {
    const pictures = await embedPictures(names, {
      packDirectory: options.directory,
      folder,
      mode: options.mode,
      minDetScore: options.minDetScore,
      workers: options.workers,
      onPicture: () => bar.advance(),
    });
    return {
      name,
      weight,
      pictures: names.flatMap((file) => {
        const embedding = pictures.get(file)?.embedding;
        return embedding ? [{ person: file.split('/')[0]!, embedding }] : [];
      }),
    };
  } finally {
    bar.stop();
  }
}

function describeSets(sets: readonly PeopleSet[]): string {
  const total = sets.reduce((sum, { weight }) => sum + weight, 0);
  return sets
    .map(({ name, weight, pictures }) => {
      const people = new Set(pictures.map(({ person }) => person)).size;
      return `${name}: all pairs of different people among ${pictures.length} pictures of ${people} people, counting ${weight}/${total}`;
    })
    .join('; ');
}

/** As JSON.stringify, but lists of numbers or of names take one line each. */
function manifestText(manifest: object): string {
  const text = JSON.stringify(manifest, null, 2);
  const item = /-?[\d.e-]+|"\w+"/.source;
  const list = new RegExp(`\\[\\s+(?:${item})(?:,\\s+(?:${item}))*\\s+\\]`, 'g');
  const oneLine = (found: string) => found.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']');
  return `${text.replace(list, oneLine)}\n`;
}

function replaceFile(file: string, content: string | Int8Array): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}
