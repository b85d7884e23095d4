import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  columns,
  dot,
  embeddingPart,
  type InputScaling,
  loadPack,
  readConfig,
  readManifest,
} from 'facematch/for-lab';
import { embedImages } from '../embed-images.ts';
import { fnmrAtFmr, PersonRate, t95 } from '../metrics.ts';
import { countText, intervalText, percentText, rateText } from '../number-text.ts';
import { imagesOf, type LabelledPair, peopleOfPairs } from '../pairs.ts';
import { byPerson, type PersonImage } from '../people.ts';

/**
 * Compares the common input scalings of an embedder on labelled pairs, because scores with a wrong scaling also look
 * plausible.
 */

export type PreprocessingTrial = ReturnType<typeof judge>;

const ranges = [
  { mean: 127.5, scale: 1 / 127.5 },
  { mean: 0, scale: 1 },
  { mean: 0, scale: 1 / 255 },
] as const;
const variants: InputScaling[] = (['rgb', 'bgr'] as const).flatMap((channels) =>
  ranges.map((range) => ({ channels, ...range })),
);

/** Minimum number of mated pairs, and of non-mated pairs, for a conclusive comparison. */
const minPairs = 20;
/** Maximum number of people, so that the comparison takes only a few minutes. */
const maxPeople = 300;
/** Maximum number of non-mated pairs for each person. */
const nonMatedPairsPerPerson = 10;

/**
 * Returns mated and non-mated pairs of the people with at least two images; undefined if there are too few such
 * people.
 */
export function pairsOfPeople(images: readonly PersonImage[]): LabelledPair[] | undefined {
  const eligible = byPerson(images)
    .filter(({ length }) => length > 1)
    .slice(0, maxPeople);
  if (eligible.length < minPairs) return undefined;
  const pairOf = (first: PersonImage, second: PersonImage, same: boolean) => {
    return { image1: first.file, image2: second.file, same, fold: undefined };
  };
  return eligible.flatMap(([first, second], place) => [
    pairOf(first!, second!, true),
    ...eligible
      .slice(place + 1, place + 1 + nonMatedPairsPerPerson)
      .map(([other]) => pairOf(first!, other!, false)),
  ]);
}

export function preprocessingLines({ fmr, pairs, tried, is_better }: PreprocessingTrial): string[] {
  const scalingText = ({ channels, mean, scale }: InputScaling) =>
    `${channels.toUpperCase()}, (byte − ${mean}) × ${Number(scale.toPrecision(6))}`;
  const [best] = tried;
  const current = tried.find((one) => one.current)!;
  return [
    `Input scalings of the embedder, compared on ${countText(pairs.mated)} mated and ${countText(pairs.non_mated)} non-mated pairs:`,
    ...columns(
      ['input', `FNMR at an FMR of ${rateText(fmr)}`, '95 % interval by person, %', 'separation', ''],
      tried.map((one) => [
        ...[scalingText(one), percentText(one.fnmr), intervalText(one.fnmr_interval), one.apart.toFixed(2)],
        one.current ? 'in the manifest' : '',
      ]),
    ),
    'Separation: mean score of mated pairs minus that of non-mated pairs, in standard deviations of non-mated scores.',
    is_better
      ? `${scalingText(best!)} separates the pairs better, ${best!.apart.toFixed(2)} instead of ${current.apart.toFixed(2)}: correct channels, mean and scale of the embedder in manifest.json.`
      : 'No input scaling is significantly better than the one in the manifest.',
  ];
}

