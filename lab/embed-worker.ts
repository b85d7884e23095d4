import { readFileSync } from 'node:fs';
import { type AccuracyMode, type Face, type ImageReport, loadAddon, openable } from 'facematch/for-lab';

export interface EmbedTask {
  packDirectory: string;
  file: string;
  mode: AccuracyMode;
  minDetScore: number;
  liveScores?: true;
  /** Refines the landmarks, as the liveness challenge does to follow the pose from frame to frame. */
  refineLandmarks?: true;
}

/** Results of the engine for one image. */
export interface EmbeddedImage {
  /** Embedding of the compared face; undefined if there is no face. */
  embedding: Float32Array | undefined;
  /** Cohort score of the compared face. */
  cohort_score: number;
  faces: Face[];
  /** Index of the compared face. */
  chosen: number;
  /** Undefined if the image could not be read. */
  image: Omit<ImageReport, 'faces'> | undefined;
  /** Why the image could not be read: the engine's error code, or a message about the file. */
  failure: string | undefined;
}

const addon = loadAddon();

/**
 * Returns the index of the face to compare: the face with the largest area, weighted by its closeness to the centre.
 * Published sets label the person in the centre, but bystanders may be nearer to the camera.
 */
function centralFace(faces: readonly Face[], width: number, height: number): number {
  const weight = ({ box }: Face): number => {
    const dx = (box.x + box.width / 2) / width - 0.5;
    const dy = (box.y + box.height / 2) / height - 0.5;
    return box.width * box.height * Math.max(0, 1 - 2 * Math.hypot(dx, dy)) ** 2;
  };
  return faces.reduce((best, face, i) => (weight(face) > weight(faces[best]!) ? i : best), 0);
}

function failed(failure: string): EmbeddedImage {
  const nothing = { embedding: undefined, cohort_score: 0, faces: [], chosen: 0 };
  return { ...nothing, image: undefined, failure };
}

export default function embed({
  packDirectory,
  file,
  mode,
  minDetScore,
  liveScores,
  refineLandmarks,
}: EmbedTask): EmbeddedImage {
  let bytes: Buffer;
  try {
    bytes = readFileSync(openable(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return failed('the file does not exist');
    return failed(code === undefined ? message : `the file cannot be read: ${code}`);
  }
  const result = addon.analyse(packDirectory, bytes, {
    accuracy_mode: mode,
    min_det_score: minDetScore,
    use_heuristic_fallback: true,
    detect_presentation_attack: liveScores ?? false,
    refine_landmarks: refineLandmarks ?? false,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (!result.ok) {
    // An internal error is a bug, not a property of the image.
    if (result.code === 'internal_error') throw new Error(result.message);
    return failed(result.code);
  }
  const { faces, ...image } = result.image;
  const chosen = centralFace(faces, image.width, image.height);
  const { embedding, cohort_score = 0 } = faces[chosen] ?? {};
  return { embedding, cohort_score, faces, chosen, image, failure: undefined };
}
