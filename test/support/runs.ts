/** True if property tests and fuzzers run their full number: `npm run test:thorough` sets it. */
export const isThorough = process.env.FACEMATCH_THOROUGH === '1';

/** The number of runs of a property test: a fifth of the full number unless the tests are thorough. */
export const runs = (full: number, usual = Math.ceil(full / 5)): number => (isThorough ? full : usual);
