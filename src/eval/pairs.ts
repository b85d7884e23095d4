import { readFileSync } from 'node:fs';

/** One line of a list of pairs. Paths are relative to the images' folder. */
export interface LabelledPair {
  image1: string;
  image2: string;
  same: boolean;
  /** Cross-validation fold; every pair has one or none has. */
  fold: string | undefined;
}

/** A pair with its scores, -Infinity where a picture has no face: it never matches. */
export interface JudgedPair extends LabelledPair {
  cosine: number;
  /** What the service judges by. */
  normalised: number;
}

const required = ['image1', 'image2', 'same'] as const;

/**
 * Reads a list of pairs: tab-separated with a header line, columns `image1`, `image2`, `same` (1 or 0) and
 * optionally `fold`, in any order. Throws an Error that names the file and the line.
 */
export function readPairs(file: string): LabelledPair[] {
  const [header, ...lines] = readFileSync(file, 'utf8').split(/\r?\n/);
  const columns = (header ?? '').split('\t');
  for (const name of required) {
    if (!columns.includes(name)) throw new Error(`${file}: expected a column "${name}" in the first line`);
  }
  const at = (cells: string[], name: string): string | undefined => cells[columns.indexOf(name)];
  const pairs: LabelledPair[] = [];
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    const cells = line.split('\t');
    const [image1, image2, same] = required.map((name) => at(cells, name));
    if (!image1 || !image2 || (same !== '0' && same !== '1')) {
      throw new Error(`${file}, line ${index + 2}: expected image1, image2 and same (0 or 1)`);
    }
    pairs.push({ image1, image2, same: same === '1', fold: at(cells, 'fold') });
  }
  if (pairs.length === 0) throw new Error(`${file}: no pairs`);
  return pairs;
}

/** The pictures of a list of pairs, each once. */
export function picturesOf(pairs: readonly LabelledPair[]): string[] {
  return [...new Set(pairs.flatMap(({ image1, image2 }) => [image1, image2]))];
}

/** Whom a picture shows: the first folder of its path. Throws an Error when it lies in none. */
export function personOf(picture: string): string {
  const [person = '', ...rest] = picture.split('/');
  if (rest.length > 0 && !['', '.', '..'].includes(person)) return person;
  throw new Error(`${picture}: expected a path that starts with a folder for the person`);
}
