import { dot } from 'facematch/for-lab';
import type { LabelledImage } from './people.ts';

/** Images of people, who are numbered from 0. */
export interface NumberedPeople<T = LabelledImage> {
  images: readonly T[];
  /** The number of each image's person. */
  numbers: Uint32Array;
  /** Their names, by number. */
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

/** `first` and `second` are indices of images. */
type Visit = (first: number, second: number, cosine: number) => void;

/** Decides if images of two people show one person. */
export type IsOnePerson = (first: LabelledImage, second: LabelledImage, cosine: number) => boolean;

interface NonMatedOptions {
  /** Cosine above which they are taken for one person; Infinity disables the check. */
  samePersonAbove: number | IsOnePerson;
  /** Approximate number of pairs to visit if there are more; each image occurs equally often. */
  most?: number;
}

/** Number of embeddings that are compared with all others before the next: they stay in the CPU's cache. */
const block = 64;

/**
 * Visits each pair of images of two people once, and keeps none. Omits pairs that are taken for one person.
 * Returns their number.
 */
export function eachNonMated(group: NumberedPeople, options: NonMatedOptions, visit: Visit): number {
  const { images, numbers } = group;
  const { samePersonAbove, most = Number.POSITIVE_INFINITY } = options;
  let left = 0;
  const isOnePerson: IsOnePerson =
    typeof samePersonAbove === 'number'
      ? (_first, _second, cosine) => cosine > samePersonAbove
      : samePersonAbove;
  const measure = (first: number, second: number) => {
    if (numbers[first] === numbers[second]) return;
    const cosine = dot(images[first]!.embedding, images[second]!.embedding);
    if (isOnePerson(images[first]!, images[second]!, cosine)) left++;
    else visit(first, second, cosine);
  };
  const count = images.length;
  if (most >= (count * (count - 1)) / 2) {
    for (let start = 0; start < count; start += block) {
      for (let second = start + 1; second < count; second++) {
        const end = Math.min(start + block, second);
        for (let first = start; first < end; first++) measure(first, second);
      }
    }
    return left;
  }
  // Each image is compared with those at certain distances behind it in the list, which is a ring. Half of
  // the ring is left for the others.
  const half = Math.floor((count - 1) / 2);
  const distances = Math.min(half, Math.max(1, Math.floor(most / count)));
  for (let i = 0; i < distances; i++) {
    const distance = 1 + Math.floor((i * half) / distances);
    for (let first = 0; first < count; first++) measure(first, (first + distance) % count);
  }
  return left;
}

/** Visits each pair of images of one person. */
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
 * A pair of two names that shows one person: copies of one image, or other photos of one person. Its cosine
 * is far beyond the prediction from the other pairs.
 */
export interface AlikePair {
  image1: string;
  image2: string;
  cosine: number;
}

/** Fewer pairs predict nothing. */
const fewPairs = 1000;
/** Only one of this many sets would contain such a pair. */
const seldom = 100;
/**
 * No two people look so alike: equal bytes, and copies that were scaled or compressed. Sets with wide tails
 * do not raise the limit.
 */
const copyAbove = 0.99;

/**
 * Returns the cosine that no two of that many different people reach, at most that of copies. The highest
 * cosines are about exponential: their scale is taken from those between two ranks (rankOf and a third of
 * it), so that up to a third of them may show one person. `highest` falls.
 */
export function reachOf(highest: ArrayLike<number>, pairs: number): number {
  const last = rankOf(pairs);
  if (pairs < fewPairs || highest.length < last) return copyAbove;
  const [near, far] = [highest[Math.ceil(last / 3) - 1]!, highest[last - 1]!];
  const scale = (near - far) / Math.log(3);
  return Math.min(copyAbove, far + scale * Math.log(last * seldom));
}

/** Number of the highest cosines that are used, given the number of pairs. */
const rankOf = (pairs: number) => Math.ceil(Math.max(1, pairs) ** 0.6);

/** Returns the non-mated pairs above the limit for different people, highest cosine first, and that limit. */
export function tooAlike(group: NumberedPeople<LabelledImage>): { reach: number; pairs: AlikePair[] } {
  const { images } = group;
  const most = rankOf((images.length * (images.length - 1)) / 2);
  let kept: [cosine: number, first: number, second: number][] = [];
  let least = Number.NEGATIVE_INFINITY;
  let count = 0;
  const trim = () => {
    kept.sort(([a], [b]) => b - a);
    kept = kept.slice(0, most);
    if (kept.length === most) least = kept.at(-1)![0];
  };
  eachNonMated(group, { samePersonAbove: Number.POSITIVE_INFINITY }, (first, second, cosine) => {
    count++;
    if (cosine <= least) return;
    kept.push([cosine, first, second]);
    if (kept.length >= 2 * most) trim();
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
 * Computes the limit for everyone and for each group: a group whose people look less alike than others has a
 * lower one. `isTooAlike` returns true if the cosine of two images is above that of everyone, or of a group
 * that both are in.
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
