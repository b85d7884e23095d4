import { type Calibration, normalised, promisedRate } from 'facematch/for-lab';
import type { CohortScore } from './calibrate.ts';
import { folds } from './held-out.ts';
import { type Interval, PairRate, PersonRate } from './metrics.ts';
import { eachMated, eachNonMated, type IsOnePerson, numberPeople } from './non-mated.ts';
import { WorstPairsSeen } from './pairs.ts';
import { type FoundPeople, foldOf, type Grouping, groupingText } from './people.ts';

/**
 * Differential performance: how error rates vary between groups of people (ISO/IEC 19795-10). Non-mated pairs
 * are within-group, because people of the same group look more similar than people of different groups.
 */

export interface Rate {
  rate: number;
  /** 95 % confidence interval, clustered by person. */
  interval: Interval;
  /** Number of trials. */
  trials: number;
  /** Design effect: the number of trials divided by the number of independent trials with the same certainty. */
  design_effect: number;
}

export type GroupFigures = ReturnType<typeof figuresOf>;
export type Measure = 'fmr' | 'fnmr' | 'failure_to_acquire';
/** Ratio of the highest rate of the groups to the lowest. */
export type WorstOverBest = ReturnType<typeof worstOverBest>[number];

/** Groups by the same columns of people.tsv, such as "origin × sex". */
export interface GroupingFigures {
  grouping: string;
  groups: GroupFigures[];
  worst_over_best: WorstOverBest[];
}

interface Judge {
  calibration: Calibration;
  percents: readonly number[];
  scoreOf: CohortScore;
  /** Omits pairs that probably show one person; Infinity omits none. */
  samePersonAbove: number | IsOnePerson;
}

/**
 * Maximum number of non-mated pairs for the rate of all people, if it is shown only for comparison with the groups.
 * They are enough for the lowest measured rate, 1 in 10,000.
 */
const maxSampledPairs = 2_000_000;

/**
 * Returns the figures of all people and of each group, and the worst pairs. With groupings, the non-mated pairs of
 * all people are sampled if there are more than maxSampledPairs.
 */
export function differentialOf(people: FoundPeople, groupings: readonly Grouping[], judge: Judge) {
  const seen = new WorstPairsSeen();
  const everybody = figuresOf(people.name, people, judge, seen, groupings.length > 0);
  const figures = groupings.map((grouping, column): GroupingFigures => {
    const groups = labelsAt(people, column).map((label) => {
      const isOf = ({ labels }: { labels: readonly string[] }) => labels[column] === label;
      const own = { ...people, images: people.images.filter(isOf), allImages: people.allImages.filter(isOf) };
      return figuresOf(label, own, judge, seen, false);
    });
    const worst_over_best = worstOverBest(groups, judge.percents);
    return { grouping: groupingText(grouping), groups, worst_over_best };
  });
  return { everybody, groupings: figures, worst: seen.judged(judge.calibration) };
}

const byNumber = new Intl.Collator('en', { numeric: true });

/** Returns the labels of a grouping, in numeric order: "age 3-9" comes before "age 10-19". */
function labelsAt({ allImages }: FoundPeople, column: number): string[] {
  return [...new Set(allImages.map(({ labels }) => labels[column]!))].sort(byNumber.compare);
}

function figuresOf(
  group: string,
  { images, allImages }: FoundPeople,
  { calibration, percents, scoreOf, samePersonAbove }: Judge,
  seen: WorstPairsSeen,
  sampled: boolean,
) {
  const acquired = numberPeople(allImages);
  const failures = new PersonRate(acquired.people.length);
  for (const [i, { hasFace }] of allImages.entries()) failures.add(!hasFace, acquired.numbers[i]!);

  const faces = numberPeople(images);
  const { numbers, people } = faces;
  const foldOfPerson = Uint8Array.from(people, (person) => foldOf(person, folds));
  /** Held-out cohort scores depend on the folds of both people. */
  const scoreOfPair = (first: number, second: number, cosine: number) => {
    const own = foldOfPerson[numbers[first]!]!;
    const other = foldOfPerson[numbers[second]!]!;
    return normalised(cosine, scoreOf(images[first]!, other), scoreOf(images[second]!, own));
  };
  const rates = percents.map((percent) => ({
    percent,
    threshold: calibration.similarityAt(promisedRate(percent)),
    matches: new PairRate(people.length),
    nonMatches: new PersonRate(people.length),
  }));
  const options = { samePersonAbove, ...(sampled && { maxPairs: maxSampledPairs }) };
  const omitted = eachNonMated(faces, options, (first, second, cosine) => {
    const score = scoreOfPair(first, second, cosine);
    for (const { threshold, matches } of rates) {
      matches.add(score >= threshold, numbers[first]!, numbers[second]!);
    }
    // Omits sampled pairs from the worst pairs, which would depend on the sample.
    if (!sampled) seen.add(false, images[first]!.file, images[second]!.file, score, cosine);
  });
  eachMated(faces, (first, second, cosine) => {
    const score = scoreOfPair(first, second, cosine);
    for (const { threshold, nonMatches } of rates) nonMatches.add(score < threshold, numbers[first]!);
    seen.add(true, images[first]!.file, images[second]!.file, score, cosine);
  });
  return {
    group,
    people: acquired.people.length,
    // Number of readable images. failure_to_acquire is the share of them without a detected face.
    images: allImages.length,
    failure_to_acquire: rateOf(failures),
    // Number of non-mated pairs that were omitted because of their high cosine.
    taken_for_one_person: omitted,
    by_percent: rates.map(({ percent, matches, nonMatches }) => {
      const stated_fmr = Number(promisedRate(percent).toPrecision(6));
      const [fmr, fnmr] = [rateOf(matches), rateOf(nonMatches)];
      return { percent, stated_fmr, fmr, fmr_over_stated: fmr.rate / stated_fmr, fnmr };
    }),
  };
}

