// What calibrate writes into a pack beside its manifest: the cohort and the linear scores. Each is described in the manifest
// that is passed, which the caller writes last.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PackManifest, sha256 } from '../engine/manifest.ts';
import { highest, quantise } from './cohort.ts';
import {
  type Example,
  fitLinear,
  humanThreshold,
  occlusionThreshold,
  quantiseLinear,
} from './linear-score.ts';

const cohortFile = 'cohort.i8';
const humanFile = 'human.i8';
const occlusionFile = 'occlusion.i8';
const licence = 'Apache-2.0';

export function writeCohort(
  directory: string,
  manifest: PackManifest,
  centres: readonly Float32Array[],
): void {
  const bytes = quantise(centres);
  manifest.cohort = {
    file: cohortFile,
    sha256: sha256(new Uint8Array(bytes.buffer)),
    licence,
    centres: centres.length,
    highest,
    weight: 1,
  };
  replaceFile(join(directory, cohortFile), bytes);
}

export function writeHumanCheck(
  directory: string,
  manifest: PackManifest,
  humans: readonly Example[],
  others: readonly Example[],
): void {
  const check = fitLinear(humans, others);
  const { bytes, scale } = quantiseLinear(check);
  const images = new Set(others.map(({ source }) => source)).size;
  manifest.human = {
    file: humanFile,
    sha256: sha256(new Uint8Array(bytes.buffer)),
    licence,
    scale,
    bias: check.bias,
    bar: humanThreshold,
    fitted_on: `${humans.length} faces of people, and ${others.length} false faces in ${images} pictures without people, both modes`,
  };
  replaceFile(join(directory, humanFile), bytes);
}

export function writeOcclusion(
  directory: string,
  manifest: PackManifest,
  covered: readonly Example[],
  others: readonly Example[],
): void {
  const fitted = fitLinear(covered, others);
  const { bytes, scale } = quantiseLinear(fitted);
  manifest.occlusion = {
    file: occlusionFile,
    sha256: sha256(new Uint8Array(bytes.buffer)),
    licence,
    scale,
    bias: fitted.bias - occlusionThreshold,
    fitted_on: `${covered.length} faces with a drawn mask and ${others.length} without, both modes`,
  };
  replaceFile(join(directory, occlusionFile), bytes);
}

/** Replaces the file at once: a reader sees the old content or the new. */
export function replaceFile(file: string, content: string | Int8Array): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

/** Like JSON.stringify, but with lists of numbers or names on one line. */
export function manifestText(manifest: object): string {
  const text = JSON.stringify(manifest, null, 2);
  const item = /-?[\d.e-]+|"\w+"/.source;
  const list = new RegExp(`\\[\\s+(?:${item})(?:,\\s+(?:${item}))*\\s+\\]`, 'g');
  const oneLine = (found: string) => found.replaceAll(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']');
  return `${text.replace(list, oneLine)}\n`;
}
