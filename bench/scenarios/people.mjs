// Whose pictures the scenarios are made of: labelled photos of the developers where they are, else people cut out of the
// photos that a package ships.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { sharedData } from '../lib/paths.mjs';

const require = createRequire(import.meta.url);

/**
 * Faces on face-api's demo photos: person, photo, and the middle and height of the face in pixels. Nobody but the first
 * stands on two photos.
 */
const samples = [
  ['a', 1, 1573, 327, 224],
  ['a', 3, 1190, 361, 310],
  ['b', 3, 693, 458, 277],
  ['c', 2, 1545, 275, 235],
  ['d', 4, 1078, 305, 249],
  ['e', 5, 1195, 318, 221],
  ['f', 6, 1590, 403, 301],
  ['g', 6, 364, 625, 278],
];

/** Side of the cut-out in heights of the face: the head, and of the neighbours as little as can be. */
const margin = 2;

function cutOut([, photo, x, y, height]) {
  const side = Math.round(height * margin);
  const folder = dirname(require.resolve('@vladmandic/face-api/package.json'));
  return sharp(join(folder, `demo/sample${photo}.jpg`)).extract({
    left: Math.max(0, Math.round(x - side / 2)),
    top: Math.max(0, Math.round(y - side / 2)),
    width: side,
    height: side,
  });
}

/** Alternately two pictures of one person and one each of two: { same, pictures: [first, second] }. */
const alternate = (same, different) =>
  same.flatMap((pictures, i) => [
    { same: true, pictures },
    { same: false, pictures: different[i] },
  ]);

/** Eight pairs of file names or of sharp's pictures, and where they are from. */
export function portraitPairs() {
  const folder = sharedData('london');
  if (folder === undefined) {
    const [a1, a3, b, c, d, e, f, g] = samples.map(cutOut);
    const same = [
      [a1, a3],
      [a3, a1],
      [a1, a3],
      [a3, a1],
    ];
    return {
      source: "face-api's demo photos",
      pairs: alternate(same, [
        [a1, b],
        [c, d],
        [e, a3],
        [f, g],
      ]),
    };
  }
  const people = readdirSync(folder)
    .sort()
    .slice(0, 8)
    .map((person) =>
      readdirSync(join(folder, person))
        .sort()
        .map((file) => join(folder, person, file)),
    );
  const same = people.slice(0, 4);
  const different = same.map(([first], i) => [first, people[i + 4][1]]);
  return { source: 'Face Research Lab London Set', pairs: alternate(same, different) };
}

/** Pairs of 250-pixel pictures as they come, or undefined where there are none. */
export function smallPairs() {
  const folder = sharedData('lfw-dev');
  if (folder === undefined) return undefined;
  const rows = readFileSync(join(folder, 'pairs.tsv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));
  // From all over the list, since it is sorted by name.
  const spread = (label) => {
    const some = rows.filter(([, , , same]) => same === label);
    return [0.1, 0.35, 0.6, 0.85].map((share) => {
      const [, first, second] = some[Math.floor(some.length * share)];
      return [first, second].map((file) => join(folder, 'images', file));
    });
  };
  return { source: 'Labeled Faces in the Wild', pairs: alternate(spread('1'), spread('0')) };
}