function rateOf({ rate, interval, trials, effect }: PersonRate | PairRate): Rate {
  return { rate, interval, trials, design_effect: effect };
}

/** Minimum expected number of errors of a compared group, at the pooled rate of all compared groups. */
const minExpectedErrors = 30;

/**
 * Returns an entry per measure and percent with at least two comparable groups. `percent` is undefined for failure to
 * acquire, which does not depend on the threshold.
 */
function worstOverBest(groups: readonly GroupFigures[], percents: readonly number[]) {
  const compare = (measure: Measure, percent: number | undefined, of: (figures: GroupFigures) => Rate) => {
    const ends = highestOverLowest(groups.map((figures) => ({ group: figures.group, ...of(figures) })));
    return ends ? [{ measure, percent, ...ends }] : [];
  };
  return [
    ...percents.flatMap((percent, i) => compare('fmr', percent, ({ by_percent }) => by_percent[i]!.fmr)),
    ...percents.flatMap((percent, i) => compare('fnmr', percent, ({ by_percent }) => by_percent[i]!.fnmr)),
    ...compare('failure_to_acquire', undefined, (figures) => figures.failure_to_acquire),
  ];
}

/**
 * Compares the highest rate with the lowest. `ratio` is Infinity if the lowest is 0. Returns undefined if fewer than
 * two groups can be compared. `if_equal` is the 95th percentile of this ratio in samples of the same size
 * from groups with equal rates. A lower `ratio` is no evidence of a difference.
 */
export function highestOverLowest(rates: readonly (Rate & { group: string })[]) {
  const seen = shownOf(rates).sort((a, b) => a.rate - b.rate);
  const [best, worst] = [seen[0], seen.at(-1)];
  if (!best || !worst || best === worst) return undefined;
  return {
    worst: worst.group,
    best: best.group,
    ratio: worst.rate / best.rate,
    if_equal: ratioIfEqual(seen),
  };
}

const pooledRate = (rates: readonly Rate[]) => {
  const trials = rates.reduce((sum, one) => sum + one.trials, 0);
  return rates.reduce((sum, { rate, trials }) => sum + (trials > 0 ? rate * trials : 0), 0) / trials;
};

/** Keeps groups with enough expected errors. Repeats, because removing a group changes the pooled rate. */
function shownOf<T extends Rate>(rates: readonly T[]): T[] {
  const pooled = pooledRate(rates);
  const shown = rates.filter(({ trials }) => pooled * trials >= minExpectedErrors);
  return shown.length === rates.length || shown.length === 0 ? shown : shownOf(shown);
}

/** Number of samples, enough to estimate the 95th percentile within a few per cent. */
const samples = 4000;

/**
 * Simulates groups that all have the pooled rate. The logarithm of a group's measured rate is approximately normal,
 * with a variance that follows from the group's number of independent trials.
 */
function ratioIfEqual(rates: readonly Rate[]): number {
  const pooled = pooledRate(rates);
  const errors = rates.map(({ trials, design_effect }) =>
    Math.sqrt((design_effect * (1 - pooled)) / (pooled * trials)),
  );
  const normal = normals();
  const ratios = Float64Array.from({ length: samples }, () => {
    const logs = errors.map((error) => error * normal());
    return Math.exp(Math.max(...logs) - Math.min(...logs));
  }).sort();
  return ratios[Math.floor(0.95 * samples)]!;
}

/** Returns a generator of standard normal numbers (Box–Muller). Its seed is fixed, so that results are reproducible. */
function normals(): () => number {
  let state = 1;
  const uniform = () => {
    // Uses Park and Miller's minimal standard generator, as revised in 1993.
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
