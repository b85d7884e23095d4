import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { compactJson, filled, table } from '../../src/api/markdown-text.ts';
import { scorePicture } from '../../src/api/score-picture.ts';
import { thresholdTable } from '../../src/api/threshold-table.ts';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import { projectPath } from '../../src/paths.ts';

/** The small pieces that generated pages are made of. */

describe('a made part of a written page', () => {
  const written = 'before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n';

  test('is put in its place, and the rest is left as it is', () => {
    expect(filled(written, 'a', 'new $& 1')).toBe(
      'before\n<!-- a -->\n\nnew $& 1\n\n<!-- end of a -->\nafter\n',
    );
  });

  test('put in twice is the same', () => {
    expect(filled(filled(written, 'a', 'x'), 'a', 'x')).toBe(filled(written, 'a', 'x'));
  });

  test.each([
    '',
    'nothing here',
    '<!-- a -->\nno end',
    '<!-- b -->\n<!-- end of b -->',
  ])('without a place in %j is refused', (text) => {
    expect(() => filled(text, 'a', 'x')).toThrow('a');
  });
});

describe('JSON in few lines', () => {
  test.each([
    [{}],
    [[]],
    [null],
    [{ a: [1, [2, { b: 'c, [d]' }]], e: null }],
    [Array.from({ length: 60 }, (_, i) => ({ member: i }))],
    [{ long: 'x'.repeat(200), other: [] }],
  ])('reads back as what it was', (value) => {
    expect(JSON.parse(compactJson(value))).toEqual(value);
  });

  test('breaks only what is too long for a line', () => {
    const lines = compactJson({ short: [1, 2], long: Array(40).fill(12_345) }).split('\n');
    expect(lines[1]).toBe('  "short": [1, 2],');
    expect(lines.length).toBeGreaterThan(40);
  });
});

test('a bar in a cell does not end it', () => {
  expect(table(['a'], [['x | y']])).toBe('| a |\n| --- |\n| x \\| y |');
});

describe('the table of thresholds', () => {
  const row = (mode: string, score: string, threshold: string) =>
    `| ${mode} | ${score} | ${threshold} | 0.1 % | 99 % [98–99] | 0.2 % | 60 % [59–61] |`;

  test('takes percents of mode balance with the cohort, and nothing else', () => {
    const card = [
      row('fast', 'with the cohort', '60 percent'),
      row('balance', 'with the cohort', 'FMR 0.001 of lfw-dev'),
      row('balance', 'without it (cosine)', '60 percent'),
      row('balance', 'with the cohort', '60 percent'),
    ].join('\n');
    expect(thresholdTable(card).split('\n').slice(2)).toEqual([
      '| 60 | 1 in 1,000 | 99 % [98–99] | 60 % [59–61] |',
    ]);
  });

  test('of a card without thresholds is refused', () => {
    expect(() => thresholdTable('# Model card\n\n| a | b |\n')).toThrow('docs/model-card.md');
  });

  test('has every percent that the model card measured', () => {
    const card = readFileSync(projectPath('docs/model-card.md'), 'utf8');
    const percents = thresholdTable(card)
      .split('\n')
      .slice(2)
      .map((line) => line.split(' ')[1]);
    expect(percents).toEqual(['50', '60', '70']);
  });
});

describe('the picture of scores', () => {
  const manifest = readManifest(packDirectory('default'));
  const pathOf = (svg: string, name: string) =>
    new RegExp(`class="line ${name}" d="M([^h"]+)"`).exec(svg)?.[1];
  const heights = (path = '') => path.split('L').map((point) => Number(point.split(' ')[1]));

  test('never goes down, and ends at the top', () => {
    const drawn = heights(pathOf(scorePicture(manifest), 'balance'));
    expect(drawn.length).toBeGreaterThan(100);
    expect(drawn).toEqual(drawn.toSorted((a, b) => b - a));
    expect(drawn.at(-1)).toBe(56);
  });

  test('draws the best of nine pairs below one pair', () => {
    const svg = scorePicture(manifest);
    const [one, nine] = [heights(pathOf(svg, 'balance')), heights(pathOf(svg, 'nine'))];
    expect(one.every((height, i) => height <= nine[i]!)).toBe(true);
    expect(one).not.toEqual(nine);
  });

  test('is drawn from the table of the pack', () => {
    const [first, ...rest] = manifest.calibration.fast.points;
    const moved = rest.map(([similarity, rate]): [number, number] => [similarity + 0.05, rate]);
    const fast = { ...manifest.calibration.fast, points: [first!, ...moved] };
    const other = scorePicture({ ...manifest, calibration: { ...manifest.calibration, fast } });
    expect(pathOf(other, 'fast')).not.toEqual(pathOf(scorePicture(manifest), 'fast'));
    expect(pathOf(other, 'balance')).toEqual(pathOf(scorePicture(manifest), 'balance'));
  });

  test('escapes the name of a pack', () => {
    expect(scorePicture({ ...manifest, name: '<b>&' })).toContain('pack &lt;b&gt;&amp; ');
  });
});
