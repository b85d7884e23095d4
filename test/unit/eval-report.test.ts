import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Chart, chartView } from '../../src/eval/report/chart.ts';
import { cropAround, wholePicture } from '../../src/eval/report/crop.ts';
import { linearScale, lowestExponent, rateScale, withoutZeros } from '../../src/eval/report/scale.ts';
import { projectPath } from '../../src/paths.ts';
import { readHtml } from '../fixtures/strict-html.ts';

describe('a scale of rates', () => {
  const scale = rateScale(-4);

  test.each([
    [1e-4, 0],
    [1e-3, 0.25],
    [1e-2, 0.5],
    [1, 1],
    [0, 0],
    [1e-9, 0],
    [2, 1],
    [Number.NaN, 0],
  ])('puts %d at %d', (rate, share) => {
    expect(scale.share(rate)).toBeCloseTo(share, 12);
  });

  test('has a tick for each power of ten', () => {
    expect(scale.ticks.map(({ label }) => label)).toEqual(['10⁻⁴', '10⁻³', '10⁻²', '10⁻¹', '1']);
  });

  test.each([
    [1200, -4],
    [1000, -3],
    [1, -2],
    [0, -2],
    [5_000_000, -7],
  ])('shows one pair of %i', (pairs, lowest) => {
    expect(lowestExponent(pairs)).toBe(lowest);
  });
});

describe('a linear scale', () => {
  test.each([
    [0.985, 1, ['0.984', '0.986', '0.988', '0.990', '0.992', '0.994', '0.996', '0.998', '1.000']],
    [-0.43, 0.71, ['-0.6', '-0.4', '-0.2', '0.0', '0.2', '0.4', '0.6', '0.8']],
    [0, 0.087, ['0.00', '0.02', '0.04', '0.06', '0.08', '0.10']],
    [0, 1, ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']],
    [0.5, 0.5, ['0.4', '0.6']],
  ])('from %d to %d has round ticks around both', (min, max, labels) => {
    const { ticks, share } = linearScale(min, max);
    expect(ticks.map(({ label }) => label)).toEqual(labels);
    expect(share(ticks[0]!.value)).toBeCloseTo(0, 12);
    expect(share(ticks.at(-1)!.value)).toBeCloseTo(1, 12);
    expect(share((min + max) / 2)).toBeGreaterThanOrEqual(0);
  });
});

describe('a curve of rates', () => {
  test('keeps the steps into 0 and out of it, and nothing between them', () => {
    const kept = withoutZeros([0, 0, 0, 0.1, 0.2, 0, 0, 0, 0.3, 0, 0], (rate) => rate);
    expect(kept).toEqual([0, 0.1, 0.2, 0, 0, 0.3, 0]);
    expect(withoutZeros([0, 0], (rate) => rate)).toEqual([]);
  });
});

describe('a chart', () => {
  const axis = { title: 'x < y', scale: linearScale(0, 1) };
  const chart: Chart = {
    id: 'one',
    title: 'A & B',
    description: 'words',
    x: axis,
    y: axis,
    lines: [
      {
        series: 0,
        label: '<script>',
        points: [
          [0, 0],
          [0.5, 1],
          [1, 0.25],
        ],
      },
      { series: 7, points: [] },
    ],
    markers: [0.5, 0.5, 0.51, 0.9].map((x) => ({ x, label: `at ${x}` })),
    dots: [{ series: 0, x: 0.5, y: 0.5, low: 0.25, high: 1 }],
  };
  const elements = readHtml(chartView(chart).text);

  test('draws a line through its points: the plot is 358 wide and 222 high', () => {
    const [path] = elements.filter(({ attributes }) => attributes.get('class') === 'line s0');
    expect(path!.attributes.get('d')).toBe('M60 222L239 0L418 166.5');
  });

  test('draws no line of no points', () => {
    expect(elements.filter(({ attributes }) => attributes.get('class')?.endsWith('s1'))).toEqual([]);
  });

  test('puts words of markers one above the other where they would overlap', () => {
    const marked = elements
      .filter(({ name, text }) => name === 'text' && text.startsWith('at '))
      .map(({ text, attributes }) => [text, Number(attributes.get('y'))]);
    const heights = marked.filter(([text]) => text !== 'at 0.9').map(([, y]) => y);
    expect(new Set(heights).size).toBe(3);
    expect(marked.find(([text]) => text === 'at 0.9')![1]).toBe(-4);
    const [, top] = elements
      .find(({ name }) => name === 'svg')!
      .attributes.get('viewBox')!
      .split(' ')
      .map(Number);
    expect(top).toBeLessThan(Math.min(...(heights as number[])) - 10);
  });

  test('shows an interval around a dot', () => {
    const at = elements.findIndex(({ attributes }) => attributes.get('class') === 'dot s0');
    const [line, circle] = elements.slice(at + 1);
    expect([line!.attributes.get('y1'), line!.attributes.get('y2')]).toEqual(['166.5', '0']);
    expect(circle!.attributes.get('cy')).toBe('111');
  });

  test('escapes its words', () => {
    expect(elements.find(({ name }) => name === 'li')!.text).toBe(' <script>');
  });
});

describe('a crop', () => {
  const picture = { width: 400, height: 300 };

  test('shows a face with what is around it', () => {
    expect(cropAround({ x: 150, y: 100, width: 80, height: 100 }, picture)).toEqual({
      x: expect.closeTo(80),
      y: expect.closeTo(40),
      side: expect.closeTo(220),
    });
  });

  test('stays within the picture where it can', () => {
    expect(cropAround({ x: 0, y: 0, width: 50, height: 50 }, picture)).toEqual({
      x: 0,
      y: 0,
      side: expect.closeTo(110),
    });
    expect(cropAround({ x: 380, y: 290, width: 50, height: 50 }, picture)).toMatchObject({
      x: expect.closeTo(290),
      y: expect.closeTo(190),
    });
  });

  test('is the whole picture, in the middle, for a face that fills it', () => {
    expect(cropAround({ x: -10, y: -10, width: 390, height: 320 }, picture)).toEqual(wholePicture(picture));
    expect(wholePicture(picture)).toEqual({ x: 0, y: -50, side: 400 });
    expect(wholePicture({ width: 30, height: 50 })).toEqual({ x: -10, y: 0, side: 50 });
  });
});

describe('the style of the page', () => {
  const [css = '', ...others] = ['page', 'chart', 'pair'].map((name) =>
    readFileSync(projectPath(`src/eval/report/${name}.css`), 'utf8'),
  );

  test('loads nothing', () => {
    for (const text of [css, ...others]) expect(text).not.toMatch(/url\(|@import|https?:/);
  });

  test('has every colour for light and for dark', () => {
    const names = (text: string) => [...text.matchAll(/^\s+(--[\w-]+):/gm)].map(([, name]) => name);
    const [, dark] = css.split('@media (prefers-color-scheme: dark)');
    const darkRoot = dark!.slice(0, dark!.indexOf('}'));
    const light = css.slice(0, css.indexOf('@media'));
    expect(names(darkRoot).sort()).toEqual(names(light).sort());
  });
});

describe('the strict reader of HTML', () => {
  test.each([
    '<p>',
    '<p></b>',
    '<p title=x></p>',
    '<p>a & b</p>',
    '<p>1 < 2</p>',
    '<p a="1" a="2"></p>',
    '<div/>',
    '<p title="<"></p>',
    '</p>',
  ])('refuses %s', (text) => {
    expect(() => readHtml(text)).toThrow();
  });
});
