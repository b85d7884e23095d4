import { describe, expect, test } from 'vitest';
import { Calibration } from '../../src/scoring/calibration.ts';
import type { Html } from '../../src/site/html.ts';
import { figuresOf } from '../figures.ts';
import type { JudgedPair } from '../pairs.ts';
import { detChart, rocChart, thresholdChart } from '../report/score-charts.ts';
import { type Element, readHtml } from './support/html.ts';

const textsOf = (elements: readonly Element[]) =>
  elements.filter(({ name }) => name === 'text').map(({ text }) => text);
const drawn = (chart: Html, name: string, attribute: string) =>
  readHtml(chart.text)
    .filter((element) => element.name === name)
    .map(({ attributes }) => attributes.get(attribute));
/** Returns the corners of each series' line. */
const linesOf = (chart: Html) =>
  drawn(chart, 'path', 'd').flatMap((d) => {
    const corners = [...d!.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map(
      ([, x, y]) => [Number(x), Number(y)] as const,
    );
    return d!.endsWith('Z') || corners.length < 3 ? [] : [corners];
  });

/** Makes a set of pairs from their scores. */
function setOf(set: string, same: number[], different: number[]) {
  const pairOf =
    (isSame: boolean) =>
    (score: number): JudgedPair => {
      const people = [0, isSame ? 0 : 1] as const;
      return {
        image1: 'a',
        image2: 'b',
        same: isSame,
        fold: undefined,
        people,
        cosine: score,
        normalised: score,
      };
    };
  const calibration = new Calibration([
    [-0.5, 1],
    [0, 0.1],
    [0.4, 1e-5],
  ]);
  const pairs = [...same.map(pairOf(true)), ...different.map(pairOf(false))];
  return figuresOf({
    set,
    mode: 'fast',
    cohort: 'none',
    pairs,
    not_compared: 0,
    not_acquired: { mated: 0, non_mated: 0 },
    acquisitions: [],
    too_alike: [],
    images: new Map(),
    calibration,
    seconds: 1,
  });
}

const nonMated = Array.from({ length: 100 }, (_, i) => i / 200);
const few = setOf('few', [0.9, 0.432, 0.2], nonMated);
const curves = (name: string) => [{ name, figures: few.by.normalised, pairs: few.pairs }];

describe('error curves', () => {
  test.each([
    ['detection error trade-off', detChart(curves('few'))],
    ['receiver operating characteristic', rocChart(curves('few'))],
    ['rates by threshold', thresholdChart('normalised', [few])],
  ])('are drawn as steps: %s', (_what, chart) => {
    const lines = linesOf(chart);
    expect(lines.length).toBeGreaterThan(0);
    for (const corners of lines) {
      for (const [i, [x, y]] of corners.slice(1).entries()) {
        expect([x === corners[i]![0], y === corners[i]![1]]).toContain(true);
      }
    }
  });

  test('show the value of the table at each false match rate', () => {
    const [line] = linesOf(rocChart(curves('few')));
    // One of three mated pairs matches at rates from 1 in 100 (the left edge) up to 13 in 100.
    const rise = line!.findIndex(([, y]) => y !== line![0]![1]);
    expect(line![0]![0]).toBe(60);
    expect(line![rise]![0]).toBeCloseTo(60 + 179 * Math.log10(13), 0);
    expect(few.by.normalised.operating_points).toMatchObject([{ target_fmr: 0.01, fnmr: 2 / 3, fmr: 0 }]);
  });
});

describe('charts of perfectly separated pairs', () => {
  const all = setOf('all', [0.9, 0.8, 0.7], nonMated);
  const curvesOf = [{ name: 'all', figures: all.by.normalised, pairs: all.pairs }];

  test('show rates of mated pairs up to 1', () => {
    const labels = textsOf(readHtml(rocChart(curvesOf).text)).filter((text) => /^\d\.\d+$/.test(text));
    expect(labels.at(-1)).toMatch(/^1\.0+$/);
    expect(labels.every((label) => Number(label) <= 1)).toBe(true);
    expect(labels.length).toBeGreaterThan(2);
  });

  test('state that no threshold makes both kinds of errors', () => {
    const texts = textsOf(readHtml(detChart(curvesOf).text));
    expect(texts).toContain('No threshold causes errors of both kinds.');
    expect(textsOf(readHtml(detChart(curves('few')).text))).not.toContain(texts.at(-1));
  });
});

test('labels only the svg element of a chart', () => {
  const named = readHtml(rocChart(curves('few')).text).filter(({ attributes }) =>
    attributes.has('aria-label'),
  );
  expect(named.map(({ name }) => name)).toEqual(['svg']);
});
