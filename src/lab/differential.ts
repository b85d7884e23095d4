import { type Calibration, promisedRate } from '../scoring/calibration.ts';
import type { CohortScore } from './calibrate.ts';
import { folds } from './held-out.ts';
import { type Interval, PersonRate } from './metrics.ts';
import { PairRate, type WorstPairs, WorstPairsSeen } from './pairs.ts';
import { type FoundPeople, foldOf, type Grouping, groupingText } from './people.ts';
import { eachMated, eachStrangers, type NumberedPeople, numberPeople } from './strangers.ts';

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

/** The rates at the threshold of a percent. */
interface PercentRates {
  percent: number;
  /** The false-match rate that the percent promises. */
  promised: number;
  /** Of pairs of pictures of two people. */
  false_match: Rate;
  /** Observed ÷ promised. */
  ratio: number;
  /** Of pairs of pictures of one person, each with a face. */
  false_non_match: Rate;
}

export interface GroupFigures {
  group: string;
  people: number;
  /** Pictures that could be read. */
  pictures: number;
  /** The share of pictures in which no face was found. */
  failure_to_acquire: Rate;
  /** Pairs of two people whose cosine was so high that they were taken for one person, and left out. */
  taken_for_one_person: number;
  by_percent: PercentRates[];
}

export type Measure = 'false_match' | 'false_non_match' | 'failure_to_acquire';

/** How much more often the group that is served worst meets an error than the one that is served best. */
export interface WorstOverBest {
  measure: Measure;
  /** Undefined for failure to acquire, which does not depend on the threshold. */
  percent: number | undefined;
  worst: string;
  best: string;
  /** Infinity when the best group has no error. */
  ratio: number;
}

/** Groups by the same columns of the list. */
export interface GroupingFigures {
  /** Such as "origin × sex". */
  grouping: string;
  groups: GroupFigures[];
  worst_over_best: WorstOverBest[];
}

/** What is measured of a set of labelled people, apart from what the pictures themselves are. */
export interface Differential {
  /** All people of the set; with groupings, strangers of any groups, of whom a sample is taken when they are many. */
  everybody: GroupFigures;
  groupings: GroupingFigures[];
  worst: WorstPairs;
}

interface Judge {
  calibration: Calibration;
  percents: readonly number[];
  scoreOf: CohortScore;
  /** Infinity: nobody is taken for somebody else. */
  samePersonAbove: number;
}

/** More pairs than these show no lower rate that matters where everybody's rate is only there for comparison. */
const sampledPairs = 2_000_000;

/** Lets other work run between two groups, and calls `onGroup` after each. */
export async function differentialOf(
  people: FoundPeople,
  groupings: readonly Grouping[],
  judge: Judge,
  onGroup: () => void,
): Promise<Differential> {
  const seen = new WorstPairsSeen();
  const everybody = figuresOf(people.name, people, judge, seen, groupings.length > 0);
  onGroup();
  const figures: GroupingFigures[] = [];
  for (const [column, grouping] of groupings.entries()) {
    const groups: GroupFigures[] = [];
    for (const label of labelsAt(people, column)) {
      await new Promise(setImmediate);
      const isOf = ({ labels }: { labels: readonly string[] }) => labels[column] === label;
      const own = { ...people, images: people.images.filter(isOf), pictures: people.pictures.filter(isOf) };
      groups.push(figuresOf(label, own, judge, seen, false));
      onGroup();
    }
    figures.push({
      grouping: groupingText(grouping),
      groups,
      worst_over_best: worstOverBest(groups, judge.percents),
    });
  }
  return { everybody, groupings: figures, worst: seen.judged(judge.calibration) };
}

/** How often `differentialOf` calls `onGroup`. */
export function groupCount(people: FoundPeople, groupings: readonly Grouping[]): number {
  return groupings.reduce((sum, _, column) => sum + labelsAt(people, column).length, 1);
}

const byNumber = new Intl.Collator('en', { numeric: true });