/** Rejects with an Error, whose message is meant for the user, if there are too few pairs with faces. */
export async function tryPreprocessings(directory: string, pairs: readonly LabelledPair[], folder: string) {
  const manifest = readManifest(directory);
  const { embedder, min_det_score: minDetScore } = manifest;
  const { workers } = readConfig();
  const isCurrent = ({ channels, mean, scale }: InputScaling) =>
    channels === embedder.channels && mean === embedder.mean && Math.abs(scale / embedder.scale - 1) < 0.01;
  const own = { channels: embedder.channels, mean: embedder.mean, scale: embedder.scale };
  const all = variants.some(isCurrent) ? variants : [own, ...variants];
  const names = imagesOf(pairs);
  const links = mkdtempSync(join(tmpdir(), 'facematch-preprocessing-'));
  try {
    const found: Found[] = [];
    for (const [place, variant] of all.entries()) {
      // The addon caches loaded packs by directory, so each variant needs a directory of its own.
      const packDirectory = join(links, String(place));
      symlinkSync(resolve(directory), packDirectory);
      loadPack(packDirectory, {
        ...embeddingPart(manifest),
        embedder: { ...embedder, ...asMember(variant) },
      });
      const how = { packDirectory, folder, mode: 'balance', minDetScore, workers } as const;
      const images = await embedImages(`preprocessing ${place + 1} of ${all.length}`, names, how);
      found.push({ variant, images });
    }
    return judge(found, pairs, (variant) => variant === own || isCurrent(variant));
  } finally {
    rmSync(links, { recursive: true });
  }
}

type Found = { variant: InputScaling; images: Awaited<ReturnType<typeof embedImages>> };

/** Sorts `tried` by separation of the pairs, the best input scaling first. */
function judge(
  found: readonly Found[],
  pairs: readonly LabelledPair[],
  isCurrent: (variant: InputScaling) => boolean,
) {
  const people = peopleOfPairs(pairs);
  const scoredBy = ({ images }: Found) =>
    pairs.flatMap(({ image1, image2, same }) => {
      const [a, b] = [images.get(image1)?.embedding, images.get(image2)?.embedding];
      return a && b ? [{ score: dot(a, b), same, fold: undefined, person: people.get(image1)! }] : [];
    });
  const first = scoredBy(found[0]!);
  const mated = first.filter((pair) => pair.same).length;
  const non_mated = first.length - mated;
  if (Math.min(mated, non_mated) < minPairs) {
    throw new Error(
      `Cannot compare input scalings: at least ${minPairs} mated and ${minPairs} non-mated pairs with faces are needed, but there are ${mated} and ${non_mated}.`,
    );
  }
  // The lowest FMR that these non-mated pairs can measure.
  const fmr = [1e-3, 1e-2].find((rate) => rate * non_mated >= 1) ?? 0.1;
  const judged = found
    .map((one) => {
      const scored = scoredBy(one);
      const { threshold } = fnmrAtFmr(scored, fmr);
      const nonMatches = new PersonRate(people.size);
      for (const pair of scored) if (pair.same) nonMatches.add(pair.score < threshold, pair.person);
      const { rate: fnmr, interval: fnmr_interval } = nonMatches;
      const nonMated = momentsOf(scored.filter((pair) => !pair.same).map(({ score }) => score));
      const heights = scored.flatMap((pair) => (pair.same ? (pair.score - nonMated.mean) / nonMated.sd : []));
      const apart = momentsOf(heights).mean;
      return {
        heights,
        preprocessing: { ...one.variant, fnmr, fnmr_interval, apart, current: isCurrent(one.variant) },
      };
    })
    .sort(({ preprocessing: a }, { preprocessing: b }) => b.apart - a.apart);
  const current = judged.find(({ preprocessing }) => preprocessing.current)!;
  const tried = judged.map(({ preprocessing }) => preprocessing);
  return {
    fmr,
    pairs: { mated, non_mated },
    tried,
    is_better: isBetter(judged[0]!.heights, current.heights),
  };
}

function momentsOf(values: readonly number[]): { mean: number; sd: number } {
  const mean = sum(values) / values.length;
  return { mean, sd: Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / (values.length - 1)) };
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

/**
 * Compares the separation of the same mated pairs under two input scalings by a paired t-test. Ignores a gain of
 * less than 1 %, because a mean of 127 instead of 127.5 makes such a difference. With the default embedder, a wrong
 * channel order costs 7 to 8 % of the separation.
 */
export function isBetter(best: readonly number[], current: readonly number[]): boolean {
  const { mean, sd } = momentsOf(best.map((height, pair) => height - current[pair]!));
  return (
    mean > Math.max((t95(best.length - 1) * sd) / Math.sqrt(best.length), 0.01 * momentsOf(current).mean)
  );
}

/** Narrows `mean` to the manifest's type: one number, or three. */
function asMember({ channels, mean, scale }: InputScaling) {
  return { channels, scale, mean: typeof mean === 'number' ? mean : (mean as [number, number, number]) };
}
