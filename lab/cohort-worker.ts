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

/**
 * Returns for each face the cohort score without its own fold and each of the folds. The cosine with a centre
 * is the sum of those with its faces, divided by the length of their sum, so each face is compared once with
 * all others instead of with every cohort.
 */
function scoresOf({ vectors, dimensions, plans, lengths, faces, own }: ScoresTask): Float32Array {
  const rows = rowsOf(vectors, dimensions);
  const scores = new Float32Array(own.length * folds);
  for (const [i, face] of rowsOf(faces, dimensions).entries()) {
    const cosines = Float32Array.from(rows, (row) => dot(face, row));
    for (let other = 0; other < folds; other++) {
      const plan = foldPair(own[i]!, other);
      const members = plans[plan]!;
      const sums = lengths[plan]!.map((length, centre) => {
        let sum = 0;
        for (let k = 0; k < peopleOfCentre; k++) sum += cosines[members[centre * peopleOfCentre + k]!]!;
        return sum / length;
      });
      scores[i * folds + other] = meanOfHighest(sums);
    }
  }
  return scores;
}
