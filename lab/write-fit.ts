import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AccuracyMode, type CalibratedManifest, type CalibrationPoint, sha256 } from 'facematch/for-lab';
import { highest, quantise } from './cohort.ts';
import {
  type Example,
  fitLinear,
  humanThreshold,
  occlusionThreshold,
  quantiseLinear,
} from './linear-score.ts';
import { jsonText } from './number-text.ts';

interface ModeFit {
  mode: AccuracyMode;
  fitted_on: string;
  points: CalibrationPoint[];
  floor: number;
  photos?: number[];
}

/** Input of the cohort, the human check and the occlusion score. Scores without examples are not written. */
interface Scores {
  centres: readonly Float32Array[];
  humans: readonly Example[];
  others: readonly Example[];
  covered: readonly Example[];
  uncovered: readonly Example[];
}

/**
 * Writes the fits into a pack: first the files, then the manifest. Also updates `manifest`. Without `scores`, writes
 * only floors and shifts.
 */
export function writeFits(
  directory: string,
  manifest: CalibratedManifest,
  modes: readonly ModeFit[],
  scores: Scores | undefined,
): void {
  for (const { mode, fitted_on, points, floor, photos } of modes) {
    const table = scores
      ? { fitted_on, floor, points: points.map(([...point]) => point) }
      : { ...manifest.calibration[mode], floor };
    manifest.calibration[mode] = { ...table, ...(photos && { photos }) };
  }
  if (scores) writeScores(directory, manifest, scores);
  replaceFile(join(directory, 'manifest.json'), `${jsonText(manifest)}\n`);
}

function writeScores(
  directory: string,
  manifest: CalibratedManifest,
  { centres, humans, others, covered, uncovered }: Scores,
): void {
  const cohort = writeBytes(directory, 'cohort.i8', quantise(centres));
  manifest.cohort = { ...cohort, centres: centres.length, highest, weight: 1 };
  if (others.length > 0) {
    const images = new Set(others.map(({ source }) => source)).size;
    manifest.human = {
      ...writeLinear(directory, 'human.i8', humans, others),
      threshold: humanThreshold,
      fitted_on: `${humans.length} faces of people, and ${others.length} false faces in ${images} images without people, both modes`,
    };
  }
  if (covered.length > 0) {
    const { bias, ...score } = writeLinear(directory, 'occlusion.i8', covered, uncovered);
    manifest.occlusion = {
      ...score,
      bias: bias - occlusionThreshold,
      fitted_on: `${covered.length} faces with covered nose and mouth and ${uncovered.length} others, both modes`,
    };
  }
}

/** Writes a file of a pack, and returns its entry for the manifest. */
function writeBytes(directory: string, file: string, bytes: Int8Array) {
  replaceFile(join(directory, file), bytes);
  return { file, sha256: sha256(new Uint8Array(bytes.buffer)), licence: 'Apache-2.0' };
}

/** Fits a score that is high for the first class, and writes it like writeBytes. */
function writeLinear(directory: string, file: string, high: readonly Example[], low: readonly Example[]) {
  const fitted = fitLinear(high, low);
  const { bytes, scale } = quantiseLinear(fitted);
  return { ...writeBytes(directory, file, bytes), scale, bias: fitted.bias };
}

/** Replaces the file atomically: a reader sees either the old or the new content. */
function replaceFile(file: string, content: string | Int8Array): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}