/** In a reader's order: "age 3-9" before "age 10-19". */
function labelsAt({ pictures }: FoundPeople, column: number): string[] {
  return [...new Set(pictures.map(({ labels }) => labels[column]!))].sort(byNumber.compare);
}

function figuresOf(
  group: string,
  { images, pictures }: FoundPeople,
  judge: Judge,
  seen: WorstPairsSeen,
  sampled: boolean,
): GroupFigures {
  const acquired = numberPeople(pictures);
  const failures = new PersonRate(acquired.people.length);
  for (const [i, { hasFace }] of pictures.entries()) failures.add(acquired.numbers[i]!, !hasFace);

  const faces = numberPeople(images);
  const normalised = normaliser(faces, judge.scoreOf);
  const rates = judge.percents.map((percent) => ({
    percent,
    threshold: judge.calibration.similarityAt(promisedRate(percent)),
    matches: new PairRate(faces.people.length),
    nonMatches: new PersonRate(faces.people.length),
  }));
  const most = sampled ? sampledPairs : Number.POSITIVE_INFINITY;
  const { samePersonAbove } = judge;
  const left = eachStrangers(faces, { samePersonAbove, most }, (first, second, cosine) => {
    const score = normalised(first, second, cosine);
    for (const { threshold, matches } of rates) {
      matches.add(faces.numbers[first]!, faces.numbers[second]!, score >= threshold);
    }
    // Strangers of different groups are left to chance by the sample.
    if (!sampled) seen.add(false, images[first]!.file, images[second]!.file, score, cosine);
  });
  eachMated(faces, (first, second, cosine) => {
    const score = normalised(first, second, cosine);
    for (const { threshold, nonMatches } of rates) nonMatches.add(faces.numbers[first]!, score < threshold);
    seen.add(true, images[first]!.file, images[second]!.file, score, cosine);
  });
  return {
    group,
    people: acquired.people.length,
    pictures: pictures.length,
    failure_to_acquire: rateOf(failures),
    taken_for_one_person: left,
    by_percent: rates.map(({ percent, matches, nonMatches }) => {
      const promised = Number(promisedRate(percent).toPrecision(6));
      return {
        percent,
        promised,
        false_match: { rate: matches.rate, interval: matches.interval, trials: matches.pairs },
        ratio: matches.rate / promised,
        false_non_match: rateOf(nonMatches),
      };
    }),
  };
}

/** The similarity of two images: their cosine less the mean of their cohort scores, which may depend on both people's folds. */
function normaliser({ images, numbers, people }: NumberedPeople, scoreOf: CohortScore) {
  const foldOfPerson = Uint8Array.from(people, (person) => foldOf(person, folds));
  return (first: number, second: number, cosine: number): number => {
    const own = foldOfPerson[numbers[first]!]!;
    const other = foldOfPerson[numbers[second]!]!;
    return cosine - (scoreOf(images[first]!, other) + scoreOf(images[second]!, own)) / 2;
  };
}

function rateOf({ rate, interval, trials }: PersonRate): Rate {
  return { rate, interval, trials };
}

/** A group with fewer expected false matches, or fewer trials of another kind, shows nothing about a rate: it is not compared. */
const fewExpected = 5;
const fewTrials = 30;

/** For each measure that at least two groups show. */
function worstOverBest(groups: readonly GroupFigures[], percents: readonly number[]): WorstOverBest[] {
  const compare = (
    measure: Measure,
    percent: number | undefined,
    of: (figures: GroupFigures) => Rate,
    least: number,
  ): WorstOverBest[] => {
    const seen = groups
      .map((figures) => ({ group: figures.group, ...of(figures) }))
      .filter(({ trials }) => trials >= least)
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
      compare('false_non_match', percent, ({ by_percent }) => by_percent[i]!.false_non_match, fewTrials),
    ),
    ...compare('failure_to_acquire', undefined, (figures) => figures.failure_to_acquire, fewTrials),
  ];
}
