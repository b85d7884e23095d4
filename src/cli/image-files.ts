import { randomUUID } from 'node:crypto';
import { readConfig } from '../config/config.ts';
import { Comparisons } from '../endpoints/comparison.ts';
import type { ImageEndpoint, ImageRule, Photo, Target } from '../endpoints/endpoint.ts';
import { imageBody } from '../endpoints/face.ts';
import { faultsOf, problemOf } from '../endpoints/faults.ts';
import { maxOf } from '../endpoints/images.ts';
import { analysisOptions, completeOptions, type MatchOptions } from '../endpoints/options.ts';
import { incomplete } from '../endpoints/warnings.ts';
import type { Analysis, Earlier } from '../engine/addon.ts';
import { detectText } from '../engine/file-kind.ts';
import { earlierOf, remaining, withFurther, withoutCandidates } from '../engine/further.ts';
import type { Outcome } from '../engine/jobs.ts';
import { loadPack } from '../engine/load-addon.ts';
import { packDirectory, readManifest } from '../engine/manifest.ts';
import { verifyPack } from '../engine/pack-files.ts';
import { Problem } from '../errors.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import { comparePersons } from '../scoring/persons.ts';
import type { ImageField } from '../scoring/similarity.ts';
import { readImage } from './files.ts';

// Runs match, detect and embed on files in this process, without a server.

/** Files by form field. */
export type Files = Readonly<Record<ImageField, readonly string[]>>;

/**
 * Compares files on this thread and returns the response of the endpoint. Throws an Error whose message is meant
 * for the user and names the files.
 */
export async function compareFiles<Body>(
  endpoint: ImageEndpoint,
  files: Files,
  given: Partial<MatchOptions>,
): Promise<Body> {
  const start = performance.now();
  const { manifest, analyse, cohortScores, ...known } = await openPack(given);
  const calibration = calibrationOf(manifest.calibration?.[known.options.accuracy_mode]);
  const photos: Photo[] = [];
  const targets: Target[] = [];
  const outcomes: Outcome[] = [];
  const images: Uint8Array[] = [];
  for (const field of ['image1', 'image2'] as const) {
    const rule = endpoint.fields[field] as ImageRule;
    if (!rule.targets && files[field].length > maxOf(rule)) {
      throw new Error(`At most ${maxOf(rule)} photos are compared as ${field}.`);
    }
    for (const [index, filename] of files[field].entries()) {
      const read = await readImage(filename).catch((error: Error) => {
        // A target that cannot be read does not stop the others.
        if (rule.targets) return new Problem('missing_field', { detail: error.message });
        throw error;
      });
      const image = read instanceof Problem ? read : images.push(read.bytes) - 1;
      if (!(read instanceof Problem)) outcomes.push(analyse(read.bytes));
      if (rule.targets) targets.push({ filename, image });
      photos.push({ field, index, filename });
    }
  }
  const comparisons = new Comparisons();
  const found = { outcomes, targets, comparisons, calibration };
  const unsettled = endpoint.unsettled?.({ options: known.options, ...found }) ?? [];
  for (const at of unsettled) {
    const first = outcomes[at] as Analysis;
    const earlier = earlierOf(first);
    outcomes[at] = earlier ? withFurther(first, analyse(images[at]!, earlier)) : withoutCandidates(first);
  }
  const total_ms = performance.now() - start;
  const context = { ...known, request_id: randomUUID(), warnings: [], queue_ms: 0, total_ms };
  const analysed = { context, photos, ...found };
  const step = endpoint.persons?.(analysed);
  const handled = step
    ? step.buildResponse(analysed, comparePersons(step.input, { cohortScores }))
    : endpoint.buildResponse(analysed);
  if ('rejection' in handled) throw new Error(withNames(handled.rejection.message, files));
  return handled.body as Body;
}

/** Replaces the names of form fields in a message by file names. */
export function withNames(text: string, files: Files): string {
  return text.replaceAll(/\b(image[12])\b(?:\[(\d+)\])?/g, (words, field: ImageField, index?: string) => {
    const isClear = index !== undefined || files[field].length === 1;
    return isClear ? (files[field][Number(index ?? 0)] ?? words) : words;
  });
}

/** Opens and verifies the configured pack. Rejects with an Error whose message is meant for the user. */
async function openPack(given: Partial<MatchOptions>) {
  const { pack, max_pixels, min_image_side: min_side, image_timeout_ms } = readConfig();
  const directory = packDirectory(pack);
  const manifest = readManifest(directory);
  if (given.detect_presentation_attack && manifest.liveness === undefined) {
    throw new Error(`The pack ${manifest.name} has no liveness models. See facematch packs add --help.`);
  }
  await verifyPack(directory, manifest);
  const addon = loadPack(directory, manifest);
  const options = completeOptions(given, manifest);
  const analysis = { ...analysisOptions(options), max_pixels, min_side, image_timeout_ms };
  return {
    manifest,
    options,
    model: { pack: manifest.name, version: manifest.version },
    cohortScores: (embeddings: Float32Array) => addon.cohortScores(directory, embeddings),
    analyse: (image: Uint8Array, earlier?: Earlier) => {
      const how = earlier ? remaining(analysis, earlier) : analysis;
      return detectText(addon.analyse(directory, image, how, undefined, earlier), image);
    },
  };
}

/**
 * Analyses the images in order on this thread. An error in one image does not stop the others. `error.code` is an
 * error code of the API or, if the image cannot be read, of the file system, or `unreadable`. Throws an Error whose
 * message is meant for the user if the pack cannot be used.
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
      const { code = 'unreadable' } = (cause ?? {}) as NodeJS.ErrnoException;
      yield { file, error: { code, detail } };
      continue;
    }
    const result = analyse(bytes);
    if (result.ok) {
      const { image } = result;
      const body = { ...imageBody(image), warnings: incomplete('image', image) };
      yield { file, bytes, image, body, model: { ...model, accuracy_mode } };
    } else {
      // The file name is used in place of the form field.
      const { code, message, extras } = problemOf(faultsOf(file, result, -1));
      const { field: _, ...rest } = extras;
      yield { file, error: { code, ...rest, detail: message } };
    }
  }
}
