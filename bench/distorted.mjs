// Where `distorted` begins: how many unchanged faces, and how many of copies that were squeezed or stretched, have a `stretch` beyond
// each limit. Chosen on one half of the people and checked on the other:
//   node bench/distorted.mjs [--every N] DIR…
// A person is a folder in DIR or in its folder `images`, or an image without one. --every takes each Nth image; copies
// are made of every tenth of them. Needs npm run setup -- --dev.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { qualityLimits } from '../dist/src/endpoints/face-quality.js';
import { loadPack } from '../dist/src/engine/load-addon.js';
import { readManifest } from '../dist/src/engine/manifest.js';
import { root } from '../test/support/programs.mjs';
import { progress } from '../test/support/report.mjs';

const widths = [0.55, 0.67, 0.8, 1.25, 1.5, 1.8];
const limits = [1.15, 1.2, 1.25, 1.3, 1.35, 1.4];
/** The share of unchanged faces that may be warned of. */
const most = 0.002;

const pack = join(root, 'models/packs/default');
const manifest = readManifest(pack);
const addon = loadPack(pack, manifest);
const { measured } = qualityLimits.find(({ reason }) => reason === 'distorted');

/** What is compared with the limit; of the largest face, undefined without one. */
function stretchOf(bytes) {
  const { ok, image } = addon.analyse(pack, bytes, {
    accuracy_mode: 'fast',
    use_heuristic_fallback: false,
    min_det_score: manifest.min_det_score,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  return ok && image.faces.length > 0 ? measured(image.faces[0]) : undefined;
}

function imagesOf(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => /\.(jpe?g|png|webp)$/i.test(file));
  return files.sort().map((file) => {
    const [first] = file.split(sep).filter((part) => part !== 'images');
    const person = `${folder} ${first}`;
    const chosen = createHash('sha256').update(person).digest()[0] % 2 === 0;
    return { file: join(folder, file), set: basename(resolve(folder)), half: chosen ? 'chosen' : 'checked' };
  });
}

/** By half, then by what was done to the image. */
const seen = { chosen: {}, checked: {} };
function count(half, what, stretch) {
  if (stretch === undefined) return;
  seen[half][what] = [...(seen[half][what] ?? []), stretch];
}

const { values, positionals: folders } = parseArgs({
  options: { every: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const images = folders.flatMap(imagesOf).filter((_image, i) => i % Number(values.every) === 0);
for (const [index, { file, set, half }] of images.entries()) {
  progress(`${index} of ${images.length}`);
  const bytes = readFileSync(file);
  const stretch = stretchOf(bytes);
  count(half, 'unchanged', stretch);
  count(half, set, stretch);
  if (index % 10 > 0 || stretch === undefined) continue;
  const { width, height } = await sharp(bytes).metadata();
  for (const k of widths) {
    const size = { width: Math.round(width * k), height, fit: 'fill' };
    count(
      half,
      `width × ${k}`,
      stretchOf(await sharp(bytes).resize(size).png({ compressionLevel: 1 }).toBuffer()),
    );
  }
}
progress('');

const beyond = (values, limit) => values.filter((value) => value > limit).length;
const cells = (values = []) => [values.length, ...limits.map((limit) => beyond(values, limit))];
for (const half of ['chosen', 'checked']) {
  console.log([`half ${half}: faces beyond`, 'of', ...limits].join('\t'));
  for (const [what, values] of Object.entries(seen[half])) console.log([what, ...cells(values)].join('\t'));
}
const { unchanged } = seen.chosen;
const limit = limits.find((one) => beyond(unchanged, one) <= most * unchanged.length);
console.log(`the lowest limit with at most ${most * 100} % of unchanged faces of the first half: ${limit}`);
