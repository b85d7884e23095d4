import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { samples } from '../../config/samples.ts';
import type { AnalyseOptions, Analysis, Point, StageTimings } from '../../engine/addon.ts';
import { cosine } from '../../engine/cosine.ts';
import { type Feeding, feedings } from '../../engine/families.ts';
import { loadAddon, loadPack } from '../../engine/load-addon.ts';
import type { PackDraft } from '../../engine/manifest.ts';

/** A pack on the sample photos. */

/** In each of the photos. */
const people = 3;
/** Where the woman of both photos is in each of them: a point within her face, in pixels. */
const woman: readonly [Point, Point] = [
  [1551, 338],
  [1138, 389],
];

export interface Trial {
  /** Faces found in each photo; there are three. */
  faces: number[];
  /** Cosine of the woman with herself; undefined when she was not found. */
  same: number | undefined;
  /** The highest cosine of two different people. */
  strangers: number | undefined;
  /** The live scores of all faces, lowest first; empty when the pack gives none. */
  live_scores: number[];
}

/** Throws an Error when the pack does not load or run. */
export function tryPack(directory: string, draft: PackDraft): Trial {
  loadPack(directory, draft);
  const { min_det_score } = draft;
  const how = { min_det_score, detect_presentation_attack: true };
  const [first, second] = samples.map((file) => analysed(directory, readFileSync(file), how));
  const [a, b] = [first!.image.faces, second!.image.faces];
  const [herA, herB] = [a, b].map((faces, i) => faces.findIndex(({ box }) => contains(box, woman[i]!)));
  let same: number | undefined;
  const others: number[] = [];
  for (const [i, one] of a.entries()) {
    for (const [k, other] of b.entries()) {
      const likeness = cosine(one.embedding, other.embedding);
      if (i === herA && k === herB) same = likeness;
      else others.push(likeness);
    }
  }
  const strangers = others.length > 0 ? Math.max(...others) : undefined;
  const live_scores = [...a, ...b].flatMap(({ live_score }) => live_score ?? []).sort((x, y) => x - y);
  return { faces: [a.length, b.length], same, strangers, live_scores };
}

export const enoughFaces = ({ faces }: Trial) => faces.every((found) => found === people);

/** By how much the woman is more like herself than any two strangers are alike; -2 when nothing can be said. */
export function margin({ same, strangers }: Trial): number {
  return same === undefined || strangers === undefined ? -2 : same - strangers;
}

/** Another way to feed the embedder by which the people of the photos are told apart much better; undefined for none. */
export function betterFeeding(directory: string, draft: PackDraft, now: Trial): Feeding | undefined {
  const tried = (Object.keys(feedings) as Feeding[]).map((name) => {
    const { channels, mean, scale } = feedings[name];
    const embedder = { ...draft.embedder, channels, mean, scale };
    return { name, gain: margin(tryAs(directory, { ...draft, embedder })) - margin(now) };
  });
  const best = tried.reduce((most, one) => (one.gain > most.gain ? one : most));
  return best.gain > clearly ? best.name : undefined;
}

/** Nine pairs show no less. */
const clearly = 0.15;

/** With another manifest, and without what was made for the pack's embeddings or does not change them. */
function tryAs(directory: string, draft: PackDraft): Trial {
  const { cohort: _, human: __, occlusion: ___, liveness: ____, ...rest } = draft;
  // The addon keeps what it has loaded of a directory: another name makes it another pack.
  const folder = mkdtempSync(join(tmpdir(), 'facematch-pack-'));
  const link = join(folder, 'pack');
  try {
    symlinkSync(resolve(directory), link);
    return tryPack(link, rest);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Medians of each stage of the first photo, in milliseconds, mode balance; the packs take turns. */
export function timePacks(packs: readonly { directory: string; draft: PackDraft }[]): StageTimings[] {
  for (const { directory, draft } of packs) loadPack(directory, draft);
  const photo = readFileSync(samples[0]);
  const rounds = packs.map((): StageTimings[] => []);
  for (let round = 0; round < timedRounds; round++) {
    for (const [i, { directory, draft }] of packs.entries()) {
      const { min_det_score } = draft;
      rounds[i]!.push(analysed(directory, photo, { min_det_score }).timings_ms);
    }
  }
  return rounds.map((timings) => {
    const middle = (stage: keyof StageTimings) =>
      timings.map((one) => one[stage]).sort((a, b) => a - b)[timings.length >> 1]!;
    return {
      decode: middle('decode'),
      detect: middle('detect'),
      align: middle('align'),
      embed: middle('embed'),
    };
  });
}

const timedRounds = 9;

function analysed(
  directory: string,
  photo: Uint8Array,
  how: Pick<AnalyseOptions, 'min_det_score' | 'detect_presentation_attack'>,
): Analysis {
  const options: AnalyseOptions = {
    accuracy_mode: 'balance',
    ...how,
    use_heuristic_fallback: true,
    max_pixels: 64_000_000,
    min_side: 16,
  };
  const outcome = loadAddon().analyse(directory, photo, options);
  if (outcome.ok) return outcome;
  throw new Error(outcome.code === 'internal_error' ? outcome.message : `A sample photo: ${outcome.code}`);
}

function contains(
  { x, y, width, height }: Analysis['image']['faces'][number]['box'],
  [px, py]: Point,
): boolean {
  return px >= x && px <= x + width && py >= y && py <= y + height;
}
