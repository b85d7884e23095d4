// Somebody else's OpenCV as the judge of ours: the same pictures, decoded, shrunk and warped by opencv4nodejs from
// JavaScript and put through the nets as published, must lead to the same embeddings.
//   node bench/oracle.mjs [--pictures 100] [--json]
// Builds opencv4nodejs when it is not there, which takes some ten minutes.
import { readFileSync } from 'node:fs';
import { flags, progress, report } from './lib/report.mjs';
import { quantile } from './results/statistics.mjs';
import { portraits } from './scenarios/oracle.mjs';
import { setUp } from './setup/index.mjs';

const least_cosine = 0.999;
const options = flags({ pictures: 100, json: false });

await setUp(['opencv4nodejs']);
process.env.ORT_DISABLE_TELEMETRY = '1';
const { recogniser } = await import('./contenders/nets/worker.mjs');
const { cosine } = await import('./contenders/nets/compare.mjs');
const pixels = await import('./contenders/opencv4nodejs/pixels.mjs');
const { loadAddon } = await import('../dist/src/engine/addon.js');
const { packDirectory, readManifest } = await import('../dist/src/engine/pack.js');

const pack = packDirectory('default');
const addon = loadAddon();
addon.loadPack(pack);
const ours = (bytes, mode) =>
  addon.embed(pack, new Uint8Array(bytes), {
    accuracy_mode: mode,
    min_det_score: readManifest(pack).min_det_score,
    use_heuristic_fallback: false,
    max_pixels: 50_000_000,
    min_side: 16,
  }).embeddings?.[0];
const theirs = await recogniser({ ...pixels, decode: (bytes) => pixels.decode(bytes, { whole: true }) });

const files = await portraits(options.pictures);
const found = [];
for (const [index, file] of files.entries()) {
  progress(`${index + 1} of ${files.length}`);
  const bytes = readFileSync(file);
  for (const mode of ['fast', 'balance']) {
    const [a, { embedding: b }] = [ours(bytes, mode), await theirs({ bytes, mode })];
    // Neither sees a face: agreed. One alone: as far apart as can be.
    if (a || b) found.push({ file, mode, cosine: a && b ? cosine(a, b) : -1 });
  }
}
progress('');
const cosines = found.map((one) => one.cosine);
const below = found.filter((one) => one.cosine < least_cosine);
report({
  title: `Oracle: embeddings of ${files.length} pictures by way of opencv4nodejs and by ours`,
  json: options.json,
  facts: {
    compared: found.length,
    cosine: { lowest: Math.min(...cosines), p1: quantile(cosines, 0.01), median: quantile(cosines, 0.5) },
  },
  claims: [
    {
      what: 'lowest cosine of the two',
      found: [Math.min(...cosines), ...below.map(({ file, mode }) => `${file} ${mode}`)].join(' '),
      limit: `at least ${least_cosine}`,
      ok: found.length > 0 && below.length === 0,
    },
  ],
});
