import { randomUUID } from 'node:crypto';
import { readConfig } from '../config/config.ts';
import { compare } from '../endpoints/comparison.ts';
import type { Target } from '../endpoints/endpoint.ts';
import { imageBody } from '../endpoints/face.ts';
import { faultsOf, problemOf } from '../endpoints/faults.ts';
import type { Match } from '../endpoints/match.ts';
import { matchAnswer } from '../endpoints/match.ts';
import type { Many } from '../endpoints/match-many.ts';
import { manyAnswer } from '../endpoints/match-many.ts';
import { matchPerson, mostPhotos, type Person } from '../endpoints/match-person.ts';
import { analysisOptions, completeOptions, type MatchOptions } from '../endpoints/options.ts';
import { incomplete } from '../endpoints/warnings.ts';
import type { Analysis } from '../engine/addon.ts';
import { tellText } from '../engine/file-kind.ts';
import { loadPack } from '../engine/load-addon.ts';
import { packDirectory, readManifest } from '../engine/manifest.ts';
import { verifyPack } from '../engine/pack-files.ts';
import type { Outcome } from '../engine/pool.ts';
import { Problem } from '../errors.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import { comparePersons, type PersonsJob } from '../scoring/persons.ts';
import { readImage } from './files.ts';

// match, detect and embed for files, in this process, without a server.

/** Compares two files on this thread; the answer is the server's own. Throws an Error with a message for people. */
export async function matchFiles(
  files: readonly [string, string],
  given: Partial<MatchOptions>,
): Promise<Match> {
  const start = performance.now();
  const { analyse, calibration, ...known } = await openMatch(given);
  const [first, second] = await Promise.all(files.map(readImage));
  const result = compare([analyse(first!.bytes), analyse(second!.bytes)], known.options);
  if (Array.isArray(result)) throw problemOf(result);
  return matchAnswer({ ...known, total_ms: performance.now() - start }, result, calibration);
}

/** The same for one file and several others. A fault of one of these is reported in its result. */
export async function matchManyFiles(
  file: string,
  others: readonly string[],
  given: Partial<MatchOptions>,
): Promise<Many> {
  const start = performance.now();
  const { analyse, ...known } = await openMatch(given);
  const reference = analyse((await readImage(file)).bytes);
  const faults = faultsOf(file, reference, -1);
  if (faults.length > 0) throw problemOf(faults, file);
  const outcomes: [Analysis, ...Outcome[]] = [reference as Analysis];
  const targets: Target[] = [];
  for (const name of others) {
    let image: Target['image'];
    try {
      image = outcomes.push(analyse((await readImage(name)).bytes)) - 1;
    } catch (error) {
      image = new Problem('missing_field', { detail: (error as Error).message });
    }
    targets.push({ filename: name, name, image });
  }
  return manyAnswer({ ...known, targets, outcomes, total_ms: performance.now() - start });
}

/** Photos of one person against photos of one person. Throws an Error with a message for people. */
export async function matchPersonFiles(
  first: readonly string[],
  second: readonly string[],
  given: Partial<MatchOptions>,
): Promise<Person> {
  const start = performance.now();
  const { analyse, cohortScores, calibration, ...known } = await openMatch(given);
  const photos = [
    ...first.map((filename, index) => ({ field: 'image1', index, filename })),
    ...second.map((filename, index) => ({ field: 'image2', index, filename })),
  ];
  for (const [field, most] of Object.entries(mostPhotos))
    if (photos.filter((photo) => photo.field === field).length > most)
      throw new Error(
        `At most ${mostPhotos.image1} photos of the one person and ${mostPhotos.image2} of the other are compared.`,
      );
  const outcomes: Outcome[] = [];
  for (const { filename } of photos) outcomes.push(analyse((await readImage(filename)).bytes));
  const question = { ...known, total_ms: performance.now() - start };
  const analysed = { question, photos, targets: [], outcomes, calibration };
  const job = matchPerson.work(analysed);
  const compared = job && comparePersons(job.input as PersonsJob, { cohortScores });
  const answered = matchPerson.answer(analysed, compared);
  if ('refusal' in answered) throw answered.refusal;
  return answered.body as Person;
}

/** The configured pack, verified. Rejects with an Error with a message for people. */
async function openPack(given: Partial<MatchOptions>) {
  const { pack, max_pixels, min_side, picture_ms } = readConfig();
  const directory = packDirectory(pack);
  const manifest = readManifest(directory);
  if (given.detect_presentation_attack && manifest.liveness === undefined) {
    throw new Error(`The pack ${manifest.name} has no liveness nets; facematch packs add takes them.`);
  }
  await verifyPack(directory, manifest);
  const addon = loadPack(directory, manifest);
  const options = completeOptions(given, manifest);
  const analysis = { ...analysisOptions(options), max_pixels, min_side, picture_ms };
  return {
    manifest,
    options,
    model: { pack: manifest.name, version: manifest.version },
    cohortScores: (embeddings: Float32Array) => addon.cohortScores(directory, embeddings),
    analyse: (image: Uint8Array) => tellText(addon.analyse(directory, image, analysis), image),
  };
}

/** What a match needs of the pack, and the parts of its answer that do not depend on the images. */
async function openMatch(given: Partial<MatchOptions>) {
  const { manifest, ...known } = await openPack(given);
  const calibration = calibrationOf(manifest.calibration?.[known.options.accuracy_mode]);
  return { ...known, calibration, warnings: [], request_id: randomUUID(), queue_ms: 0 };
}

/**
 * Analyses one image after the other, on this thread. A faulty one does not stop the others: its `code` is the contract's, or the
 * file system's for a file that cannot be read. Throws an Error with a message for people when the pack cannot be used.
 */
export async function* analyseFiles(files: readonly string[], given: Partial<MatchOptions>) {
  const { model, options, analyse } = await openPack(given);
  const { accuracy_mode } = options;
  for (const file of files) {
    let bytes: Uint8Array;
    try {
      ({ bytes } = await readImage(file));
    } catch (error) {
      const { message: detail, cause } = error as Error;
      const { code = 'unreadable' } = cause as NodeJS.ErrnoException;
      yield { file, error: { code, detail } };
      continue;
    }
    const result = analyse(bytes);
    if (result.ok) {
      const { image } = result;
      const body = { ...imageBody(image), warnings: incomplete('image', image) };
      yield { file, bytes, image, body, model: { ...model, accuracy_mode } };
    } else {
      const { code, message, extras } = problemOf(faultsOf('image', result, -1), file);
      // The form's field means nothing here.
      const { field: _, ...rest } = extras;
      yield { file, error: { code, ...rest, detail: message } };
    }
  }
}
