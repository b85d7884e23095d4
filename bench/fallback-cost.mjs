// What the fallback costs in pictures without a face, where it climbs in vain to its end:
//   node bench/fallback-cost.mjs [--rounds N] [--json]
// Each picture as it is, and one made 50 megapixels large; with and without the fallback in turns. Times are CPU times of
// the process, which a busy machine stretches less than those on the wall. Needs npm run setup -- --dev; takes drawings where ../shared is not there.
import { join } from 'node:path';
import sharp from 'sharp';
import { loadAddon } from '../dist/src/engine/addon.js';
import * as sets from './lib/hard/sets.mjs';
import { environment, flags } from './lib/report.mjs';
import { root } from './lib/server.mjs';

const options = flags({ rounds: 5, json: false });
const pack = join(root, 'models/packs/default');
const addon = loadAddon();
addon.loadPack(pack);

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** CPU milliseconds of decoding a picture and looking for faces. */
function cost(bytes, use_heuristic_fallback) {
  const before = process.cpuUsage();
  const { ok, code, image } = addon.detect(pack, bytes, {
    accuracy_mode: 'balance',
    use_heuristic_fallback,
    min_det_score: 0.7,
    max_pixels: 50_000_000,
    min_side: 16,
  });
  const { user, system } = process.cpuUsage(before);
  if (!ok) throw new Error(code);
  if (image.faces.length > 0) throw new Error('There is a face in the picture');
  return (user + system) / 1000;
}

function measure({ name, bytes }) {
  const costs = { without: [], with: [] };
  for (let round = 0; round < options.rounds; round++) {
    costs.without.push(cost(bytes, false));
    costs.with.push(cost(bytes, true));
  }
  const first = middle(costs.without);
  return { name, first_ms: first, ladder_ms: middle(costs.with) - first };
}

async function drawn(width, height) {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 };
  const picture = sharp({ create: { width, height, channels: 3, noise } });
  return { name: `noise of ${width} × ${height}`, bytes: await picture.jpeg().toBuffer() };
}

const pictures = sets.shared ? sets.negatives() : [await drawn(640, 480), await drawn(1920, 1080)];
const huge = await sharp(pictures[0].bytes).resize(8660, 5773, { fit: 'fill' }).jpeg().toBuffer();
const small = pictures.map(measure);
const large = measure({ name: `${pictures[0].name} at 50 megapixels`, bytes: huge });

if (options.json) {
  console.log(JSON.stringify({ environment: environment(), pictures: [...small, large] }));
} else {
  const row = (name, { first_ms, ladder_ms }) =>
    console.log(`| ${name} | ${first_ms.toFixed(0)} | ${ladder_ms.toFixed(0)} |`);
  console.log('| picture | decoding and first look, ms | the whole ladder on top, ms |\n|---|---|---|');
  const typical = (key) => middle(small.map((each) => each[key]));
  row(`the middle of ${small.length}`, { first_ms: typical('first_ms'), ladder_ms: typical('ladder_ms') });
  row('the dearest of them', small.toSorted((a, b) => b.ladder_ms - a.ladder_ms)[0]);
  row('50 megapixels', large);
}
