/** True if property tests and fuzzers use their full number of runs, as in `npm run test:thorough`. */
export const isThorough = process.env.FACEMATCH_THOROUGH === '1';

/** Returns the number of runs of a property test: a fifth of the full number by default. */
export const runs = (full: number, usual = Math.ceil(full / 5)): number => (isThorough ? full : usual);
