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

/** Measures the benefit of several photos per person, and the detection of a photo that shows another person. */

export type PhotosFigures = ReturnType<typeof figuresOf>;
export type ForeignFigures = ReturnType<typeof judgeForeign>[number];

interface PhotosJudge {
  calibration: Calibration;
  /** Returns the cohort scores of unit vectors that are concatenated in one array. */
  cohortScores(vectors: Float32Array): Float32Array;
}

/** A person's photos, used as a circular list. */
type Person = readonly LabelledImage[];

const peopleOf = ({ images }: PeopleSet, atLeast: number): Person[] =>
  byPerson(images).filter(({ length }) => length >= atLeast);

/** Returns `count` photos, starting at index `start`. */
const ring = (person: Person, start: number, count: number): Embedded[] =>
  Array.from({ length: count }, (_value, i) => person[(start + i) % person.length]!);

/** Returns true for two people who share a label, because non-mated pairs are within-group. */
const areNonMated = (a: Person, b: Person) =>
  a !== b && a[0]!.labels.some((label) => b[0]!.labels.includes(label));

/**
 * Compares one photo with 1 to `maxPhotos` photos, for people with at least `maxPhotos + 1`. Then compares equal
 * numbers of photos on both sides, for people with at least `2 * maxPhotos`. `searched` is the number of people in a
 * search; percents then apply to the whole search.
 */
export function judgePhotos(set: PeopleSet, maxPhotos: number, judge: PhotosJudge, searched = 1) {
  const numbers = Array.from({ length: maxPhotos }, (_value, i) => i + 1);
  const [few, many] = [peopleOf(set, maxPhotos + 1), peopleOf(set, 2 * maxPhotos)];
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
  /** Returns, for each person, the mean of `count` photos from each starting photo. */
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
    // Number of photos on each side.
    probe,
    reference,
    people: people.length,
    // Number of mated comparisons: one per photo, with that photo as the first of the reference.
    trials: probes.reduce((sum, own) => sum + own.length, 0),
    non_mated: nonMated,
    // One value for each of `percents`. The 95 % intervals are clustered by person.
    fnmr: rates.map(({ nonMatches }) => nonMatches.rate),
    fnmr_intervals: rates.map(({ nonMatches }) => nonMatches.interval),
    fmr: rates.map(({ falseMatches }) => falseMatches / nonMated),
  };
}

/**
 * Measures how often a set of one person's photos is rejected, and how often a photo of another person is identified.
 * Starts at 3 photos, because with 2 photos it is unknown which one is wrong. `minAgreement` is a percent.
 */
export function judgeForeign(
  set: PeopleSet,
  maxPhotos: number,
  { calibration, ...scorer }: PhotosJudge,
  minAgreement: number,
) {
  const counts = Array.from({ length: maxPhotos - 2 }, (_value, i) => i + 3);
  return counts.flatMap((photos) => {
    const people = peopleOf(set, photos);
    const shift = calibration.shift(1, photos - 1);
    let [sets, own_rejected, foreign_detected] = [0, 0, 0];
    for (const [i, person] of people.entries()) {
      for (const turn of person.keys()) {
        // Varies the other person from turn to turn.
        const others = [...people.slice(i + 1), ...people.slice(0, i)].filter((one) =>
          areNonMated(one, person),
        );
        const other = others[(turn * 37) % others.length];
        if (other === undefined) continue;
        const own = ring(person, turn, photos);
        const mixed = [...own.slice(1), other[turn % other.length]!];
        const { sides } = comparePersons([own.map((one) => [one]), mixed.map((one) => [one])], scorer);
        const [ownAgrees, mixedAgrees] = sides.map((side) =>
          side.map(
            ({ agreement }) => calibration.assess(agreement! - shift, 1).confidence_percent >= minAgreement,
          ),
        );
        sets++;
        if (ownAgrees!.includes(false)) own_rejected++;
        if (!mixedAgrees!.at(-1)) foreign_detected++;
      }
    }

    const shares = { own_rejected: own_rejected / sets, foreign_detected: foreign_detected / sets };
    return sets === 0 ? [] : [{ photos, sets, ...shares }];
  });
}
