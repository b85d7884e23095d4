import type { Figures, ScoreFigures } from '../figures.ts';
import { kindTexts, percentText, rateText } from '../number-text.ts';
import type { Chart, Line } from './chart.ts';
import { linearScale, lowestExponent, rateScale, withoutZeros } from './scale.ts';

/** A curve under a name, and how many pairs stand behind it. */
export interface NamedCurve {
  name: string;
  series: number;
  figures: ScoreFigures;
  pairs: Figures['pairs'];
}

/** Both kinds of score of one set. */
export function curvesOf({ by, pairs }: Figures): NamedCurve[] {
  return (['normalised', 'cosine'] as const).map((kind, series) => ({
    name: kindTexts[kind],
    series,
    figures: by[kind],
    pairs,
  }));
}

/** Detection error trade-off: both error rates against each other (Martin and others 1997), here on logarithmic axes. */
export function detChart(id: string, curves: readonly NamedCurve[]): Chart {
  return {
    id,
    title: 'Detection error trade-off',
    description: `False-non-match rate against false-match rate, both logarithmic; lower is better. ${curves.map(inWords).join(' ')}`,
    x: falseMatchRate(curves),
    y: { title: 'false-non-match rate', scale: rateScale(lowestExponent(most(curves, 'same'))) },
    lines: curves.map(
      ({ name, series, figures }): Line => ({
        series,
        label: name,
        points: withoutZeros(figures.curve, ([, fmr, fnmr]) => Math.min(fmr, fnmr)).map(([, fmr, fnmr]) => [
          fmr,
          fnmr,
        ]),
      }),
    ),
    dots: dotsOf(curves, (tar) => 1 - tar),
  };
}

/** Receiver operating characteristic: the true-accept rate at each false-match rate. */
export function rocChart(id: string, curves: readonly NamedCurve[]): Chart {
  const shown = curves.flatMap(({ figures }) =>
    figures.operating_points.map(({ tar_interval: [low] }) => low),
  );
  // The most that are accepted without a false match: there the lines begin.
  const first = curves.map(({ figures }) => 1 - (figures.curve.findLast(([, fmr]) => fmr === 0)?.[2] ?? 0));
  return {
    id,
    title: 'Receiver operating characteristic',
    description: `True-accept rate against false-match rate, which is logarithmic; higher is better. ${curves.map(inWords).join(' ')}`,
    x: falseMatchRate(curves),
    y: {
      title: 'true-accept rate',
      scale: linearScale(Math.min(1, ...shown, ...first.filter(Number.isFinite)), 1),
    },
    lines: curves.map(
      ({ name, series, figures }): Line => ({
        series,
        label: name,
        points: withoutZeros(figures.curve, ([, fmr]) => fmr).map(([, fmr, fnmr]) => [fmr, 1 - fnmr]),
      }),
    ),
    dots: dotsOf(curves, (tar) => tar),
  };
}

function falseMatchRate(curves: readonly NamedCurve[]) {
  return { title: 'false-match rate', scale: rateScale(lowestExponent(most(curves, 'different'))) };
}

function dotsOf(curves: readonly NamedCurve[], value: (tar: number) => number): NonNullable<Chart['dots']> {
  return curves.flatMap(({ series, figures }) =>
    figures.operating_points.map(({ measured_fmr, tar, tar_interval: [low, high] }) => ({
      series,
      x: measured_fmr,
      y: value(tar),
      low: value(low),
      high: value(high),
    })),
  );
}

function most(curves: readonly NamedCurve[], kind: 'same' | 'different'): number {
  return Math.max(...curves.map(({ pairs }) => pairs[kind]));
}

function inWords({ name, figures }: NamedCurve): string {
  const points = figures.operating_points.map(
    ({ fmr, tar }) => `${percentText(tar)} accepted at ${rateText(fmr)} false matches`,
  );
  return `${name}: ${points.join(', ')}.`;
}
