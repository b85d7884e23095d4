// Which faces are found in hard pictures, as JSON; test/model/hard-pictures.test.ts has the goals:
//   node bench/hard-pictures.mjs [--only WORD] [--every N]
// Rotated, shrunk, dark, pale, close-up and tiny variants of photos in which the pipeline finds a face, and pictures with
// known contents. --only measures the rows with that word, --every each Nth face for the variants. Needs npm run setup -- --dev.
// Rows that need ../shared are left out where it does not exist.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { loadPack } from '../dist/src/engine/load-addon.js';
import { readDraft } from '../dist/src/engine/manifest.js';
import { root } from '../test/support/programs.mjs';
import { progress } from '../test/support/report.mjs';
import * as sets from './hard/pictures.mjs';
import { intersectionOverUnion, landmarkDistance, moveFace, sameFace, still } from './lib/geometry.mjs';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
  },
});

const pack = join(root, 'models/packs/default');
const manifest = readDraft(pack);
const { min_det_score } = manifest;
const addon = loadPack(pack, manifest);

/** Options of the analysis; the key is the column's. */
const ways = ['fast', 'balance'].map((accuracy_mode) => {
  return { key: accuracy_mode, accuracy_mode, use_heuristic_fallback: true };
});
const plain = { accuracy_mode: 'balance', use_heuristic_fallback: false };

function seen(bytes, { accuracy_mode, use_heuristic_fallback }) {
  const answer = addon.analyse(pack, bytes, {
    accuracy_mode,
    use_heuristic_fallback,
    min_det_score,
    max_pixels: 64_000_000,
    min_side: 16,
  });
  if (!answer.ok) throw new Error(answer.code);
  return answer.image;
}

const faces = (bytes, way) => seen(bytes, way).faces;

/** Rows of the table: { what, of, false_faces, missed }, each but `what` by way. */
class Row {
  counts = Object.fromEntries(
    ways.map(({ key }) => [key, { of: 0, found: 0, false_faces: 0, missed: [], found_by: {} }]),
  );

  constructor(what) {
    this.what = what;
  }

  add(way, name, { of, found, false_faces = 0, found_by = [] }) {
    const count = this.counts[way.key];
    count.of += of;
    count.found += found;
    count.false_faces += false_faces;
    if (found < of || false_faces > 0) count.missed.push(name);
    for (const step of found_by) count.found_by[step] = (count.found_by[step] ?? 0) + 1;
  }
}

const rows = [];

/** One row; `measure` is called for each picture and way. */
function row(what, pictures, measure) {
  if (!what.includes(options.only)) return;
  const made = new Row(what);
  for (const picture of pictures()) {
    progress(`${what}: ${picture.name}`);
    for (const way of ways) made.add(way, picture.name, measure(picture, way));
  }
  rows.push(made);
}

function expectFace(bytes, way, expected) {
  const { faces: found, ...picture } = seen(bytes, way);
  const right = found.find((face) => sameFace(face, expected, picture));
  return {
    of: 1,
    found: right ? 1 : 0,
    false_faces: found.length - (right ? 1 : 0),
    found_by: right ? [right.found_by] : [],
  };
}

/** Expects as many faces as people. */
function expectPeople({ bytes, people }, way) {
  const found = faces(bytes, way);
  return {
    of: people,
    found: Math.min(found.length, people),
    false_faces: Math.max(0, found.length - people),
    found_by: found.map((face) => face.found_by),
  };
}

/** The pictures, each with the face that the pipeline finds in it. */
async function sources(pictures) {
  const all = [];
  for (const { name, bytes } of pictures) {
    const [face] = faces(bytes, plain);
    const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    all.push({ name, face, pixels: sharp(data, { raw: info }), width: info.width, height: info.height });
  }
  return all;
}

/** The people of the sample photos, each cut out with the margins of a portrait. */
async function people() {
  const all = [];
  for (const { name, bytes } of sets.samples()) {
    const { width, height } = await sharp(bytes).metadata();
    for (const { box, index } of faces(bytes, plain)) {
      const side = Math.round(2.2 * Math.max(box.width, box.height));
      const left = Math.round(Math.min(Math.max(box.x + box.width / 2 - side / 2, 0), width - side));
      const top = Math.round(Math.min(Math.max(box.y + box.height / 2 - side / 2, 0), height - side));
      const cut = await sharp(bytes).extract({ left, top, width: side, height: side }).png().toBuffer();
      // Other faces in the cut-out would count as false.
      if (faces(cut, plain).length === 1) all.push({ name: `${name} ${index}`, bytes: cut });
    }
  }
  return all;
}

