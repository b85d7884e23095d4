import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  columns,
  dot,
  type Fed,
  loadPack,
  netsAlone,
  readConfig,
  readManifest,
  withBar,
} from 'facematch/for-lab';
import { embedImages } from '../embed-images.ts';
import { type Interval, tarAtFmr, wilson, z } from '../metrics.ts';
import { countText, intervalText, percentText, rateText } from '../number-text.ts';
import { imagesOf, type LabelledPair } from '../pairs.ts';
import type { PersonImage } from '../people.ts';

/** Every usual way to feed an embedder, tried on labelled pairs: a wrong one gives plausible numbers too. */

export interface TriedFeeding extends Fed {
  /** The share of pairs of one person that are recognised where strangers pass as rarely as `fmr`, and its 95 % interval. */
  recognised: number;
  interval: Interval;
  /** Whether the manifest says so. */
  current: boolean;
}

export interface FeedingTrial {
  /** The rate of strangers, of those that their pairs show the rarest. */
  fmr: number;
  pairs: { same: number; different: number };
  /** The best first. */
  tried: TriedFeeding[];
  /** Whether the best is better than the current one by more than chance. */
  is_better: boolean;
}

const ranges = [
  { mean: 127.5, scale: 1 / 127.5 },
  { mean: 0, scale: 1 },
  { mean: 0, scale: 1 / 255 },
] as const;
const ways: Fed[] = (['rgb', 'bgr'] as const).flatMap((channels) =>
  ranges.map((range) => ({ channels, ...range })),
);

/** Fewer pairs of a kind show nothing. */
const leastPairs = 20;
/** So many are enough to tell ways apart, in some minutes. */
const mostPeople = 300;
const strangersEach = 10;

/** Pairs of a set's people who have two images; undefined where these are too few. */
export function pairsOfPeople(images: readonly PersonImage[]): LabelledPair[] | undefined {
  const imagesOfPerson = new Map<string, PersonImage[]>();
  for (const image of images) {
    imagesOfPerson.set(image.person, [...(imagesOfPerson.get(image.person) ?? []), image]);
  }
  const twice = [...imagesOfPerson.values()].filter(({ length }) => length > 1).slice(0, mostPeople);
  if (twice.length < leastPairs) return undefined;
  const pairOf = (first: PersonImage, second: PersonImage, same: boolean) => {
    return { image1: first.file, image2: second.file, same, fold: undefined };
  };
  return twice.flatMap(([first, second], place) => [
    pairOf(first!, second!, true),
    ...twice.slice(place + 1, place + 1 + strangersEach).map(([other]) => pairOf(first!, other!, false)),
  ]);
}

/** What was tried, in lines. */
export function feedingLines({ fmr, pairs, tried, is_better }: FeedingTrial): string[] {
  const wordsOf = ({ channels, mean, scale }: Fed) =>
    `${channels.toUpperCase()}, (byte − ${mean}) × ${Number(scale.toPrecision(6))}`;
  const [best] = tried;
  const current = tried.find((one) => one.current)!;
  return [
    `Ways to feed the embedder, tried on ${countText(pairs.same)} pairs of one person and ${countText(pairs.different)} of strangers:`,
    ...columns(
      ['fed', `recognised at ${rateText(fmr)}`, '95 % interval, %', ''],
      tried.map((one) => [
        ...[wordsOf(one), percentText(one.recognised), intervalText(one.interval)],
        one.current ? 'as the manifest says' : '',
      ]),
    ),
    is_better
      ? `Fed ${wordsOf(best!)} it recognises ${percentText(best!.recognised - current.recognised)} more: correct channels, mean and scale of the embedder in manifest.json.`
      : 'No way is better than that of the manifest by more than chance.',
  ];
}

