import { readFileSync } from 'node:fs';
import { type AccuracyMode, type Face, type ImageReport, loadAddon } from '../engine/addon.ts';

export interface EmbedJob {
  packDirectory: string;
  file: string;
  mode: AccuracyMode;
  minDetScore: number;
}

/** What is known of a picture after it went through the pipeline once. */
export interface EmbeddedPicture {
  /** Of the face that the protocol compares; undefined when there is no face. */
  embedding: Float32Array | undefined;
  /** Of each of `faces`. */
  embeddings: Float32Array[];
  /** What normalisation subtracts for this face. */
  cohort_score: number;
  faces: Face[];
  /** Which of `faces` it is. */
  chosen: number;
  /** Undefined when it could not be read. */
  image: Omit<ImageReport, 'faces'> | undefined;
  /** Why the picture could not be read, where it could not. */
  failure: string | undefined;
}

const addon = loadAddon();

/**
 * Sets of single people name the person in the middle of the picture, and bystanders may stand nearer to the camera:
 * the face of the protocol is the largest one, its size counted less the farther it is from the middle.
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

export default function embed(job: EmbedJob): EmbeddedPicture {
  const result = addon.analyse(job.packDirectory, readFileSync(job.file), {
    accuracy_mode: job.mode,
    min_det_score: job.minDetScore,
    use_heuristic_fallback: true,
    max_pixels: 50_000_000,
    min_side: 16,
  });
  if (!result.ok) {
    const nothing = {
      embedding: undefined,
      embeddings: [],
      cohort_score: 0,
      faces: [],
      chosen: 0,
      image: undefined,
    };
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
