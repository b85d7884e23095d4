import type { WorkerTools } from '../engine/pool.ts';
import { type ComparedPersons, comparePersons, type PhotoFaces } from '../scoring/persons.ts';

/** In a worker: the means need cohort scores, which take a fraction of a millisecond each. */

/** What a worker loads. */
export const personsModule = new URL('./compare-persons.js', import.meta.url).href;

export type PersonsJob = readonly [readonly PhotoFaces[], readonly PhotoFaces[]];

/** For `Engine.work`. */
export function work(sides: PersonsJob, { cohortScores }: WorkerTools): ComparedPersons {
  return comparePersons(sides, (vectors) => {
    const [{ length }] = vectors as [Float32Array];
    const all = new Float32Array(vectors.length * length);
    for (const [row, vector] of vectors.entries()) all.set(vector, row * length);
    return cohortScores(all);
  });
}
