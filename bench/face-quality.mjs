// How the same person's photos stop matching while faces get small, blurred, dark, bright or turned: what the limits in
// src/http/face-quality.ts rest on.
//   node bench/face-quality.mjs [--pairs N] [--fast] [--json]
// Of each labelled pair one photo is harmed by known amounts (bench/lib/harm.mjs) and compared with the other as it is;
// poses are those of the photos themselves, over all pairs of one person. Needs the labelled photos of ../shared (or
// $FACEMATCH_SHARED) and a built project; takes some minutes on one thread.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { harms } from './lib/harm.mjs';
import { environment, flags, progress } from './lib/report.mjs';
import { root } from './lib/server.mjs';

const options = flags({ pairs: 250, fast: false, json: false });
const shared = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data');
if (!existsSync(shared)) {
  process.stderr.write(
    'There are no labelled photos: ../shared is not there, and FACEMATCH_SHARED is not set\n',
  );
  process.exit(1);
}
const built = (file) => import(join(root, 'dist/src', file));
const { loadAddon } = await built('engine/addon.js');
const { packDirectory, readManifest } = await built('engine/pack.js');
const { Calibration } = await built('calibration.js');
const { qualityLimits } = await built('http/face-quality.js');
const { readPairs } = await built('eval/pairs.js');

const mode = options.fast ? 'fast' : 'balance';
const directory = packDirectory('default');
const manifest = readManifest(directory);
const calibration = new Calibration(manifest.calibration[mode].points);
const addon = loadAddon();

/** Faces with their vectors, and the picture's size. */
function look(bytes) {
  const result = addon.embed(directory, bytes, {
    accuracy_mode: mode,
    min_det_score: manifest.min_det_score,
    use_heuristic_fallback: true,
    max_pixels: 50_000_000,
    min_side: 16,
  });
  if (!result.ok) return { width: 1, height: 1, faces: [] };
  const { width, height, faces } = result.image;
  return {
    width,
    height,
    faces: faces.map((face, i) => ({
      ...face,
      embedding: result.embeddings[i],
      cohort_score: result.cohort_scores[i],
    })),
  };
}

/** Middle of a box, as shares of the picture's width. */
const place = ({ box }, { width }) => [(box.x + box.width / 2) / width, (box.y + box.height / 2) / width];

function nearest(seen, x, y) {
  const distance = (face) => {
    const [u, v] = place(face, seen);
    return Math.hypot(u - x, v - y);
  };
  return seen.faces.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** The face at the place where `face` was found before the harm; nothing where none is any more. */
function again(seen, face, before) {
  const [x, y] = place(face, before);
  const best = nearest(seen, x, y);
  if (!best) return undefined;
  const [u, v] = place(best, seen);
  return Math.hypot(u - x, v - y) < (0.4 * face.box.width) / before.width ? best : undefined;
}

function percent(a, b) {
  let dot = 0;
  for (let i = 0; i < a.embedding.length; i++) dot += a.embedding[i] * b.embedding[i];
  return calibration.judge(dot - (a.cohort_score + b.cohort_score) / 2, 1).confidence_percent;
}

const share = (values, test) => values.filter(test).length / values.length;
const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.round(q * (values.length - 1))];

/** A row: how many were compared, what was said of the harmed faces, and how many matched. */
function row(set, what, asked, compared) {
  const measures = compared.map(({ measure }) => measure);
  const percents = compared.map((one) => one.percent);
  const round = (value) => Number(value?.toFixed(value > 2 ? 0 : 2));
  return {
    set,
    what,
    pairs: asked,
    found: round(compared.length / asked),
    'measure 10 %': round(quantile(measures, 0.1)),
    median: round(quantile(measures, 0.5)),
    '90 %': round(quantile(measures, 0.9)),
    'TAR at 60': round(share(percents, (value) => value >= 60)),
    'TAR at 70': round(share(percents, (value) => value >= 70)),
  };
}

/** All photos of a set as they are, by name: the face of the person they are named after. */
function lookAtAll(folder, names) {
  const photos = new Map();
  for (const [i, name] of names.entries()) {
    progress(`${folder.split('/').at(-2)}: ${i + 1} of ${names.length} photos`);
    const seen = look(readFileSync(join(folder, name)));
    // The sets' pictures are cut out around the person whom they name.
    const face = nearest(seen, 0.5, (0.5 * seen.height) / seen.width);
    if (face) photos.set(name, { seen, face });
  }
  return photos;
}

