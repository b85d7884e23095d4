import type { LabelledImage } from './people.ts';
import { eachStrangers, type NumberedPeople } from './strangers.ts';

/**
 * Strangers who are none: copies of one image under two names, or one person under two names. They lie far beyond what the most
 * alike of the others foretell.
 */

/** A pair of two people's images, named. */
export interface AlikePair {
  image1: string;
  image2: string;
  cosine: number;
}

/** Fewer pairs foretell nothing. */
const fewPairs = 1000;
/** One of as many sets as this would have such a pair. */
const seldom = 100;

/**
 * The cosine that no two of so many strangers reach; Infinity for too few pairs. The highest cosines lie about exponentially: their
 * scale is taken from those between two ranks (rankOf and a third of it), so that as many as the third may be no strangers. `highest`
 * falls.
 */
export function reachOf(highest: ArrayLike<number>, pairs: number): number {
  const last = rankOf(pairs);
  if (pairs < fewPairs || highest.length < last) return Number.POSITIVE_INFINITY;
  const [near, far] = [highest[Math.ceil(last / 3) - 1]!, highest[last - 1]!];
  const scale = (near - far) / Math.log(3);
  return far + scale * Math.log(last * seldom);
}

/** How many of the highest cosines of so many pairs are looked at. */
const rankOf = (pairs: number) => Math.ceil(Math.max(1, pairs) ** 0.6);

/** The pairs of strangers above what strangers reach, the most alike first, and that cosine. */
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
  eachStrangers(group, { samePersonAbove: Number.POSITIVE_INFINITY }, (first, second, cosine) => {
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
      return { image1: a.file ?? a.person, image2: b.file ?? b.person, cosine };
    });
  return { reach, pairs };
}
