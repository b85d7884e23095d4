import {
  type Calibration,
  comparePersons,
  type Embedded,
  inOneArray,
  meanOf,
  promisedRate,
  similarityOf,
} from 'facematch/for-lab';
import { percents } from './figures.ts';
import { PersonRate } from './metrics.ts';
import { byPerson, type LabelledImage, type PeopleSet } from './people.ts';

/**
 * Measures the benefit of several photos of a person, and the detection of a photo of another person among
 * them.
 */

export type PhotosFigures = ReturnType<typeof figuresOf>;
export type ForeignFigures = ReturnType<typeof judgeForeign>[number];

interface PhotosJudge {
  calibration: Calibration;
  /** Returns the cohort scores of unit vectors that are concatenated in one array. */
  cohortScores(vectors: Float32Array): Float32Array;
}

/** A person's photos, in a ring. */
type Person = readonly LabelledImage[];

const peopleOf = ({ images }: PeopleSet, atLeast: number): Person[] =>
  byPerson(images).filter(({ length }) => length >= atLeast);

/** Returns `count` photos from `start` on. */
const ring = (person: Person, start: number, count: number): Embedded[] =>
  Array.from({ length: count }, (_value, i) => person[(start + i) % person.length]!);

/** Two people who share a label, whose pairs are non-mated ones. */
const areNonMated = (a: Person, b: Person) =>
  a !== b && a[0]!.labels.some((label) => b[0]!.labels.includes(label));

/**
 * Compares one photo with 1 to `most` of people who have one more, and `most` with `most` of people with
 * twice as many. Non-mated pairs consist of two people who share a label. `searched`: number of people in a
 * search; percents apply to the whole search.
 */
export function judgePhotos(set: PeopleSet, most: number, judge: PhotosJudge, searched = 1) {
  const numbers = Array.from({ length: most }, (_value, i) => i + 1);
  const [few, many] = [peopleOf(set, most + 1), peopleOf(set, 2 * most)];
  return [
    ...numbers.map((reference) => figuresOf(few, [1, reference], judge, searched)),
    ...numbers.map((both) => figuresOf(many, [both, both], judge, searched)),
  ].filter(({ people }) => people > 1);
}

function figuresOf(
  people: readonly Person[],
  [probe, reference]: readonly [number, number],
  { calibration, cohortScores }: PhotosJudge,
  searched: number,
) {
  /** Each person has the means that start with each photo. */
  const means = (start: number, count: number): Embedded[][] =>
    people.map((person) => {
      const vectors = person.map((_photo, turn) =>
        meanOf(ring(person, turn + start, count).map(({ embedding }) => embedding)),
      );
      const scores = cohortScores(inOneArray(vectors));
      return vectors.map((embedding, turn) => ({ embedding, cohort_score: scores[turn]! }));
    });
  const [references, probes] = [means(0, reference), means(reference, probe)];
  const shift = calibration.shift(probe, reference);
  const rates = percents.map((percent) => ({
    threshold: calibration.similarityAt(promisedRate(percent) / searched) + shift,
    nonMatches: new PersonRate(people.length),
    falseMatches: 0,
  }));
  let nonMated = 0;
  for (const [i, own] of probes.entries()) {
    for (const [turn, one] of own.entries()) {
      for (const [j, theirs] of references.entries()) {
        if (i !== j && !areNonMated(people[i]!, people[j]!)) continue;
        const { normalised_similarity } = similarityOf(one, theirs[turn % theirs.length]!);
        if (i !== j) nonMated++;
        for (const rate of rates) {
          const passes = normalised_similarity >= rate.threshold;
          if (i === j) rate.nonMatches.add(!passes, i);
          else if (passes) rate.falseMatches++;
        }
      }
    }
  }
  return {
    // Number of photos of the probe, and of the reference.
    probe,
    reference,
    people: people.length,
    // Mated comparisons: each photo is once the first of a reference.
    trials: probes.reduce((sum, own) => sum + own.length, 0),
    non_mated: nonMated,
    // Returns for each of `percents` the FNMR with its 95 % interval by person, and the FMR.
    fnmr: rates.map(({ nonMatches }) => nonMatches.rate),
    fnmr_intervals: rates.map(({ nonMatches }) => nonMatches.interval),
    fmr: rates.map(({ falseMatches }) => falseMatches / nonMated),
  };
}

/**
 * Returns the figures for 3 to `most` photos, because of two photos it is unknown which one is wrong, by the
 * required agreement in percent.
 */
export function judgeForeign(
  set: PeopleSet,
  most: number,
  { calibration, ...scorer }: PhotosJudge,
  least: number,
) {
  const counts = Array.from({ length: most - 2 }, (_value, i) => i + 3);
  return counts.flatMap((photos) => {
    const people = peopleOf(set, photos);
    const shift = calibration.shift(1, photos - 1);
    let [sets, own_rejected, foreign_detected] = [0, 0, 0];
    for (const [i, person] of people.entries()) {
      for (const turn of person.keys()) {
        // It is another person each time.
        const others = [...people.slice(i + 1), ...people.slice(0, i)].filter((one) =>
          areNonMated(one, person),
        );
        const other = others[(turn * 37) % others.length];
        if (other === undefined) continue;
        const own = ring(person, turn, photos);
        const mixed = [...own.slice(1), other[turn % other.length]!];
        const { sides } = comparePersons([own.map((one) => [one]), mixed.map((one) => [one])], scorer);
        const [ownAgrees, mixedAgrees] = sides.map((side) =>
          side.map(({ agreement }) => calibration.assess(agreement! - shift, 1).confidence_percent >= least),
        );
        sets++;
        if (ownAgrees!.includes(false)) own_rejected++;
        if (!mixedAgrees!.at(-1)) foreign_detected++;
      }
    }
    // Returns for each number of photos the share of one person's sets that are rejected, and of sets with
    // another person's photo in which it is detected.
    const shares = { own_rejected: own_rejected / sets, foreign_detected: foreign_detected / sets };
    return sets === 0 ? [] : [{ photos, sets, ...shares }];
  });
}
