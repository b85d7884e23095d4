import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { samples } from '../../config/paths.ts';
import { type Analysis, type Face, type StageTimings, stages } from '../../engine/addon.ts';
import { loadAddon, loadPack } from '../../engine/load-addon.ts';
import type { Manifest } from '../../engine/manifest.ts';
import { cosine } from '../../scoring/similarity.ts';

/** Results of a pack on the sample photos. */

/** Boxes that the default pack finds in each photo, in pixels. The first of each photo is the woman who is in both. */
const people: readonly (readonly Box[])[] = [
  [
    { x: 1454, y: 222, width: 236, height: 213 },
    { x: 822, y: 423, width: 217, height: 228 },
    { x: 413, y: 353, width: 191, height: 242 },
  ],
  [
    { x: 1075, y: 203, width: 232, height: 313 },
    { x: 594, y: 317, width: 203, height: 281 },
    { x: 1504, y: 302, width: 183, height: 275 },
  ],
];

type Box = Face['box'];

export type Trial = Awaited<ReturnType<typeof tryPack>>;

/**
 * Runs the pack on the sample photos. Returns `faces`: the number of faces in each photo; `overlap`: the mean, over
 * the known boxes, of the best intersection over union with a found box; `mated`: the cosine of the woman's mated
 * pair, undefined if she was not found in both; `non_mated`: the highest non-mated cosine, undefined without such
 * pairs; `live_scores`: those of all faces, ascending. Rejects with an Error if the pack does not load or run.
 */
export async function tryPack(directory: string, draft: Manifest) {
  loadPack(directory, draft);
  const found: Face[][] = [];
  for (const file of samples) {
    // Lets the process handle signals between the photos.
    await setImmediate();
    found.push(analysed(directory, draft, readFileSync(file)).image.faces);
  }
  const [a, b] = found as [Face[], Face[]];
  const [herA, herB] = [a, b].map((faces, i) => faces.find(({ box }) => contains(box, people[i]![0]!)));
  const pairs = a.flatMap((one) => b.map((other) => ({ one, other })));
  const cosines = (isHer: boolean) =>
    pairs.flatMap(({ one, other }) =>
      (one === herA && other === herB) === isHer ? cosine(one.embedding, other.embedding) : [],
    );
  const others = cosines(false);
  return {
    faces: [a.length, b.length],
    overlap: meanOf(
      people.flatMap((known, i) =>
        known.map((box) => Math.max(0, ...found[i]!.map((face) => overlapOf(face.box, box)))),
      ),
    ),
    mated: cosines(true)[0],
    non_mated: others.length > 0 ? Math.max(...others) : undefined,
    live_scores: [...a, ...b].flatMap(({ live_score }) => live_score ?? []).sort((x, y) => x - y),
  };
}

export const enoughFaces = ({ faces }: Trial) => faces.every((found, i) => found === people[i]!.length);

/** Difference between the mated cosine and the highest non-mated cosine; -2 if unknown. */
export function margin({ mated, non_mated }: Trial): number {
  return mated === undefined || non_mated === undefined ? -2 : mated - non_mated;
}

export interface InputScaling {
  channels: 'rgb' | 'bgr';
  /** One value, or one per channel. */
  mean: number | readonly number[];
  scale: number;
}

/** Input scalings of arcface embedders, by publisher. */
export const preprocessings = {
  insightface: { channels: 'rgb', mean: 127.5, scale: 1 / 127.5 },
  sface: { channels: 'rgb', mean: 0, scale: 1 },
  adaface: { channels: 'bgr', mean: 127.5, scale: 1 / 127.5 },
} as const satisfies Record<string, InputScaling>;

export type Preprocessing = keyof typeof preprocessings;

/** Gain in margin above which another preprocessing is suggested. */
const minGain = 0.15;

/**
 * Returns the name of the input scaling with which the embedder separates the people of the photos best; undefined
 * unless it gains more than `minGain`.
 */
export async function betterPreprocessing(
  directory: string,
  draft: Manifest,
  now: Trial,
): Promise<Preprocessing | undefined> {
  const tried: { name: Preprocessing; gain: number }[] = [];
  for (const name of Object.keys(preprocessings) as Preprocessing[]) {
    const embedder = { ...draft.embedder, ...preprocessings[name] };
    // The pack's own scaling gains nothing.
    if (isDeepStrictEqual(embedder, draft.embedder)) continue;
    tried.push({ name, gain: margin(await tryAs(directory, { ...draft, embedder })) - margin(now) });
  }
  const best = tried.reduce((a, b) => (b.gain > a.gain ? b : a));
  return best.gain > minGain ? best.name : undefined;
}

/** Returns the manifest without members whose files do not affect embeddings. */
export function embeddingPart<Pack extends Manifest>(pack: Pack): Pack {
  const alone = { ...pack };
  for (const member of ['cohort', 'human', 'occlusion', 'liveness'] as const) delete alone[member];
  return alone;
}

/** Runs the sample photos with the models of this directory and another manifest. */
export async function tryAs(directory: string, draft: Manifest): Promise<Trial> {
  // The addon caches loaded packs by directory, so a link gives the pack a new cache entry.
  const folder = mkdtempSync(join(tmpdir(), 'facematch-pack-'));
  const link = join(folder, 'pack');
  try {
    symlinkSync(resolve(directory), link);
    return await tryPack(link, embeddingPart(draft));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const timedRounds = 5;

/** Returns each pack's median time of each stage in ms, for the first photo in mode balance. Packs run alternately. */
export function timePacks(packs: readonly { directory: string; draft: Manifest }[]): StageTimings[] {
  for (const { directory, draft } of packs) loadPack(directory, draft);
  const photo = readFileSync(samples[0]);
  const rounds = Array.from({ length: timedRounds }, () =>
    packs.map(
      ({ directory, draft }) => analysed(directory, { ...draft, liveness: undefined }, photo).timings_ms,
    ),
  );
  return packs.map((_, i) => {
    const middle = (stage: keyof StageTimings) =>
      rounds.map((one) => one[i]![stage]).sort((a, b) => a - b)[timedRounds >> 1]!;
    return Object.fromEntries(stages.map((stage) => [stage, middle(stage)])) as StageTimings;
  });
}

function analysed(directory: string, { min_det_score, liveness }: Manifest, photo: Uint8Array): Analysis {
  const outcome = loadAddon().analyse(directory, photo, {
    accuracy_mode: 'balance',
    min_det_score,
    use_heuristic_fallback: true,
    detect_presentation_attack: liveness !== undefined,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (outcome.ok) return outcome;
  throw new Error(outcome.code === 'internal_error' ? outcome.message : `A sample photo: ${outcome.code}`);
}

/** Returns true if the centre of the other box is inside. */
function contains({ x, y, width, height }: Box, other: Box): boolean {
  const [across, down] = [other.x + other.width / 2, other.y + other.height / 2];
  return across >= x && across <= x + width && down >= y && down <= y + height;
}

/** Intersection over union. */
function overlapOf(a: Box, b: Box): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / (a.width * a.height + b.width * b.height - shared);
}

const meanOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
