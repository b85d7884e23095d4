import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { bars, lines, scaled, spaced, stacks } = await import(projectPath('bench/results/svg.mjs'));

/** Of every rectangle with that class, in the order of the picture. */
const widths = (svg: string, name: string) =>
  [...svg.matchAll(/<rect [^>]*width="([\d.]+)"[^>]*class="(\w+)"/g)]
    .filter(([, , own]) => own === name)
    .map(([, width]) => Number(width));

/** Every tag is closed, in order, and every & begins an entity. */
function expectWellFormed(svg: string) {
  const open: string[] = [];
  for (const [, closing, name, , self] of svg.matchAll(
    /<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g,
  )) {
    if (closing) expect(open.pop()).toBe(name);
    else if (!self) open.push(name!);
  }
  expect(open).toEqual([]);
  expect(svg).not.toMatch(/&(?!(amp|lt|gt|quot);)/);
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
}

describe('bars', () => {
  const svg = bars({
    title: 'a < b & "c"',
    subtitle: 'd',
    rows: [
      { label: 'one', value: 40, shown: '40', accent: true },
      { label: '<two>', value: 10, shown: '10' },
    ],
  });

  test('are as long as their values, and the one that is meant stands out', () => {
    const [own, other] = [widths(svg, 'c0'), widths(svg, 'c2')];
    expect([own.length, other.length]).toEqual([1, 1]);
    expect(own[0]! / other[0]!).toBeCloseTo(4, 1);
  });

  test('are well-formed whatever their names', () => expectWellFormed(svg));
});

describe('stacks', () => {
  const svg = stacks({
    title: 't',
    subtitle: 's',
    names: ['nets', 'rest'],
    rows: [
      { label: 'small', values: [3, 1] },
      { label: 'photo', values: [4, 4] },
    ],
    show: String,
  });

  test('are as long as the sum of their parts, and each part as its share', () => {
    // The first of each class is the legend's.
    const nets = widths(svg, 'c0').slice(1);
    const rest = widths(svg, 'c1').slice(1);
    expect(nets[0]! / rest[0]!).toBeCloseTo(3, 1);
    expect((nets[1]! + rest[1]!) / (nets[0]! + rest[0]!)).toBeCloseTo(2, 1);
    expect(svg).toContain('>8<');
    expectWellFormed(svg);
  });
});

describe('lines', () => {
  const svg = lines({
    title: 't',
    subtitle: 's',
    places: ['1', '8', '32'],
    series: [
      { name: 'rises', values: [10, 100, 1000], colour: 0 },
      { name: 'has a gap', values: [20, Number.NaN, 40], colour: 1, dashed: true },
      { name: 'is nowhere', values: [Number.NaN], colour: 2 },
    ],
    show: String,
  });
  const points = [...(svg as string).matchAll(/points="([^"]*)"/g)].map(([, list]) =>
    list!.split(' ').map((point) => point.split(',').map(Number)),
  );

  test('rise by as much for each factor, and leave out what was not measured', () => {
    const [rises, gap] = points;
    expect(points).toHaveLength(2);
    const [first, second, third] = rises!.map(([, y]) => y!);
    expect(first! - second!).toBeGreaterThan(0);
    expect(first! - second!).toBeCloseTo(second! - third!, 0);
    expect(gap).toHaveLength(2);
    expectWellFormed(svg);
  });
});

test('a logarithmic axis begins at its least value and ends at its most', () => {
  const axis = { least: 10, most: 1000, length: 200 };
  expect([10, 100, 1000].map((value) => Math.round(scaled(value, axis)))).toEqual([0, 100, 200]);
  expect(scaled(25, { most: 100, length: 200 })).toBe(50);
});

test('names that would lie upon each other are moved apart, and keep their order', () => {
  expect(spaced([100, 20, 101, 60], 14)).toEqual([100, 20, 114, 60]);
});
