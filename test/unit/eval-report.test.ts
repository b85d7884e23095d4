import { describe, expect, test } from 'vitest';
import { type Chart, chartView, linearAxis, rateAxis } from '../../src/lab/report/chart.ts';
import { groupChartView, timesAxis } from '../../src/lab/report/group-chart.ts';
import { cropAround } from '../../src/lab/report/pairs.ts';
import { readHtml } from '../fixtures/html.ts';

describe('an axis of rates', () => {
  test.each([
    [1e-4, 0],
    [1e-3, 0.25],
    [1, 1],
    [0, 0],
    [1e-9, 0],
    [2, 1],
    [Number.NaN, 0],
  ])('puts %d at %d', (rate, share) => {
    expect(rateAxis('', 1200).share(rate)).toBeCloseTo(share, 12);
  });

  test.each([
    [1200, ['1', '10⁻¹', '10⁻²', '10⁻³', '10⁻⁴']],
    [1000, ['1', '10⁻¹', '10⁻²', '10⁻³']],
    [0, ['1', '10⁻¹', '10⁻²']],
  ])('of %i pairs reaches down to one of them', (pairs, labels) => {
    expect(rateAxis('', pairs).ticks.map(({ label }) => label)).toEqual(labels);
  });
});

test.each([
  [0.985, 1, ['0.984', '0.986', '0.988', '0.990', '0.992', '0.994', '0.996', '0.998', '1.000']],
  [-0.43, 0.71, ['-0.6', '-0.4', '-0.2', '0.0', '0.2', '0.4', '0.6', '0.8']],
  [0, 0.087, ['0.00', '0.02', '0.04', '0.06', '0.08', '0.10']],
  [0.5, 0.5, ['0.4', '0.6']],
])('a linear axis from %d to %d has round ticks around both', (min, max, labels) => {
  const { ticks, share } = linearAxis('', min, max);
  expect(ticks.map(({ label }) => label)).toEqual(labels);
  expect(share(ticks[0]!.value)).toBeCloseTo(0, 12);
  expect(share(ticks.at(-1)!.value)).toBeCloseTo(1, 12);
});

describe('a chart', () => {
  const axis = linearAxis('x < y', 0, 1);
  const points = [[0, 0] as const, [0.5, 1] as const, [1, 0.25] as const];
  const chart: Chart = {
    id: 'one',
    title: 'A & B',
    description: 'words',
    x: axis,
    y: axis,
    lines: [
      { series: 0, label: '<script>', points },
      { series: 7, points: [] },
    ],
    markers: [0.5, 0.9, 0.5].map((x) => ({ x, label: `at ${x}` })),
    dots: [{ series: 0, x: 0.5, y: 0.5, low: 0.25, high: 1 }],
  };
  const elements = readHtml(chartView(chart).text);
  const drawn = (name: string, attribute: string) =>
    elements.filter((element) => element.name === name).map(({ attributes }) => attributes.get(attribute));

  test('draws a line through its points, and none of no points: the plot is 358 wide and 222 high', () => {
    expect(drawn('path', 'd')).toEqual(['M60 222L239 0L418 166.5', 'M0 4L28 4']);
  });

  test('escapes its words', () => {
    expect(elements.find(({ name }) => name === 'li')!.text).toBe(' <script>');
  });
});

describe('a chart of groups', () => {
  const one = (value: number, low: number, high: number) => ({ value, low, high });
  const groups = [
    { name: '<b>', values: [one(1, 0.1, 10), one(0, 0, 10)] },
    { name: 'none', values: [one(Number.NaN, 0, 1), one(10, 1, 1e9)] },
  ];
  const x = timesAxis('times', [1, 10]);
  const chart = { id: 'g', title: 't', description: 'd', x, marker: { x: 1, label: 'as promised' }, groups };
  const elements = readHtml(groupChartView({ ...chart, series: ['at 50 %', 'at 60 %'] }).text);
  const drawn = (name: string, attribute: string) =>
    elements.filter((element) => element.name === name).map(({ attributes }) => attributes.get(attribute));

  test('has a row for each group and a dot for each value that is known', () => {
    // From 0.1 to 10 the plot is 406 wide, from 12 on.
    expect(drawn('circle', 'cx')).toEqual(['215', '12', '418']);
    expect(new Set(drawn('circle', 'cy')).size).toBe(3);
    expect(elements.filter(({ text }) => text === '<b>').length).toBeGreaterThan(0);
    expect(elements.filter(({ name }) => name === 'li').map(({ text }) => text)).toEqual([
      ' at 50 %',
      ' at 60 %',
    ]);
  });

  test('of one series has no legend', () => {
    expect(groupChartView({ ...chart, series: [] }).text).not.toContain('legend');
  });

  test.each([
    [[], ['0.1', '1', '10']],
    [
      [0, 0.5, 12, 3000],
      ['0.1', '1', '10', '100', '1,000', '10,000'],
    ],
    [
      [0.02, Number.NaN, Number.POSITIVE_INFINITY],
      ['0.01', '0.1', '1', '10'],
    ],
    [[1e-9], ['0.01', '0.1', '1', '10']],
  ])('%j times has an axis of whole decades', (values, labels) => {
    expect(timesAxis('', values).ticks.map(({ label }) => label)).toEqual(labels);
  });
});

describe('a crop', () => {
  const picture = { width: 400, height: 300 };
  test.each([
    ['shows a face with what is around it', [150, 100, 80, 100], [80, 40, 220]],
    ['stays within the picture at the top left', [0, 0, 50, 50], [0, 0, 110]],
    ['stays within the picture at the bottom right', [380, 290, 50, 50], [290, 190, 110]],
    ['is the whole picture for a face that fills it', [-10, -10, 390, 320], [0, -50, 400]],
  ] as const)('%s', (_, [left, top, width, height], [x, y, side]) => {
    const crop = cropAround({ x: left, y: top, width, height }, picture);
    expect(crop).toEqual({ x: expect.closeTo(x), y: expect.closeTo(y), side: expect.closeTo(side) });
  });

  test('is the whole picture, in the middle, where there is no face', () => {
    expect(cropAround(undefined, picture)).toEqual({ x: 0, y: -50, side: 400 });
    expect(cropAround(undefined, { width: 30, height: 50 })).toEqual({ x: -10, y: 0, side: 50 });
  });
});
