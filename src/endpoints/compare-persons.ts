import type { WorkerTools } from '../engine/pool.ts';
import { type ComparedPersons, comparePersons, inOneArray, type PhotoFaces } from '../scoring/persons.ts';

/** In a worker: the means need cohort scores, which take a fraction of a millisecond each. */

/** What a worker loads. */
export const personsModule = new URL('./compare-persons.js', import.meta.url).href;

export type PersonsJob = readonly [readonly PhotoFaces[], readonly PhotoFaces[]];

/** For `Engine.work`. */
export function work(sides: PersonsJob, { cohortScores }: WorkerTools): ComparedPersons {
  return comparePersons(sides, (vectors) => cohortScores(inOneArray(vectors)));
}
