// Measures which faces are found in hard images, and prints the result as JSON. test/slow/model/hard-images.test.ts
// has the targets. The images are rotated, shrunk, dark, pale, close-up and tiny variants of photos with a known
// face, and images with known contents. Skips rows that need ../shared if that folder is missing. Needs npm run setup --
// --dev.
//   node bench/hard-images.mjs [--only PATTERN] [--every N]
// --only   measure only rows that match the regular expression
// --every  use only every Nth face for the variants
import { join } from 'node:path';
import sharp from 'sharp';
import { loadPack } from '../dist/src/engine/load-addon.js';
import { readManifest } from '../dist/src/engine/manifest.js';
import { root } from '../test/support/programs.mjs';
import { flags, progress } from '../test/support/report.mjs';
import * as sets from './hard/images.mjs';
import { intersectionOverUnion, landmarkDistance, moveFace, sameFace, still } from './lib/geometry.mjs';

const { only, every } = flags({ only: '', every: 1 });
const wanted = new RegExp(only);
const pack = join(root, 'models/packs/default');
const manifest = readManifest(pack);
const addon = loadPack(pack, manifest);

/** Analyses an image, and returns { width, height, faces }. */
function analyse(bytes, accuracy_mode = 'balance', use_heuristic_fallback = false) {
  const result = addon.analyse(pack, bytes, {
    accuracy_mode,
    use_heuristic_fallback,
    min_det_score: manifest.min_det_score,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (!result.ok) throw new Error(result.code);
  return result.image;
}

const rows = [];

/**
 * Adds a row to the table. For each mode, counts the faces, the found faces (also by detection pass) and the false
 * faces, and lists the images with an error. `measure` maps an image and its result to { of, right, wrong }: the
 * number of faces, the correct faces, and the number of false faces.
 */
async function row(what, list, measure, asked = false) {
  if (!wanted.test(what)) return;
  const images = await list();
  const counts = {};
  for (const mode of ['fast', 'balance']) {
    const count = { of: 0, found: 0, false_faces: 0, missed: [], found_by: {} };
    for (const image of images) {
      progress(`${what}: ${image.name}`);
      const { of, right, wrong } = measure(image, analyse(image.bytes, mode, true), mode);
      count.of += of;
      count.found += right.length;
      count.false_faces += wrong;
      if (right.length < of || wrong > 0) count.missed.push(image.name);
      for (const { found_by } of right) count.found_by[found_by] = (count.found_by[found_by] ?? 0) + 1;
    }
    counts[mode] = count;
  }
  rows.push({ what, asked, counts });
}

/** Expects the face, and no others except the face of a larger portrait next to it. */
function expectFace({ face, move, larger = { width: 0, height: 0 } }, { faces, width, height }) {
  const right = faces.filter((one) => sameFace(one, moveFace(move, face), { width, height })).slice(0, 1);
  const others = faces.filter(
    ({ box }) => box.x + box.width / 2 > larger.width || box.y + box.height / 2 > larger.height,
  );
  return { of: 1, right, wrong: others.length - right.length };
}

/** Expects as many faces as people. */
const expectPeople = ({ people }, { faces }) => ({
  of: people,
  right: faces.slice(0, people),
  wrong: Math.max(0, faces.length - people),
});

/** Resolves to the people in the sample photos, each cropped like a portrait. */
async function people() {
  const all = [];
  for (const { name, bytes } of sets.samples()) {
    const { faces, width, height } = analyse(bytes);
    for (const { box, index } of faces) {
      const side = Math.round(2.2 * Math.max(box.width, box.height));
      const left = Math.round(Math.min(Math.max(box.x + box.width / 2 - side / 2, 0), width - side));
      const top = Math.round(Math.min(Math.max(box.y + box.height / 2 - side / 2, 0), height - side));
      const cut = await sharp(bytes).extract({ left, top, width: side, height: side }).png().toBuffer();
      // Skips crops with other faces, which would count as false faces.
      if (analyse(cut).faces.length === 1) all.push({ name: `${name} ${index}`, bytes: cut });
    }
  }
  return all;
}

/** Resolves to every Nth image as pixels, with the face that is found in it. */
async function sourcesOf(images) {
  const sources = [];
  for (const { name, bytes } of images.filter((_item, i) => i % every === 0)) {
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    sources.push({ name, face: analyse(bytes).faces[0], pixels: sharp(data, { raw: info }), width, height });
  }
  return sources;
}

async function variantRows(what, sources) {
  for (const variant of sets.variants) {
    const made = () =>
      Promise.all(sources.map(async (source) => ({ ...source, ...(await sets.applied(variant, source)) })));
    await row(`${what}, ${variant.name}`, made, expectFace, variant.asked);
  }
}

const peopleOfSamples = await sourcesOf(await people());
await variantRows('people of the samples', peopleOfSamples);
await row('sample photos', sets.samples, expectPeople);
for (const degrees of [90, 180, 270]) {
  const turned = sets.samples().map(async (sample) => ({
    ...sample,
    bytes: await sharp(sample.bytes).rotate(degrees).jpeg({ quality: 95 }).toBuffer(),
  }));
  await row(`sample photos, turned by ${degrees}°`, () => Promise.all(turned), expectPeople);
}
if (sets.shared) {
  for (const variant of sets.beside) {
    const made = () =>
      Promise.all(
        peopleOfSamples.map(async (source, i) => {
          const other = peopleOfSamples[(i + 1) % peopleOfSamples.length];
          return { ...source, ...(await sets.besides(variant, source, other, i)) };
        }),
      );
    await row(variant.name, made, expectFace);
  }
  await variantRows('portraits', await sourcesOf(sets.portraits()));
  await row('images under EXIF orientations', sets.oriented, ({ upright }, { faces }, mode) => {
    const [expected] = analyse(upright, mode, true).faces;
    const right = faces.filter((face) => landmarkDistance(face, expected) <= 2);
    return { of: 1, right, wrong: faces.length - right.length };
  });
  await row('images without a face', sets.negatives, (_image, { faces }) => ({
    of: 0,
    right: [],
    wrong: faces.length,
  }));
  await row('labelled group photos, faces wider than 3 %', sets.labelled, ({ boxes }, { faces, width }) => {
    const large = boxes.filter((box) => box.width > 0.03 * width);
    const overlaps = (face, box, share) => intersectionOverUnion(face.box, box) >= share;
    return {
      of: large.length,
      right: large.flatMap((box) => faces.find((face) => overlaps(face, box, 0.3)) ?? []),
      wrong: faces.filter((face) => !boxes.some((box) => overlaps(face, box, 0.2))).length,
    };
  });
  await row('counted group photos', sets.groups, expectPeople);
  const turns = {
    0: () => still,
    90: ({ height }) => ({ a: 0, b: 1, tx: height, ty: 0 }),
    180: ({ width, height }) => ({ a: -1, b: 0, tx: width, ty: height }),
    270: ({ width }) => ({ a: 0, b: -1, tx: 0, ty: width }),
  };
  const turnedFaces = () =>
    sets.turnedFaces().map(({ name, bytes, degrees, upright }) => {
      const { faces, ...size } = analyse(upright);
      return { name, bytes, face: faces[0], move: turns[degrees](size) };
    });
  await row('faces with rotated pixels', turnedFaces, expectFace);
} else {
  process.stderr.write('Skipped rows that need ../shared or FACEMATCH_SHARED: the folder does not exist\n');
}
progress('');
console.log(JSON.stringify({ rows }));
