// What was tried for mode balance and for the cohort, as two Markdown tables. Each face is normalised with a cohort that
// its own part of the people had no share in.
//   node bench/choices.mjs [--lfw DIR] [--rmfd DIR]
// DIR: a folder with images/ (one folder a person) and pairs.tsv; by default lfw-dev and rmfd-dev of the shared data.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cohortCentres, cohortOptions, cohortScore, dot, highest } from '../dist/src/eval/cohort.js';
import { accuracy, tarAtFmr } from '../dist/src/eval/metrics.js';
import { readPairs } from '../dist/src/eval/pairs.js';
import { partOf } from '../dist/src/eval/parts.js';
import { root, sharedData } from './lib/paths.mjs';
import { buildNative, programs } from './setup/native.mjs';

const { values: folders } = parseArgs({
  options: {
    lfw: { type: 'string', default: sharedData('lfw-dev') },
    rmfd: { type: 'string', default: sharedData('rmfd-dev') },
  },
});
const parts = 5;
const dimensions = 512;

function run(command, args, options = {}) {
  const { status, stdout, error } = spawnSync(command, args, {
    cwd: root,
    maxBuffer: 2 ** 31,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
    ...options,
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

/** Pictures in which a face was found, each with its embedding by every variant; and the pairs. */
function load(folder, variants) {
  const images = resolve(folder, 'images');
  const names = readdirSync(images, { recursive: true })
    .map(String)
    .filter((name) => /\.(jpe?g|png)$/i.test(name))
    .sort();
  const bytes = run(programs.chips, ['models/packs/default', images], { input: names.join('\n') });
  const pictures = [];
  let at = 0;
  for (const name of names) {
    if (bytes[at++] === 0) continue;
    const embeddings = variants.map((_, index) => {
      const start = at + index * dimensions * 4;
      const vector = new Float32Array(Uint8Array.from(bytes.subarray(start, start + dimensions * 4)).buffer);
      const length = Math.sqrt(dot(vector, vector));
      return vector.map((value) => value / length);
    });
    at += variants.length * dimensions * 4;
    pictures.push({ name, person: name.split('/')[0], embeddings });
  }
  return { pictures, pairs: readPairs(join(folder, 'pairs.tsv')) };
}

const normalised = (a, b) => dot(a.embedding, b.embedding) - (a.score + b.score) / 2;

function judge({ pictures, pairs }, score) {
  const of = new Map(pictures.map((picture) => [picture.name, picture]));
  const scored = pairs.map(({ image1, image2, same, fold }) => {
    const [a, b] = [of.get(image1), of.get(image2)];
    return { same, fold, score: a && b ? score(a, b) : Number.NEGATIVE_INFINITY };
  });
  return { accuracy: accuracy(scored).mean, tar: (fmr) => tarAtFmr(scored, fmr).tar };
}

function impostors(pictures) {
  const scores = [];
  for (const [i, a] of pictures.entries()) {
    for (let j = i + 1; j < pictures.length; j++) {
      if (pictures[j].person !== a.person) scores.push(normalised(a, pictures[j]));
    }
  }
  return Float64Array.from(scores).sort();
}

function shareAtLeast(sorted, threshold) {
  return sorted.filter((score) => score >= threshold).length / sorted.length;
}

/** `count` is how many of the highest cosines with the centres a cohort score averages. */
function figures(sets, count) {
  for (const { pictures } of sets) {
    for (const picture of pictures) {
      picture.score = cohortScore(picture.embedding, centres[partOf(picture.person, parts)], count);
    }
  }
  const [lfw, rmfd] = sets;
  const strangers = impostors(lfw.pictures);
  const others = impostors(rmfd.pictures);
  const cosine = judge(lfw, (a, b) => dot(a.embedding, b.embedding));
  const byLfw = judge(lfw, normalised);
  const byRmfd = judge(rmfd, normalised);
  const at = (fmr) => strangers[Math.floor(strangers.length * (1 - fmr))];
  return [
    [cosine.accuracy, cosine.tar(1e-3), byLfw.accuracy, byLfw.tar(1e-3), byRmfd.tar(1e-2)].map((share) =>
      (share * 100).toFixed(2),
    ),
    [1e-2, 1e-3].map((fmr) => (shareAtLeast(others, at(fmr)) / fmr).toFixed(2)),
  ].flat();
}

let centres = [];
function fitCentres(sets, options) {
  const pictures = sets.flatMap((set) => set.pictures);
  centres = Array.from({ length: parts }, (_, part) =>
    cohortCentres(
      pictures.filter(({ person }) => partOf(person, parts) !== part),
      options,
    ),
  );
}

function choose(sets, index) {
  for (const { pictures } of sets) {
    for (const picture of pictures) picture.embedding = picture.embeddings[index];
  }
}

const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const columns = [
  'LFW accuracy by cosine, %',
  'TAR at 1e-3, %',
  'normalised: accuracy, %',
  'TAR at 1e-3, %',
  'RMFD TAR at 1e-2, %',
  "RMFD FMR ÷ LFW's at 1e-2",
  'at 1e-3',
];

for (const folder of Object.values(folders)) {
  if (existsSync(join(folder, 'pairs.tsv'))) continue;
  console.error(`${folder}: expected images/ and pairs.tsv there`);
  process.exit(2);
}
await buildNative();
const picture = join(root, 'node_modules/@vladmandic/face-api/demo/sample1.jpg');
const variants = run(programs.chips, ['--variants', 'models/packs/default', picture])
  .toString()
  .trim()
  .split('\n')
  .map((line) => line.split('\t'));
const sets = [folders.lfw, folders.rmfd].map((folder) => load(folder, variants));
for (const { pictures, pairs } of sets) console.log(`${pictures.length} pictures, ${pairs.length} pairs  `);

console.log();
row('what `balance` does with a face', 'runs of embedder + landmark net', 'ms', ...columns);
row('---', '---', '---', ...columns.map(() => '---'));
for (const [index, [name, chips, looks, milliseconds]] of variants.entries()) {
  choose(sets, index);
  fitCentres(sets, cohortOptions);
  row(name, `${chips} + ${looks}`, Number(milliseconds).toFixed(1), ...figures(sets, highest));
}

console.log();
row('clusters', 'runs', 'highest', ...columns);
row('---', '---', '---', ...columns.map(() => '---'));
choose(sets, 1);
row('none', '', '', ...figures(sets, 0));
for (const clusters of [64, 96, 128]) {
  for (const runs of [1, 3]) {
    fitCentres(sets, { ...cohortOptions, clusters, runs });
    for (const each of [2, 3, 4, 5, 8]) row(clusters, runs, each * runs, ...figures(sets, each * runs));
  }
}
