import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from 'facematch/for-lab';
import { type Example, fitLinear, quantiseLinear } from './linear-score.ts';

/** Writes a file of a pack. Returns what the manifest says of it. */
export function writeBytes(directory: string, file: string, bytes: Int8Array) {
  replaceFile(join(directory, file), bytes);
  return { file, sha256: sha256(new Uint8Array(bytes.buffer)), licence: 'Apache-2.0' };
}

/** Fits a score that is high for the first class, and writes it like writeBytes. */
export function writeLinear(
  directory: string,
  file: string,
  high: readonly Example[],
  low: readonly Example[],
) {
  const fitted = fitLinear(high, low);
  const { bytes, scale } = quantiseLinear(fitted);
  return { ...writeBytes(directory, file, bytes), scale, bias: fitted.bias };
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
