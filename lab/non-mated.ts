import { dot } from 'facematch/for-lab';
import type { LabelledImage } from './people.ts';

/** Images of people, with the people numbered from 0. */
export interface NumberedPeople<T = LabelledImage> {
  images: readonly T[];
  /** The number of each image's person. */
  numbers: Uint32Array;
  /** Names of the people, by number. */
  people: readonly string[];
}

export function numberPeople<T extends { person: string }>(images: readonly T[]): NumberedPeople<T> {
  const numberOf = new Map<string, number>();
  const numbers = Uint32Array.from(images, ({ person }) => {
    const number = numberOf.get(person) ?? numberOf.size;
    numberOf.set(person, number);
    return number;
  });
  return { images, numbers, people: [...numberOf.keys()] };
}

/** Receives the indices of two images, and their cosine. */
type Visit = (first: number, second: number, cosine: number) => void;

/** Decides whether two images with different labels show the same person. */
export type IsOnePerson = (first: LabelledImage, second: LabelledImage, cosine: number) => boolean;

interface NonMatedOptions {
  /** Pairs with a higher cosine count as one person; Infinity disables the check. */
  samePersonAbove: number | IsOnePerson;
  /** Approximate maximum number of pairs to visit. A sample contains each image equally often. */
  maxPairs?: number;
}

/** Number of embeddings in a block. A block is compared with all others while it is in the CPU's cache. */
const block = 64;

/** Visits each non-mated pair of images once. Omits pairs that count as one person, and returns their number. */
export function eachNonMated(group: NumberedPeople, options: NonMatedOptions, visit: Visit): number {
  const { images, numbers } = group;
  const { samePersonAbove, maxPairs = Number.POSITIVE_INFINITY } = options;
  let omitted = 0;
  const isOnePerson: IsOnePerson =
    typeof samePersonAbove === 'number'
      ? (_first, _second, cosine) => cosine > samePersonAbove
      : samePersonAbove;
  const measure = (first: number, second: number) => {
    if (numbers[first] === numbers[second]) return;
    const cosine = dot(images[first]!.embedding, images[second]!.embedding);
    if (isOnePerson(images[first]!, images[second]!, cosine)) omitted++;
    else visit(first, second, cosine);
  };
  const count = images.length;
  if (maxPairs >= (count * (count - 1)) / 2) {
    for (let start = 0; start < count; start += block) {
      for (let second = start + 1; second < count; second++) {
        const end = Math.min(start + block, second);
        for (let first = start; first < end; first++) measure(first, second);
      }
    }
    return omitted;
  }
  // Compares each image with the images at certain distances after it, in a circular list. Distances of up to half
  // the list cover each pair once.
  const half = Math.floor((count - 1) / 2);
  const distances = Math.min(half, Math.max(1, Math.floor(maxPairs / count)));
  for (let i = 0; i < distances; i++) {
    const distance = 1 + Math.floor((i * half) / distances);
    for (let first = 0; first < count; first++) measure(first, (first + distance) % count);
  }
  return omitted;
}

/** Visits each pair of images of the same person. */
export function eachMated({ images, numbers, people }: NumberedPeople, visit: Visit): void {
  const own: number[][] = people.map(() => []);
  for (const [image, number] of numbers.entries()) {
    for (const before of own[number]!) {
      visit(before, image, dot(images[before]!.embedding, images[image]!.embedding));
    }
    own[number]!.push(image);
  }
}

/**
 * A pair with two names that probably shows one person: copies of one image, or two photos of one person. Its cosine
 * is far above the prediction from the other pairs.
 */
export interface AlikePair {
  image1: string;
  image2: string;
  cosine: number;
}

/** Minimum number of pairs for a prediction. */
const minPairs = 1000;
/** By the prediction, one in this many sets has a non-mated pair above the limit. */
const setsPerExceedance = 100;
/** Upper bound of the limit. Copies exceed it, even if they are scaled or compressed again. */
const copyAbove = 0.99;

/**
 * Returns the limit for the cosines of this many non-mated pairs, at most `copyAbove`. The distribution of the
 * highest cosines is approximately exponential. Its scale is estimated from the cosines at rank rankOf(pairs)
 * and at a third of that rank, so up to a third of these pairs may show one person. `highest` is sorted, highest first.
 */
export function reachOf(highest: ArrayLike<number>, pairs: number): number {
  const last = rankOf(pairs);
  if (pairs < minPairs || highest.length < last) return copyAbove;
  const [near, far] = [highest[Math.ceil(last / 3) - 1]!, highest[last - 1]!];
  const scale = (near - far) / Math.log(3);
  return Math.min(copyAbove, far + scale * Math.log(last * setsPerExceedance));
}

/** Returns the number of highest cosines to use for this number of pairs. */
const rankOf = (pairs: number) => Math.ceil(Math.max(1, pairs) ** 0.6);

/** Returns the non-mated pairs above the limit for different people, highest cosine first, and that limit. */
export function tooAlike(group: NumberedPeople<LabelledImage>): { reach: number; pairs: AlikePair[] } {
  const { images } = group;
  const maxKept = rankOf((images.length * (images.length - 1)) / 2);
  let kept: [cosine: number, first: number, second: number][] = [];
  let lowestKept = Number.NEGATIVE_INFINITY;
  let count = 0;
  const trim = () => {
    kept.sort(([a], [b]) => b - a);
    kept = kept.slice(0, maxKept);
    if (kept.length === maxKept) lowestKept = kept.at(-1)![0];
  };
  eachNonMated(group, { samePersonAbove: Number.POSITIVE_INFINITY }, (first, second, cosine) => {
    count++;
    if (cosine <= lowestKept) return;
    kept.push([cosine, first, second]);
    if (kept.length >= 2 * maxKept) trim();
  });
  trim();
  const reach = reachOf(
    kept.map(([cosine]) => cosine),
    count,
  );
  const pairs = kept
    .filter(([cosine]) => cosine > reach)
    .map(([cosine, first, second]) => {
      const [a, b] = [images[first]!, images[second]!];
      return { image1: nameOf(a), image2: nameOf(b), cosine };
    });
  return { reach, pairs };
}

const nameOf = ({ file, person }: LabelledImage) => file ?? person;

/**
 * Computes the limit for all people and for each group. Groups of less similar people have a lower limit. `isTooAlike`
 * returns true if a cosine exceeds the limit for all people, or the limit of a group that both images belong to.
 */
export function tooAlikeByGroup(images: readonly LabelledImage[]) {
  const everybody = tooAlike(numberPeople(images));
  const labels = [...new Set(images.flatMap((image) => image.labels))];
  const groups = new Map(
    labels.length < 2
      ? []
      : labels.map((label) => [
          label,
          tooAlike(numberPeople(images.filter((image) => image.labels.includes(label)))),
        ]),
  );
  const lowest = Math.min(everybody.reach, ...[...groups.values()].map(({ reach }) => reach));
  const isTooAlike = (a: LabelledImage, b: LabelledImage, cosine: number) =>
    cosine > lowest &&
    (cosine > everybody.reach ||
      a.labels.some((label) => b.labels.includes(label) && cosine > (groups.get(label)?.reach ?? 1)));
  const found = new Map<string, AlikePair>();
  for (const { pairs } of [everybody, ...groups.values()]) {
    for (const pair of pairs) found.set([pair.image1, pair.image2].sort().join('\n'), pair);
  }
  return { isTooAlike, pairs: [...found.values()].sort((a, b) => b.cosine - a.cosine) };
}
