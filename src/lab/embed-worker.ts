import { readFileSync } from 'node:fs';
import type { AccuracyMode, Face, ImageReport } from '../engine/addon.ts';
import { loadAddon } from '../engine/load-addon.ts';
import { openable } from './file-names.ts';

export interface EmbedJob {
  packDirectory: string;
  file: string;
  mode: AccuracyMode;
  minDetScore: number;
  liveScores: true | undefined;
}

/** What the engine found in an image. */
export interface EmbeddedImage {
  /** The embedding of the face that is compared; undefined when there is no face. */
  embedding: Float32Array | undefined;
  /** The embedding of each of `faces`. */
  embeddings: Float32Array[];
  /** The cohort score of the face that is compared. */
  cohort_score: number;
  faces: Face[];
  /** Index of the face that is compared. */
  chosen: number;
  /** Undefined when the image could not be read. */
  image: Omit<ImageReport, 'faces'> | undefined;
  /** Why the image could not be read: an error code, or words where the file itself could not. */
  failure: string | undefined;
}

const addon = loadAddon();

/**
 * The index of the face to compare. Sets label the person in the middle of the image, and bystanders may be nearer to the
 * camera, so it is the largest face, weighted by its distance from the middle.
 */
function centralFace(faces: readonly Face[], width: number, height: number): number {
  const weight = ({ box }: Face): number => {
    const dx = (box.x + box.width / 2) / width - 0.5;
    const dy = (box.y + box.height / 2) / height - 0.5;
    return box.width * box.height * Math.max(0, 1 - 2 * Math.hypot(dx, dy)) ** 2;
  };
  let best = 0;
  for (const [index, face] of faces.entries()) {
    if (weight(face) > weight(faces[best]!)) best = index;
  }
  return best;
}

/** Of an image that could not be read. */
const nothing = {
  embedding: undefined,
  embeddings: [],
  cohort_score: 0,
  faces: [],
  chosen: 0,
  image: undefined,
};

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'there is no such file';
  return code === undefined ? message : `the file cannot be read: ${code}`;
}

export default function embed(job: EmbedJob): EmbeddedImage {
  let bytes: Buffer;
  try {
    bytes = readFileSync(openable(job.file));
  } catch (error) {
    return { ...nothing, failure: reasonOf(error as NodeJS.ErrnoException) };
  }
  const result = addon.analyse(job.packDirectory, bytes, {
    accuracy_mode: job.mode,
    min_det_score: job.minDetScore,
    use_heuristic_fallback: true,
    detect_presentation_attack: job.liveScores ?? false,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (!result.ok) {
    // A fault of ours, not of the image.
    if (result.code === 'internal_error') throw new Error(result.message);
    return { ...nothing, failure: result.code };
  }
  const { faces, ...image } = result.image;
  const chosen = centralFace(faces, image.width, image.height);
  return {
    embedding: faces[chosen]?.embedding,
    embeddings: faces.map(({ embedding }) => embedding),
    cohort_score: faces[chosen]?.cohort_score ?? 0,
    faces,
    chosen,
    image,
    failure: undefined,
  };
}
