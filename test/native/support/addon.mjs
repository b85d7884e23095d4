// Shared by the child programs of the native tests. Plain JavaScript: Node 20 cannot run TypeScript.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export const pack = process.env.FACEMATCH_PACK_DIRECTORY;

export const load = () => createRequire(import.meta.url)(process.env.FACEMATCH_ADDON);

export const options = {
  accuracy_mode: 'fast',
  min_det_score: 0.7,
  use_heuristic_fallback: true,
  max_pixels: 64_000_000,
  min_side: 16,
};

const photos = new URL('../../../node_modules/@vladmandic/face-api/demo/', import.meta.url);
export const sample = (number) => readFileSync(fileURLToPath(new URL(`sample${number}.jpg`, photos)));

const photo = sample(1);

const manifest = JSON.parse(readFileSync(`${pack}/manifest.json`, 'utf8'));

export function loadPack() {
  const addon = load();
  addon.loadPack(pack, manifest);
  return addon;
}

/** Returns the result for a photo as JSON, without the times. */
export function analyseOnce(addon) {
  addon.loadPack(pack, manifest);
  const { timings_ms, cpu_ms, ...rest } = addon.analyse(pack, photo, options);
  if (rest.image?.faces.length !== 3) throw new Error(`unexpected result ${JSON.stringify(rest)}`);
  return JSON.stringify(rest);
}