/** Rejects with an Error with a message for people when there are too few pairs with faces. */
export async function tryFeedings(
  directory: string,
  pairs: readonly LabelledPair[],
  folder: string,
): Promise<FeedingTrial> {
  const manifest = readManifest(directory);
  const { embedder, min_det_score: minDetScore } = manifest;
  const { workers } = readConfig();
  const isCurrent = ({ channels, mean, scale }: Fed) =>
    channels === embedder.channels && mean === embedder.mean && Math.abs(scale / embedder.scale - 1) < 0.01;
  const own = { channels: embedder.channels, mean: embedder.mean, scale: embedder.scale };
  const all = ways.some(isCurrent) ? ways : [own, ...ways];
  const names = imagesOf(pairs);
  const links = mkdtempSync(join(tmpdir(), 'facematch-feeding-'));
  try {
    const found = await withBar('feedings', all.length * names.length, async (onImage) => {
      const each = [];
      for (const [place, way] of all.entries()) {
        // The addon keeps what it has loaded of a directory: another name makes it another pack.
        const packDirectory = join(links, String(place));
        symlinkSync(resolve(directory), packDirectory);
        loadPack(packDirectory, { ...netsAlone(manifest), embedder: { ...embedder, ...asMember(way) } });
        const how = { packDirectory, folder, mode: 'balance', minDetScore, workers, onImage } as const;
        each.push({ way, images: await embedImages(names, how) });
      }
      return each;
    });
    return judge(found, pairs, (way) => way === own || isCurrent(way));
  } finally {
    rmSync(links, { recursive: true });
  }
}

type Found = { way: Fed; images: Awaited<ReturnType<typeof embedImages>> };

function judge(
  found: readonly Found[],
  pairs: readonly LabelledPair[],
  isCurrent: (way: Fed) => boolean,
): FeedingTrial {
  const scoredBy = ({ images }: Found) =>
    pairs.flatMap(({ image1, image2, same }) => {
      const [a, b] = [images.get(image1)?.embedding, images.get(image2)?.embedding];
      return a && b ? [{ score: dot(a, b), same, fold: undefined }] : [];
    });
  const first = scoredBy(found[0]!);
  const same = first.filter((pair) => pair.same).length;
  const different = first.length - same;
  if (Math.min(same, different) < leastPairs) {
    throw new Error(
      `How the embedder is fed cannot be tried: it takes ${leastPairs} pairs of one person and ${leastPairs} of strangers with faces, and there are ${same} and ${different}.`,
    );
  }
  const fmr = [1e-3, 1e-2].find((rate) => rate * different >= 1) ?? 0.1;
  const judged = found
    .map((one) => {
      const scored = scoredBy(one);
      const { tar: recognised, threshold } = tarAtFmr(scored, fmr);
      const hits = scored.filter((pair) => pair.same).map(({ score }) => score >= threshold);
      const interval = wilson(Math.round(recognised * same), same);
      return { hits, feeding: { ...one.way, recognised, interval, current: isCurrent(one.way) } };
    })
    .sort(
      ({ feeding: a }, { feeding: b }) =>
        b.recognised - a.recognised || Number(b.current) - Number(a.current),
    );
  const current = judged.find(({ feeding }) => feeding.current)!;
  const tried = judged.map(({ feeding }) => feeding);
  return { fmr, pairs: { same, different }, tried, is_better: isBetter(judged[0]!.hits, current.hits) };
}

/** Two ways are compared on the same pairs, by those that one of both recognises alone (McNemar 1947). */
function isBetter(best: readonly boolean[], current: readonly boolean[]): boolean {
  const [gained, lost] = [best, current].map((one) => {
    const other = one === best ? current : best;
    return one.filter((hit, pair) => hit && !other[pair]).length;
  }) as [number, number];
  return gained - lost > z * Math.sqrt(gained + lost);
}

/** A manifest has one mean, or three. */
function asMember({ channels, mean, scale }: Fed) {
  return { channels, scale, mean: typeof mean === 'number' ? mean : (mean as [number, number, number]) };
}
