import { type Calibration, normalised, promisedRate } from 'facematch/for-lab';
import type { CohortScore } from './calibrate.ts';
import { folds } from './held-out.ts';
import { type Interval, PairRate, PersonRate } from './metrics.ts';
import { WorstPairsSeen } from './pairs.ts';
import { type FoundPeople, foldOf, type Grouping, groupingText } from './people.ts';
import { eachMated, eachStrangers, numberPeople } from './strangers.ts';

/**
 * Differential performance: how error rates vary between groups of people, in the terms of ISO/IEC 19795-10. Its strangers are
 * two people of one group (within-group, non-mated), because they look more alike than people of different groups.
 */

export interface Rate {
  rate: number;
  /** 95 % confidence interval, by person. */
  interval: Interval;
  /** What the rate is a share of. */
  trials: number;
}

export type GroupFigures = ReturnType<typeof figuresOf>;
export type Measure = 'false_match' | 'false_non_match' | 'failure_to_acquire';
/** How much more often the group that is served worst meets an error than the one that is served best. */
export type WorstOverBest = ReturnType<typeof worstOverBest>[number];

/** Groups by the same columns of the list, such as "origin × sex". */
export interface GroupingFigures {
  grouping: string;
  groups: GroupFigures[];
  worst_over_best: WorstOverBest[];
}

interface Judge {
  calibration: Calibration;
  percents: readonly number[];
  scoreOf: CohortScore;
  /** At Infinity nobody is taken for somebody else. */
  samePersonAbove: number;
}

/** More pairs than these show no lower rate that matters where everybody's rate is only there for comparison. */
const sampledPairs = 2_000_000;

/**
 * The figures of everybody (with groupings, strangers of any groups, of whom a sample is taken when they are many) and of each
 * group, and the worst pairs.
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

/** The labels in a reader's order: "age 3-9" comes before "age 10-19". */
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
  /** Cohort scores may depend on both people's folds. */
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
  const options = { samePersonAbove, ...(sampled && { most: sampledPairs }) };
  const left = eachStrangers(faces, options, (first, second, cosine) => {
    const score = scoreOfPair(first, second, cosine);
    for (const { threshold, matches } of rates) {
      matches.add(score >= threshold, numbers[first]!, numbers[second]!);
    }
    // Strangers of different groups are left to chance by the sample.
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
    // These could be read, and in a share of them no face was found.
    images: allImages.length,
    failure_to_acquire: rateOf(failures),
    // Pairs of two people whose cosine was so high that they were left out.
    taken_for_one_person: left,
    by_percent: rates.map(({ percent, matches, nonMatches }) => {
      // The stated rate, whose ratio to the measured one is given.
      const promised = Number(promisedRate(percent).toPrecision(6));
      const [false_match, false_non_match] = [rateOf(matches), rateOf(nonMatches)];
      return { percent, promised, false_match, ratio: false_match.rate / promised, false_non_match };
    }),
  };
}

function rateOf({ rate, interval, trials }: PersonRate | PairRate): Rate {
  return { rate, interval, trials };
}

/** A group with fewer expected false matches, or fewer trials of another kind, shows nothing about a rate: it is not compared. */
const fewExpected = 5;
const fewTrials = 30;

/**
 * For each measure that at least two groups show. The ratio is Infinity when the best group has no error, and `percent` undefined
 * for failure to acquire, which does not depend on the threshold.
 */
function worstOverBest(groups: readonly GroupFigures[], percents: readonly number[]) {
  const compare = (
    measure: Measure,
    percent: number | undefined,
    of: (figures: GroupFigures) => Rate,
    enough = fewTrials,
  ) => {
    const seen = groups
      .map((figures) => ({ group: figures.group, ...of(figures) }))
      .filter(({ trials }) => trials >= enough)
      .sort((a, b) => a.rate - b.rate);
    const [best, worst] = [seen[0], seen.at(-1)];
    if (!best || !worst || best === worst || worst.rate === 0) return [];
    return [{ measure, percent, worst: worst.group, best: best.group, ratio: worst.rate / best.rate }];
  };
  return [
    ...percents.flatMap((percent, i) => {
      const enough = fewExpected / promisedRate(percent) - 1e-6;
      return compare('false_match', percent, ({ by_percent }) => by_percent[i]!.false_match, enough);
    }),
    ...percents.flatMap((percent, i) =>
      compare('false_non_match', percent, ({ by_percent }) => by_percent[i]!.false_non_match),
    ),
    ...compare('failure_to_acquire', undefined, (figures) => figures.failure_to_acquire),
  ];
}