async function variantRows(what, pictures) {
  const list = await sources(pictures.filter((_, i) => i % Number(options.every) === 0));
  for (const variant of sets.variants) {
    const name = `${what}, ${variant.name}`;
    if (!name.includes(options.only)) continue;
    const made = [];
    for (const source of list)
      made.push({ name: source.name, source, ...(await sets.applied(variant, source)) });
    row(
      name,
      () => made,
      ({ bytes, move, source }, way) => expectFace(bytes, way, moveFace(move, source.face)),
    );
    rows.at(-1).asked = variant.asked === true;
  }
}

function labelledFaces({ bytes, boxes }, way) {
  const { faces: found, width } = seen(bytes, way);
  const large = boxes.filter((box) => box.width > 0.03 * width);
  return {
    of: large.length,
    found: large.filter((box) => found.some((face) => intersectionOverUnion(face.box, box) >= 0.3)).length,
    false_faces: found.filter((face) => !boxes.some((box) => intersectionOverUnion(face.box, box) >= 0.2))
      .length,
    found_by: found.map((face) => face.found_by),
  };
}

const turns = {
  0: () => still,
  90: ({ height }) => ({ a: 0, b: 1, tx: height, ty: 0 }),
  180: ({ width, height }) => ({ a: -1, b: 0, tx: width, ty: height }),
  270: ({ width }) => ({ a: 0, b: -1, tx: 0, ty: width }),
};

const uprightFaces = new Map();
function uprightFace(bytes) {
  const key = bytes.length;
  if (!uprightFaces.has(key)) uprightFaces.set(key, faces(bytes, plain)[0]);
  return uprightFaces.get(key);
}

await variantRows('people of the samples', await people());
row('sample photos', sets.samples, expectPeople);
for (const degrees of [90, 180, 270]) {
  const made = [];
  for (const { name, bytes, people: count } of sets.samples()) {
    const picture = sharp(bytes).rotate(degrees).jpeg({ quality: 95 });
    made.push({ name, bytes: await picture.toBuffer(), people: count });
  }
  row(`sample photos, turned by ${degrees}°`, () => made, expectPeople);
}
if (sets.shared) {
  await variantRows('portraits', sets.portraits());
  row('pictures under EXIF orientations', sets.oriented, ({ bytes, upright }, way) => {
    const expected = faces(upright, way)[0];
    const found = faces(bytes, way);
    const near = found.filter((face) => landmarkDistance(face, expected) <= 2);
    return { of: 1, found: near.length, false_faces: found.length - near.length };
  });
  row('pictures without a face', sets.negatives, ({ bytes }, way) => ({
    of: 0,
    found: 0,
    false_faces: faces(bytes, way).length,
  }));
  row('labelled group photos, faces wider than 3 %', sets.labelled, labelledFaces);
  row('counted group photos', sets.groups, expectPeople);
  const sizes = new Map();
  for (const { upright } of sets.turnedFaces()) sizes.set(upright.length, await sharp(upright).metadata());
  row('faces turned in the pixels', sets.turnedFaces, ({ bytes, upright, degrees }, way) =>
    expectFace(bytes, way, moveFace(turns[degrees](sizes.get(upright.length)), uprightFace(upright))),
  );
} else {
  process.stderr.write('Left out what needs ../shared: it is not there, and FACEMATCH_SHARED is not set\n');
}
progress('');

function sum(asked) {
  const total = new Row(`all of the portraits' ${asked ? '' : 'further '}variants`);
  for (const one of rows.filter((each) => each.what.startsWith('portraits') && each.asked === asked)) {
    for (const way of ways) {
      const { of, found, false_faces } = one.counts[way.key];
      total.add(way, one.what, { of, found, false_faces });
    }
  }
  return total;
}
if (rows.some((each) => each.what.startsWith('portraits'))) rows.push(sum(true), sum(false));

console.log(JSON.stringify({ rows }));
