// Makes the people that the packs are calibrated with out of the shared set origin-dev, in build/people:
//   node bench/people.mjs
// origin: its pictures, by links, and a people.tsv with `stage`: adult, or one of the ages below 20. origin-masks: every eighth of
// them with a mask drawn over nose, mouth and chin, because there are no pictures of real ones that may be used; `cover` is "mask".
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import sharp from 'sharp';
import { loadPack } from '../dist/src/engine/load-addon.js';
import { readDraft } from '../dist/src/engine/manifest.js';
import { root } from '../test/support/programs.mjs';
import { Random } from '../test/support/random.mjs';
import { progress } from '../test/support/report.mjs';
import { maskOver } from './hard/mask.mjs';
import { sharedData } from './lib/data.mjs';

const everyMask = 8;
const young = ['0-2', '3-9', '10-19'];

const shared = sharedData('origin-dev');
if (shared === undefined) {
  console.error('There is no shared data origin-dev.');
  process.exit(2);
}
const [origin, masks] = ['origin', 'origin-masks'].map((name) => join(root, 'build/people', name));
for (const folder of [origin, masks]) rmSync(folder, { recursive: true, force: true });

const pack = join(root, 'models/packs/default');
const manifest = readDraft(pack);
const { min_det_score } = manifest;
const addon = loadPack(pack, manifest);

/** Writes the picture with a mask; false where no face is found. */
async function drawMask(bytes, file, random) {
  const { ok, image } = addon.analyse(pack, bytes, {
    accuracy_mode: 'fast',
    use_heuristic_fallback: true,
    min_det_score,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (!ok || image.faces.length === 0) return false;
  const { width, height, faces } = image;
  const mask = maskOver({ landmarks: faces[0].landmarks, width, height }, random);
  mkdirSync(dirname(file), { recursive: true });
  await sharp(bytes)
    .autoOrient()
    .composite([{ input: mask }])
    .jpeg({ quality: 92 })
    .toFile(file);
  return true;
}

const [, ...lines] = readFileSync(join(shared, 'people.tsv'), 'utf8').trimEnd().split('\n');
const lists = { origin: ['image\tperson\tage\tsex\torigin\tstage'], masks: ['image\tperson\tcover'] };
for (const [index, line] of lines.entries()) {
  const [image, person, age, sex, from] = line.split('\t');
  progress(image);
  mkdirSync(dirname(join(origin, image)), { recursive: true });
  symlinkSync(join(shared, image), join(origin, image));
  const stage = young.includes(age) ? age : 'adult';
  lists.origin.push([image, person || basename(image), age, sex, from, stage].join('\t'));
  if (index % everyMask !== 0) continue;
  const bytes = readFileSync(join(shared, image));
  if (await drawMask(bytes, join(masks, image), new Random(index))) {
    lists.masks.push([image, person || basename(image), 'mask'].join('\t'));
  }
}
progress('');
writeFileSync(join(origin, 'people.tsv'), `${lists.origin.join('\n')}\n`);
writeFileSync(join(masks, 'people.tsv'), `${lists.masks.join('\n')}\n`);
console.log(
  `${lists.origin.length - 1} pictures in ${origin}, ${lists.masks.length - 1} with a mask in ${masks}`,
);
