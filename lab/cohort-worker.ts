import { dot } from 'facematch/for-lab';
import {
  meanOfHighest,
  type NearestTask,
  nearestFaces,
  peopleOfCentre,
  rowsOf,
  type ScoresTask,
} from './cohort.ts';
import { foldPair, folds } from './held-out.ts';

export default function work(task: NearestTask | ScoresTask): Int32Array | Float32Array {
  return 'seeds' in task ? nearestFaces(task) : scoresOf(task);
}

/** Number of faces in a block. A block stays in the CPU's cache while it is compared with all rows. */
const block = 8;

/**
 * Returns a row of cohort scores for each face: one per fold, from the cohort without that fold and the face's own.
 * The cosine with a centre is the sum of the cosines with the centre's faces, divided by the length of their sum.
 * So each face is compared once with each row, instead of once with each centre of each cohort.
 */
function scoresOf({ vectors, dimensions, plans, lengths, faces, own }: ScoresTask): Float32Array {
  const rows = rowsOf(vectors, dimensions);
  const all = rowsOf(faces, dimensions);
  const scores = new Float32Array(own.length * folds);
  const cosines = Array.from({ length: block }, () => new Float32Array(rows.length));
  const buffers = lengths.map(({ length }) => new Float32Array(length));
  for (let start = 0; start < all.length; start += block) {
    const some = all.slice(start, start + block);
    for (let row = 0; row < rows.length; row++)
      for (let i = 0; i < some.length; i++) cosines[i]![row] = dot(some[i]!, rows[row]!);
    for (let i = 0; i < some.length; i++) {
      for (let other = 0; other < folds; other++) {
        const plan = foldPair(own[start + i]!, other);
        const sums = buffers[plan]!;
        sumsOf(cosines[i]!, plans[plan]!, lengths[plan]!, sums);
        scores[(start + i) * folds + other] = meanOfHighest(sums);
      }
    }
  }
  return scores;
}

/** Writes the cosine of a face with each centre into `sums`, given the face's cosines with all rows. */
function sumsOf(cosines: Float32Array, members: Int32Array, lengths: Float32Array, sums: Float32Array) {
  for (let centre = 0, at = 0; centre < lengths.length; centre++) {
    let sum = 0;
    for (const end = at + peopleOfCentre; at < end; at++) sum += cosines[members[at]!]!;
    sums[centre] = sum / lengths[centre]!;
  }
}