async function harmed(set, folder, photos, pairs) {
  const rows = [
    row(
      set,
      'as it is',
      pairs.length,
      pairs.map((pair) => compare(pair, photos)),
    ),
  ];
  const all = [];
  for (const [name, { measure, unit, amounts, apply }] of Object.entries(harms)) {
    for (const amount of amounts) {
      progress(`${set}: ${name} ${amount} ${unit}`);
      const compared = [];
      let asked = 0;
      for (const { image1, image2 } of pairs) {
        const before = photos.get(image2);
        const bytes = await apply(readFileSync(join(folder, image2)), amount, before.face);
        if (bytes === undefined) continue;
        asked += 1;
        const face = again(look(bytes), before.face, before.seen);
        if (!face) continue;
        const one = { measure: face.quality[measure], percent: percent(photos.get(image1).face, face) };
        compared.push(one);
        all.push({ harm: name, ...one });
      }
      if (asked > 0) rows.push(row(set, `${name} ${amount} ${unit}`, asked, compared));
    }
  }
  return { rows, all };
}

function compare({ image1, image2 }, photos) {
  const [a, b] = [photos.get(image1).face, photos.get(image2).face];
  return { measure: b.quality.face_pixels, percent: percent(a, b) };
}

/** Groups by where the measure lies between the edges; the last group is open. */
function binned(set, what, edges, compared) {
  return edges.flatMap((from, i) => {
    const to = edges[i + 1] ?? Number.POSITIVE_INFINITY;
    const group = compared.filter(({ measure }) => measure >= from && measure < to);
    const name = `${what} ${from} to ${Number.isFinite(to) ? to : '…'}`;
    return group.length < 10 ? [] : [row(set, name, group.length, group)];
  });
}

/** Every pair of photos of one person, with how far the more turned of the two is. */
function samePerson(photos) {
  const entries = [...photos].map(([name, { face }]) => ({ person: name.split('/')[0], face }));
  const turned = (a, b, angle) => Math.max(Math.abs(a.pose[angle]), Math.abs(b.pose[angle]));
  return entries.flatMap(({ person, face }, i) =>
    entries
      .slice(i + 1)
      .filter((other) => other.person === person)
      .map((other) => ({
        yaw: turned(face, other.face, 'yaw'),
        pitch: turned(face, other.face, 'pitch'),
        percent: percent(face, other.face),
      })),
  );
}

/** How many of the photos as they are lie beyond each limit. */
function warned(set, photos) {
  const faces = [...photos.values()].map(({ face }) => face);
  return qualityLimits.map(({ reason, member, measured, least = -Infinity, most = Infinity }) => ({
    set,
    reason,
    limit: `${member} ${least > 0 ? `below ${least}` : `above ${most}`}`,
    photos: faces.length,
    warned: Number(share(faces, (face) => measured(face) < least || measured(face) > most).toFixed(4)),
  }));
}

const measuredBins = {
  small: [0, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96],
  blurred: [0, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6],
  dark: [0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3],
  bright: [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95],
};
const degreeBins = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/** Turned one way at a time, or the other angle would be blamed on this one. */
function posed(set, photos) {
  const pairs = samePerson(photos);
  return [
    ['yaw', 'pitch'],
    ['pitch', 'yaw'],
  ].flatMap(([angle, other]) => {
    const clean = pairs
      .filter((pair) => pair[other] < 20)
      .map((pair) => ({ measure: pair[angle], percent: pair.percent }));
    return binned(set, `larger ${angle}`, degreeBins, clean);
  });
}

const rows = [];
const warnings = [];
for (const set of ['lfw-dev', 'rmfd-dev']) {
  const folder = join(shared, set, 'images');
  const names = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.jpg'))
    .sort();
  const photos = lookAtAll(folder, names);
  const same = readPairs(join(shared, set, 'pairs.tsv')).filter(
    ({ same: one, image1, image2 }) => one && photos.has(image1) && photos.has(image2),
  );
  const count = Math.min(options.pairs, same.length);
  const pairs = Array.from({ length: count }, (_, i) => same[Math.floor((i * same.length) / count)]);
  const { rows: byAmount, all } = await harmed(set, folder, photos, pairs);
  rows.push(...byAmount);
  for (const [harm, edges] of Object.entries(measuredBins)) {
    const found = all.filter((one) => one.harm === harm);
    rows.push(...binned(set, `${harm}: ${harms[harm].measure}`, edges, found));
  }
  // Too few pairs of the other set match as they are.
  if (set === 'lfw-dev') rows.push(...posed(set, photos));
  warnings.push(...warned(set, photos));
}
progress('');
if (options.json) console.log(JSON.stringify({ environment: environment(), mode, rows, warnings }));
else {
  console.log(`mode ${mode}`, environment());
  console.table(rows);
  console.log('Of the photos as they are:');
  console.table(warnings);
}
