/** What a worker loads to compare persons, because the cohort scores of their means take a fraction of a millisecond each. */
export const personsModule = new URL('./compare-persons.js', import.meta.url).href;

/** For `Engine.work`. */
export { comparePersons as work } from '../scoring/persons.ts';
