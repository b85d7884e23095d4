import { writeFile } from 'node:fs/promises';
import { readConfig } from '../config.ts';
import { type AccuracyMode, loadAddon } from '../engine/addon.ts';
import { packDirectory, readManifest, verifyPack } from '../engine/pack.ts';
import type { Problem } from '../errors.ts';
import { type ImageBody, imageBody, nativeProblem } from '../http/match-result.ts';
import { drawingFiles } from './drawing-files.ts';
import { readPicture } from './picture.ts';

export interface DetectFilesOptions {
  /** Where drawings go; see drawingFiles(). */
  draw: string | undefined;
  mode: AccuracyMode;
  fallback: boolean;
  /** The pack's own when undefined. */
  minDetScore: number | undefined;
}

export type DetectedFile = { file: string } & ImageBody & { drawing?: string };

/** `code` is the contract's, or the file system's for a file that cannot be read. */
export interface RefusedFile {
  file: string;
  error: { code: string; detail: string };
}

/**
 * Finds the faces of each picture in turn, on this thread, and draws them where that is wanted. A picture that is refused does
 * not end it. Throws an Error with a message for people when nothing can be done at all.
 */
export async function* detectFiles(
  files: readonly string[],
  options: DetectFilesOptions,
): AsyncGenerator<DetectedFile | RefusedFile> {
  const config = readConfig();
  const directory = packDirectory(config.pack);
  const manifest = readManifest(directory);
  const drawings = options.draw === undefined ? [] : drawingFiles(files, options.draw);
  await verifyPack(directory, manifest);
  const addon = loadAddon();
  const limits = { max_pixels: config.max_pixels, min_side: config.min_side };
  const detectOptions = {
    ...limits,
    accuracy_mode: options.mode,
    min_det_score: options.minDetScore ?? manifest.min_det_score,
    use_heuristic_fallback: options.fallback,
  };
  for (const [index, file] of files.entries()) {
    let bytes: Uint8Array;
    try {
      ({ bytes } = await readPicture(file));
    } catch (error) {
      yield { file, error: unreadable(error as Error) };
      continue;
    }
    const result = addon.detect(directory, bytes, detectOptions);
    if (!result.ok) {
      if (result.code === 'internal_error') throw new Error(`${file}: ${result.message}`);
      yield { file, error: refusal(nativeProblem(result, file)) };
      continue;
    }
    const drawing = drawings[index];
    if (drawing !== undefined) {
      const drawn = addon.draw(bytes, result.image.faces, limits);
      if (!drawn.ok) throw new Error(`${file} was not drawn: ${JSON.stringify(drawn)}`);
      await writeFile(drawing, drawn.png);
    }
    yield { file, ...imageBody(result.image), ...(drawing === undefined ? {} : { drawing }) };
  }
}

function unreadable({ message, cause }: Error): RefusedFile['error'] {
  return { code: (cause as NodeJS.ErrnoException).code ?? 'unreadable', detail: message };
}

function refusal({ code, message, extras }: Problem): RefusedFile['error'] {
  // The form's field means nothing to who gave a file.
  const { field: _, ...rest } = extras;
  return { code, ...rest, detail: message };
}
