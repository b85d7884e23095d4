import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { samples } from '../../config/samples.ts';
import { type Analysis, type Face, type Point, type StageTimings, stages } from '../../engine/addon.ts';
import { type Feeding, feedings } from '../../engine/families.ts';
import { loadAddon, loadPack } from '../../engine/load-addon.ts';
import type { Manifest } from '../../engine/manifest.ts';
import { cosine } from '../../scoring/similarity.ts';

/** A pack on the sample photos. */

/** Each of the photos shows so many. */
const people = 3;
/** Where the woman of both photos is in each of them: a point within her face, in pixels. */
const woman: readonly [Point, Point] = [
  [1551, 338],
  [1138, 389],
];

export type Trial = Awaited<ReturnType<typeof tryPack>>;

/**
 * The faces found in each photo, the cosine of the woman with herself (undefined when she was not found), the highest one of two
 * different people, and the live scores of all faces, lowest first. Rejects with an Error when the pack does not load or run. Signals are heard between the photos.
 */
export async function tryPack(directory: string, draft: Manifest) {
  loadPack(directory, draft);
  const found: Face[][] = [];
  for (const file of samples) {
    await setImmediate();
    found.push(analysed(directory, draft, readFileSync(file)).image.faces);
  }
  const [a, b] = found as [Face[], Face[]];
  const [herA, herB] = [a, b].map((faces, i) => faces.find(({ box }) => contains(box, woman[i]!)));
  const pairs = a.flatMap((one) => b.map((other) => ({ one, other })));
  const cosines = (isHer: boolean) =>
    pairs.flatMap(({ one, other }) =>
      (one === herA && other === herB) === isHer ? cosine(one.embedding, other.embedding) : [],
    );
  const others = cosines(false);
  return {
    faces: [a.length, b.length],
    same: cosines(true)[0],
    strangers: others.length > 0 ? Math.max(...others) : undefined,
    live_scores: [...a, ...b].flatMap(({ live_score }) => live_score ?? []).sort((x, y) => x - y),
  };
}

export const enoughFaces = ({ faces }: Trial) => faces.every((found) => found === people);

/** By how much the woman is more like herself than any two strangers are alike; -2 when nothing can be said. */
export function margin({ same, strangers }: Trial): number {
  return same === undefined || strangers === undefined ? -2 : same - strangers;
}

/** Nine pairs show no less. */
const clearly = 0.15;

/** Another way to feed the embedder by which the people of the photos are told apart much better; undefined for none. */
export async function betterFeeding(
  directory: string,
  draft: Manifest,
  now: Trial,
): Promise<Feeding | undefined> {
  const tried: { name: Feeding; gain: number }[] = [];
  for (const name of Object.keys(feedings) as Feeding[]) {
    const { channels, mean, scale } = feedings[name];
    const embedder = { ...draft.embedder, channels, mean, scale };
    tried.push({ name, gain: margin(await tryAs(directory, { ...draft, embedder })) - margin(now) });
  }
  const best = tried.reduce((most, one) => (one.gain > most.gain ? one : most));
  return best.gain > clearly ? best.name : undefined;
}

/** The pack's nets, without what was made for its embeddings or does not change them. */
export function netsAlone<Pack extends Manifest>(pack: Pack): Pack {
  const alone = { ...pack };
  for (const member of ['cohort', 'human', 'occlusion', 'liveness'] as const) delete alone[member];
  return alone;
}

/** The pack with nothing but the nets of another manifest. */
async function tryAs(directory: string, draft: Manifest): Promise<Trial> {
  // The addon keeps what it has loaded of a directory: another name makes it another pack.
  const folder = mkdtempSync(join(tmpdir(), 'facematch-pack-'));
  const link = join(folder, 'pack');
  try {
    symlinkSync(resolve(directory), link);
    return await tryPack(link, netsAlone(draft));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const timedRounds = 9;

/** Medians of each stage of the first photo, in milliseconds, mode balance; the packs take turns. */
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

function contains({ x, y, width, height }: Face['box'], [px, py]: Point): boolean {
  return px >= x && px <= x + width && py >= y && py <= y + height;
}
