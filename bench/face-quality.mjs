// What each reason of `low_quality_face` is worth: how many same-person pairs stay below 60 percent (false non-matches)
// among those in which it names a compared face, and among the others. The bars in src/http/face-quality.ts rest on this.
//   node bench/face-quality.mjs [--pairs N] [--workers N] [--fast] [--json]
// Over all labelled pairs of the photos as they are, and, as poor photos are rare in the sets, over N pairs of lfw-dev of
// which one photo was made worse by known amounts (bench/lib/harm.mjs); of the other sets too many are missed already.
// Nothing is tuned on web-dev. Needs the labelled photos of ../shared (or $FACEMATCH_SHARED) and a built project; takes
// some ten minutes on one core.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { harms } from './lib/harm.mjs';
import { environment, flags, progress } from './lib/report.mjs';
import { root } from './lib/server.mjs';

const options = flags({ pairs: 100, workers: 1, fast: false, json: false });
const shared = join(process.env.FACEMATCH_SHARED ?? join(root, '../shared'), 'data');
const sets = ['lfw-dev', 'rmfd-dev', 'web-dev'].filter((set) => existsSync(join(shared, set)));
if (sets.length === 0) {
  process.stderr.write('There are no labelled photos: look at FACEMATCH_SHARED, or ../shared without it\n');
  process.exit(1);
}
const built = (file) => import(join(root, 'dist/src', file));
const { packDirectory, readManifest } = await built('engine/pack.js');
const { Calibration } = await built('calibration.js');
const { qualityLimits } = await built('http/face-quality.js');
const { embedPictures } = await built('eval/embed-pictures.js');
const { picturesOf, readPairs } = await built('eval/pairs.js');

const mode = options.fast ? 'fast' : 'balance';
const directory = packDirectory('default');
const manifest = readManifest(directory);
const calibration = new Calibration(manifest.calibration[mode].points, manifest.calibration[mode].floor);

/** Name → the face that the protocol compares, with its embedding; pictures without one are left out. */
async function facesOf(folder, names, what) {
  let done = 0;
  const pictures = await embedPictures(names, {
    packDirectory: directory,
    folder,
    mode,
    minDetScore: manifest.min_det_score,
    workers: options.workers,
    onPicture: () => progress(`${what}: ${++done} of ${names.length} pictures`),
  });
  const found = [...pictures].filter(([, { embedding }]) => embedding !== undefined);
  return new Map(found.map(([name, picture]) => [name, { ...picture.faces[picture.chosen], ...picture }]));
}

function percent(a, b) {
  const cosine = a.embedding.reduce((sum, value, i) => sum + value * b.embedding[i], 0);
  return calibration.judge(cosine - (a.cohort_score + b.cohort_score) / 2, 1).confidence_percent;
}

/** Of pairs of faces, those with both. */
const judge = (pairs) =>
  pairs.filter(([a, b]) => a && b).map((faces) => ({ faces, missed: percent(...faces) < 60 }));

const rate = (pairs) => pairs.filter(({ missed }) => missed).length / pairs.length;
const round = (value) => (Number.isFinite(value) ? Number(value.toFixed(3)) : '–');

const limits = [
  ...qualityLimits,
  // Dropped there, for they were worth little: to see whether they still are.
  { reason: 'dark', member: 'brightness', measured: ({ quality }) => quality.brightness, least: 0.12 },
  { reason: 'pitch', member: 'pitch', measured: ({ pose }) => Math.abs(pose.pitch), most: 25 },
];

/** False non-matches with and without the pictures that `limit` names. */
function row(set, photos, { reason, member, measured, least = -Infinity, most = Infinity }, pairs) {
  const names = ({ faces }) => faces.some((face) => measured(face) < least || measured(face) > most);
  const [named, others] = [pairs.filter(names), pairs.filter((pair) => !names(pair))];
  return {
    set,
    photos,
    reason,
    bar: `${member} ${least > -Infinity ? `below ${least}` : `above ${most}`}`,
    named: named.length,
    'missed of them': round(rate(named)),
    others: others.length,
    'missed of these': round(rate(others)),
    times: round(rate(named) / rate(others)),
  };
}

/** Where the bar might lie: false non-matches by what was measured of the worse face. */
const edges = {
  face_pixels: [0, 12, 16, 20, 24, 28, 32, 36, 40, 48, 64, 96],
  sharpness: [0, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65],
  brightness: [0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95],
  yaw: [0, 10, 20, 25, 30, 35, 40, 45, 50, 60],
  pitch: [0, 10, 15, 20, 25, 30, 35, 40],
};
function steps(set, photos, { reason, member, measured, least }, pairs) {
  const worse = ({ faces }) => Math[least === undefined ? 'max' : 'min'](...faces.map(measured));
  return edges[member].flatMap((from, i) => {
    const to = edges[member][i + 1] ?? Infinity;
    const group = pairs.filter((pair) => worse(pair) >= from && worse(pair) < to);
    if (group.length === 0) return [];
    return { set, photos, reason, member, from, to, pairs: group.length, missed: round(rate(group)) };
  });
}

/** The pairs with their second photo made worse in one way, by every amount. */
async function harmed(set, folder, faces, pairs, reason) {
  const { amounts, apply } = harms[reason];
  const copies = mkdtempSync(join(tmpdir(), 'facematch-harm-'));
  try {
    const made = [];
    for (const [i, { image1, image2 }] of pairs.entries()) {
      for (const amount of faces.has(image2) ? amounts : []) {
        const bytes = await apply(readFileSync(join(folder, image2)), amount, faces.get(image2));
        if (bytes === undefined) continue;
        const copy = `${i}-${amount}.png`;
        writeFileSync(join(copies, copy), bytes);
        made.push([image1, copy]);
      }
    }
    const names = made.map(([, copy]) => copy);
    const poor = await facesOf(copies, names, `${set}, ${reason}`);
    return judge(made.map(([image1, copy]) => [faces.get(image1), poor.get(copy)]));
  } finally {
    rmSync(copies, { recursive: true });
  }
}

const worth = [];
const bySteps = [];
for (const set of sets) {
  const folder = join(shared, set, 'images');
  const same = readPairs(join(shared, set, 'pairs.tsv')).filter((pair) => pair.same);
  const faces = await facesOf(folder, picturesOf(same), set);
  const natural = judge(same.map(({ image1, image2 }) => [faces.get(image1), faces.get(image2)]));
  const tell = (photos, limit, pairs) => {
    worth.push(row(set, photos, limit, pairs));
    bySteps.push(...steps(set, photos, limit, pairs));
  };
  for (const limit of limits) tell('as they are', limit, natural);
  const few = same.filter((_, i) => i % Math.ceil(same.length / options.pairs) === 0);
  for (const limit of set === 'lfw-dev' ? limits.filter(({ reason }) => reason in harms) : []) {
    tell('made worse', limit, await harmed(set, folder, faces, few, limit.reason));
  }
}
progress('');
if (options.json) console.log(JSON.stringify({ environment: environment(), mode, worth, steps: bySteps }));
else {
  console.log(`mode ${mode}, false non-matches at 60 percent`, environment());
  console.table(worth);
  console.table(bySteps);
}
