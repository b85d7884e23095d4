import { type Calibration, excerpt } from 'facematch/for-lab';
import type { Scored } from './metrics.ts';
import { pathOf, readTable } from './table.ts';

/** One line of a list of pairs. Paths are relative to the folder of the images. */
export interface LabelledPair {
  image1: string;
  image2: string;
  same: boolean;
  /** Fold for cross-validation, in all pairs or in none. */
  fold: string | undefined;
}

/** A comparison: a pair whose images both have a face, with its scores. */
export interface JudgedPair extends LabelledPair {
  cosine: number;
  /** Numbers of the two people, from 0. They are equal in a mated pair. */
  people: readonly [first: number, second: number];
  /** The score that the service uses. */
  normalised: number;
}

export type ScoreKind = 'normalised' | 'cosine';
/** All kinds, starting with the score that the service uses. */
export const scoreKinds: readonly ScoreKind[] = ['normalised', 'cosine'];

/** A comparison's score and label, with the numbers of its two people. */
export type Compared = Scored & Pick<JudgedPair, 'people'>;

export function scoredBy(pairs: readonly JudgedPair[], kind: ScoreKind): Compared[] {
  return pairs.map((pair) => ({ score: pair[kind], same: pair.same, fold: pair.fold, people: pair.people }));
}

/** Returns the confidence percent of a score; undefined without a calibration. */
export function percentOf(score: number, calibration: Calibration | undefined): number | undefined {
  return calibration?.assess(score, 1).confidence_percent;
}

const required = ['image1', 'image2', 'same'] as const;

/** Values of the column `same`. Spreadsheets write TRUE and FALSE. */
const truth = new Map(Object.entries({ '1': true, true: true, '0': false, false: false }));

/**
 * Reads a list of pairs. The columns are `image1`, `image2`, `same` (1, 0, true or false in any case) and optionally
 * `fold`, in any order. Throws an Error that names the file and any wrong line.
 */
export function readPairs(file: string): LabelledPair[] {
  const { columns, rows } = readTable(file);
  const absent = required.find((name) => !columns.includes(name));
  if (absent !== undefined) {
    throw new Error(`${file}: expected a column "${absent}" in the first line, tab-separated`);
  }
  const pairs = rows.map(({ cells, line }) => {
    const at = (name: string) => cells[columns.indexOf(name)];
    const [image1, image2, label] = required.map(at);
    const same = truth.get(label?.toLowerCase() ?? '');
    if (!image1 || !image2 || same === undefined) {
      const sent = label === undefined ? '' : `; same is ${excerpt(label, '"')}`;
      throw new Error(
        `${file}, line ${line}: expected image1, image2 and same (0 or 1), tab-separated${sent}`,
      );
    }
    return { image1: pathOf(image1), image2: pathOf(image2), same, fold: at('fold') };
  });
  if (pairs.length === 0) throw new Error(`${file}: no pairs`);
  return pairs;
}

/** Returns the names of the images in a list of pairs, without duplicates. */
export function imagesOf(pairs: readonly LabelledPair[]): string[] {
  return [...new Set(pairs.flatMap(({ image1, image2 }) => [image1, image2]))];
}

/**
 * Returns the number of each image's person, from 0. The first folder of a path is the person if that agrees with
 * the label of every pair. Otherwise images that are linked by mated pairs belong to one person, and every other
 * image to a separate person.
 */
export function peopleOfPairs(pairs: readonly LabelledPair[]): Map<string, number> {
  const folderOf = (image: string) => image.split('/').slice(0, -1)[0];
  const areFolders = pairs.every(({ image1, image2, same }) => {
    const [first, second] = [folderOf(image1), folderOf(image2)];
    return first !== undefined && second !== undefined && (first === second) === same;
  });
  const images = imagesOf(pairs);
  // Disjoint sets of images: the root of each tree represents a person.
  const parents = new Map(images.map((image) => [image, image]));
  const rootOf = (image: string): string => {
    let root = image;
    while (parents.get(root) !== root) root = parents.get(root)!;
    parents.set(image, root);
    return root;
  };
  if (!areFolders) {
    for (const { image1, image2, same } of pairs) if (same) parents.set(rootOf(image1), rootOf(image2));
  }
  const numbers = new Map<string, number>();
  return new Map(
    images.map((image) => {
      const person = areFolders ? folderOf(image)! : rootOf(image);
      const number = numbers.get(person) ?? numbers.size;
      numbers.set(person, number);
      return [image, number];
    }),
  );
}

/** Returns the person of an image: the first folder of its path. Throws an Error if there is none. */
export function personOf(image: string): string {
  const [person = '', ...rest] = image.split('/');
  if (rest.length > 0 && !['', '.', '..'].includes(person)) return person;
  throw new Error(`${image}: expected a path that starts with a folder for the person`);
}

export interface WorstPair {
  image1: string;
  image2: string;
  normalised: number;
  cosine: number;
  /** Undefined for a pack without a calibration. */
  confidence_percent: number | undefined;
}

/** Maximum number of mated pairs, and of non-mated pairs, to keep. */
const maxShown = 60;

/** Returns the mated pairs with the lowest scores, and the non-mated pairs with the highest. */
export function worstPairs(pairs: readonly JudgedPair[], calibration: Calibration | undefined) {
  const seen = new WorstPairsSeen();
  for (const { same, image1, image2, normalised, cosine } of pairs)
    seen.add(same, image1, image2, normalised, cosine);
  return seen.judged(calibration);
}

type ScoredPair = Omit<WorstPair, 'confidence_percent'>;

/** Collects the worst pairs one by one, for input that does not fit in memory. Ignores a pair that is added again. */
export class WorstPairsSeen {
  /** Sorted, the worst pair first. */
  readonly #nonMated: ScoredPair[] = [];
  readonly #mated: ScoredPair[] = [];

  add(same: boolean, image1: string, image2: string, normalised: number, cosine: number): void {
    const [kept, sign] = same ? [this.#mated, -1] : [this.#nonMated, 1];
    if (kept.length === maxShown && !(sign * normalised > sign * kept.at(-1)!.normalised)) return;
    if (kept.some((pair) => pair.image1 === image1 && pair.image2 === image2)) return;
    kept.push({ image1, image2, normalised, cosine });
    kept.sort((a, b) => sign * (b.normalised - a.normalised));
    kept.length = Math.min(kept.length, maxShown);
  }

  /** Returns the non-mated pairs, highest similarity first, and the mated pairs, lowest similarity first. */
  judged(calibration: Calibration | undefined) {
    const judge = (pair: ScoredPair): WorstPair => {
      return { ...pair, confidence_percent: percentOf(pair.normalised, calibration) };
    };
    return { non_mated: this.#nonMated.map(judge), mated: this.#mated.map(judge) };
  }
}
