// Whether the embedder is worth having in whole numbers of eight bits (INT8, QDQ): variants of it beside the float net, by
// time, by direction and by accuracy; and the detector by time alone.
//   node bench/int8.mjs [--rounds N] [--calibrate N] [--only WORD] [--speed] [--json]
//   node bench/int8.mjs --write PACK [--calibrate N]
// --rounds     runs of each net that are timed, one thread, taking turns (default 60)
// --calibrate  chips of each set that ranges are taken from (default 120)
// --only       variants whose name holds the word; the float net always takes part
// --speed      no accuracy, which takes a run for each of some 3,000 chips a variant
// --write      nothing of this: writes the pack's plan, embed.int8.json, and pins it in the manifest
// Needs a built project, and lfw-dev and rmfd-dev of the shared data: a folder with images/ and pairs.tsv each. The ratios
// are those of a processor that multiplies bytes (VNNI); on another they are worse.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sharedData } from './lib/paths.mjs';
import { environment, progress } from './lib/report.mjs';
import { netsAreThere, originalNets, prepareNets } from './setup/nets.mjs';

function readOptions() {
  const flag = { type: 'boolean', default: false };
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '60' },
        calibrate: { type: 'string', default: '120' },
        only: { type: 'string', default: '' },
        speed: flag,
        write: { type: 'string' },
        json: flag,
        help: flag,
      },
    });
    for (const name of ['rounds', 'calibrate']) {
      if (!/^[1-9]\d*$/.test(values[name])) throw new Error(`--${name}: expected a whole number above 0`);
    }
    return { ...values, rounds: Number(values.rounds), calibrate: Number(values.calibrate) };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

const options = readOptions();
if (options.help) {
  const [text] = readFileSync(new URL(import.meta.url), 'utf8').split('\nimport ', 1);
  console.log(text.replaceAll(/^\/\/ ?/gm, ''));
  process.exit(0);
}
const folders = ['lfw-dev', 'rmfd-dev'].map(sharedData);
if (folders.includes(undefined)) {
  console.error(
    'Expected lfw-dev and rmfd-dev in ../shared/data, or in data/ of the folder FACEMATCH_SHARED',
  );
  process.exit(2);
}

const { chipsOf, inputOf } = await import('./int8/chips.mjs');
const { cosine, embedAll, judge, open, race } = await import('./int8/judge.mjs');
const { chosen: best, planner, variants } = await import('./int8/variants.mjs');
const { raceDetector } = await import('./int8/detector.mjs');
const { rewriteNet } = await import('../dist/models/prepare/rewrite.js');
const { packDirectory, readManifest, sha256 } = await import('../dist/src/engine/pack.js');

if (!netsAreThere()) await prepareNets();
const { embedder, detector } = readManifest(packDirectory('default'));
const sets = [];
for (const folder of folders) sets.push(await chipsOf(folder, embedder));
const [lfw] = sets;
const shape = [1, 3, embedder.size, embedder.size];
const feed = (chip) => inputOf(chip, embedder);

/** `count` of them, evenly spread. */
const some = (chips, count) =>
  Array.from(
    { length: Math.min(count, chips.length) },
    (_, i) => chips[Math.floor((i * chips.length) / count)],
  );

const published = readFileSync(join(originalNets, 'fr_feature.onnx'));
const planning = await planner(
  published,
  sets.flatMap(({ chips }) => some(chips, options.calibrate)).map(feed),
  shape,
);
if (options.write) {
  const directory = packDirectory(options.write);
  const fitted_on = `${options.calibrate} chips each of lfw-dev and rmfd-dev`;
  const plan = JSON.stringify({ fitted_on, ...(await planning.planOf(variants[best])) }, null, 1);
  const manifest = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));
  const file = 'embed.int8.json';
  writeFileSync(join(directory, file), plan);
  manifest.embedder.int8 = { file, sha256: sha256(plan) };
  manifest.embedder.sha256 = sha256(await planning.write(variants[best]));
  writeFileSync(join(directory, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  console.log(`Wrote ${file} of ${options.write}; calibrate the pack anew`);
  process.exit(0);
}
const chosen = Object.entries(variants).filter(([name]) => name.includes(options.only));
const float = await open(rewriteNet(published), shape);
const nets = [
  { name: 'float', run: float },
  { name: 'float (A/A)', run: await open(rewriteNet(published), shape) },
];
for (const [name, variant] of chosen) {
  progress(`writing: ${name}`);
  nets.push({ name, run: await open(await planning.write(variant), shape) });
}
progress(`racing ${nets.length} nets`);
const times = await race(
  nets.map(({ run }) => run),
  some(lfw.chips, 20).map(feed),
  options.rounds,
);

const chips = options.speed ? some(lfw.chips, 100) : lfw.chips;
let expected;
const rows = [];
for (const [index, { name, run }] of nets.entries()) {
  const row = { name, ...times[index] };
  rows.push(row);
  if (index === 1) continue;
  progress(`embedding: ${name}`);
  const embeddings = await embedAll(run, chips, feed);
  expected ??= embeddings;
  const cosines = embeddings.map((embedding, i) => cosine(embedding, expected[i])).sort((a, b) => a - b);
  row.cosine = cosines.reduce((sum, one) => sum + one) / cosines.length;
  row.cosine_p1 = cosines[Math.floor(cosines.length / 100)];
  if (!options.speed) {
    Object.assign(row, judge(lfw, embeddings));
    row.loss = rows[0].accuracy - row.accuracy;
  }
}
progress('racing the detector');
const detectors = await raceDetector(
  readFileSync(join(originalNets, 'fr_detect.onnx')),
  detector,
  options.rounds,
);
progress('');

if (options.json) {
  console.log(JSON.stringify({ environment: environment(), rows, detectors }, null, 2));
} else {
  const cells = (...texts) => console.log(`| ${texts.join(' | ')} |`);
  const fixed = (value, digits) => (value === undefined ? '' : value.toFixed(digits));
  const heads = ['in whole numbers', 'ms', '÷ float', 'cosine', 'its 1 %'];
  const accuracies = ['lfw-dev accuracy, %', 'points lost', 'TAR at 1e-2, %', 'at 1e-3, %'];
  const columns = options.speed ? heads : [...heads, ...accuracies];
  cells(...columns);
  cells(...columns.map(() => '---'));
  for (const row of [...rows, ...detectors]) {
    const { ms, ratio, cosine: mean, cosine_p1, accuracy, loss, tar_1e2, tar_1e3 } = row;
    const shares = [accuracy, loss, tar_1e2, tar_1e3].map((value) => fixed(value, 2));
    cells(
      row.name,
      fixed(ms, 2),
      fixed(ratio, 3),
      fixed(mean, 4),
      fixed(cosine_p1, 4),
      ...(options.speed ? [] : shares),
    );
  }
}
