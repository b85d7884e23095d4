import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { readConfig } from '../config/config.ts';
import type { AccuracyMode, AnalyseOptions, Analysis, ImageReport } from '../engine/addon.ts';
import { base64 } from '../engine/cosine.ts';
import { loadPack } from '../engine/load-addon.ts';
import { packDirectory, readDraft, verifyPack } from '../engine/manifest.ts';
import { analysisOptions, completeOptions, type MatchOptions } from '../engine/match-options.ts';
import { tellText } from '../engine/not-an-image.ts';
import type { Outcome } from '../engine/pool.ts';
import { Problem } from '../errors.ts';
import { drawFaces } from '../lab/drawing.ts';
import type { Embed, Face, Image, Many, Match } from '../scoring/answers.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import { compare, faultsOf, problemOf } from '../scoring/compare.ts';
import { manyAnswer, type Target } from '../scoring/many.ts';
import { imageBody, matchAnswer } from '../scoring/match.ts';
import { drawingFiles, readImage } from './files.ts';

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
    try {
      targets.push({
        filename: name,
        name,
        image: outcomes.push(analyse((await readImage(name)).bytes)) - 1,
      });
    } catch (error) {
      const problem = new Problem('missing_field', { detail: (error as Error).message });
      targets.push({ filename: name, name, image: problem });
    }
  }
  return manyAnswer({
    ...known,
    targets,
    outcomes,
    total_ms: performance.now() - start,
  });
}

/** The configured pack, verified. Rejects with an Error with a message for people. */
async function openPack() {
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const manifest = readDraft(directory);
  await verifyPack(directory, manifest);
  const addon = loadPack(directory, manifest);
  const limits = { max_pixels: config.max_pixels, min_side: config.min_side, picture_ms: config.picture_ms };
  return {
    manifest,
    model: { pack: manifest.name, version: manifest.version },
    analyse: (image: Uint8Array, options: Omit<AnalyseOptions, keyof typeof limits>) =>
      tellText(addon.analyse(directory, image, { ...options, ...limits }), image),
  };
}

/** What a match needs of the pack, and the parts of its answer that do not depend on the images. */
async function openMatch(given: Partial<MatchOptions>) {
  const { manifest, model, analyse } = await openPack();
  const options = completeOptions(given, manifest);
  return {
    options,
    warnings: [],
    analyse: (image: Uint8Array) => analyse(image, analysisOptions(options)),
    request_id: randomUUID(),
    calibration: calibrationOf(manifest.calibration?.[options.accuracy_mode]),
    model,
    queue_ms: 0,
  };
}

export type DetectedFile = { file: string } & Omit<Image, 'face_index'> & { drawing?: string };

/** `code` is the contract's, or the file system's for a file that cannot be read. */
interface RefusedFile {
  file: string;
  error: { code: string; detail: string };
}

/** A face with its embedding, and what is needed to compare it. */
type EmbeddedFile = { file: string; embedding: string } & Face &
  Pick<Embed['embedding'], 'pack' | 'version' | 'accuracy_mode'>;

/**
 * Finds the faces of one image after the other, on this thread, and draws them if `draw` says where; see drawingFiles(). A faulty
 * image does not stop the others. Throws an Error with a message for people when the pack or the drawings cannot be used.
 */
export async function* detectFiles(
  files: readonly string[],
  given: Partial<MatchOptions>,
  draw: string | undefined,
): AsyncGenerator<DetectedFile | RefusedFile> {
  const drawings = draw === undefined ? [] : drawingFiles(files, draw);
  for await (const looked of lookAt(files, given)) {
    if ('error' in looked) {
      yield looked;
      continue;
    }
    const { index, file, bytes, image } = looked;
    const drawing = drawings[index];
    if (drawing !== undefined) {
      await writeFile(drawing, drawFaces(bytes, image));
    }
    yield { file, ...imageBody(image), ...(drawing === undefined ? {} : { drawing }) };
  }
}

/** The same with embeddings; yields the faces of each image. */
export async function* embedFiles(
  files: readonly string[],
  given: Partial<MatchOptions>,
): AsyncGenerator<EmbeddedFile[] | RefusedFile> {
  for await (const looked of lookAt(files, given)) {
    if ('error' in looked) {
      yield looked;
      continue;
    }
    const { file, image, model, accuracy_mode } = looked;
    yield imageBody(image).faces.map((face, index) => ({
      file,
      ...face,
      ...model,
      accuracy_mode,
      embedding: base64(image.faces[index]!),
    }));
  }
}

interface LookedAt {
  /** Its index among the files. */
  index: number;
  file: string;
  bytes: Uint8Array;
  image: ImageReport;
  model: { pack: string; version: string };
  accuracy_mode: AccuracyMode;
}

async function* lookAt(
  files: readonly string[],
  given: Partial<MatchOptions>,
): AsyncGenerator<LookedAt | RefusedFile> {
  const { manifest, model, analyse } = await openPack();
  if (given.detect_presentation_attack && manifest.liveness === undefined) {
    throw new Error(`The pack ${manifest.name} has no liveness nets; facematch packs add takes them.`);
  }
  const options = completeOptions(given, manifest);
  const { accuracy_mode } = options;
  for (const [index, file] of files.entries()) {
    let bytes: Uint8Array;
    try {
      ({ bytes } = await readImage(file));
    } catch (error) {
      yield { file, error: unreadable(error as Error) };
      continue;
    }
    const result = analyse(bytes, analysisOptions(options));
    if (result.ok) yield { index, file, bytes, image: result.image, model, accuracy_mode };
    else yield { file, error: refusal(problemOf(faultsOf('image', result, -1), file)) };
  }
}

function unreadable({ message, cause }: Error): RefusedFile['error'] {
  return { code: (cause as NodeJS.ErrnoException).code ?? 'unreadable', detail: message };
}

function refusal({ code, message, extras }: Problem): RefusedFile['error'] {
  // The form's field means nothing here.
  const { field: _, ...rest } = extras;
  return { code, ...rest, detail: message };
}
