// What the child programs of the native tests share. Plain JavaScript: Node 20 runs no TypeScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export const pack = process.env.FACEMATCH_PACK_DIRECTORY;

/** Loads the addon into this thread. */
export const load = () => createRequire(import.meta.url)(process.env.FACEMATCH_ADDON);

export const options = {
  accuracy_mode: 'fast',
  min_det_score: 0.7,
  use_heuristic_fallback: true,
  max_pixels: 50_000_000,
  min_side: 16,
  image1_face_index: -1,
  image2_face_index: -1,
  auto_pair_best: true,
};

const photos = new URL('../../../node_modules/@vladmandic/face-api/demo/', import.meta.url);
export const sample = (number) => readFileSync(fileURLToPath(new URL(`sample${number}.jpg`, photos)));

const first = sample(1);
const second = sample(3);
const body = Buffer.concat([first, second]);

/** The answer of a match of two photos without its times, as text. `more`: further options. */
export function matchOnce(addon, more = {}) {
  const found = addon.match(
    pack,
    body,
    { start: 0, end: first.length },
    { start: first.length, end: body.length },
    { ...options, ...more },
  );
  const { timings_ms, ...rest } = found;
  if (!rest.ok || rest.pairs.length !== 9) throw new Error(`unexpected answer ${JSON.stringify(rest)}`);
  return JSON.stringify(rest);
}
