import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type AccuracyMode, loadAddon } from '../../src/engine/addon.ts';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import { fitTable, type Honesty, type PeopleSet } from '../../src/eval/calibrate.ts';
import { HeldOutCohorts } from '../../src/eval/held-out.ts';
import { promisedRate } from '../../src/matching/calibration.ts';
import { projectPath } from '../../src/paths.ts';
import { sharedFolder } from '../fixtures/pictures.ts';

/**
 * Whether the percentages keep what they promise to people who had no part in cohort and fit, group by group, and whether
 * what is no face is told apart. docs/model-card.md has the same figures with intervals.
 */

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const shared = sharedFolder();
const names = ['lfw-dev', 'rmfd-dev', 'london-dev', 'ages-dev'] as const;
const there = shared !== undefined && names.every((name) => existsSync(join(shared, 'data', name)));
if (shared && !there) process.stderr.write(`Skipped: ${shared}/data has not all of ${names.join(', ')}\n`);

const modes: readonly AccuracyMode[] = ['fast', 'balance'];
const percents = [40, 50, 60, 70];

/** Of observed ÷ promised at 50 and 60 percent. Children and the old are few, and so are their pairs. */
const limits: Readonly<Record<string, number>> = {
  'lfw-dev': 1.5,
  'rmfd-dev': 2,
  'london-dev': 2,
  'age 0-2': 8,
  'age 3-9': 4,
  'age 10-19': 3,
  'age 20-29': 2,
  'age 30-39': 2,
  'age 40-49': 2,
  'age 50-59': 2,
  'age 60-69': 2,
  'age 70+': 3,
};

async function check(): Promise<Map<AccuracyMode, Honesty[]>> {
  const { peopleOf } = await import('./support/people.ts');
  const load = async (mode: AccuracyMode) => {
    const sets: PeopleSet[] = [];
    for (const name of names) sets.push(await peopleOf(name, mode));
    return sets;
  };
  const sets = { fast: await load('fast'), balance: await load('balance') };
  // The cohort serves both modes and is made of the better vectors, as `facematch calibrate` makes it.
  const { withFitCentres }: typeof import('../../src/eval/held-out.ts') = await import(
    projectPath('dist/src/eval/held-out.js')
  );
  const cohorts = await withFitCentres(
    2,
    () => {},
    (fit) =>
      HeldOutCohorts.make(
        sets.balance.flatMap(({ pictures }) => pictures),
        fit,
      ),
  );
  return new Map(modes.map((mode) => [mode, fitTable(sets[mode], cohorts, percents).check]));
}

const checked = there ? await check() : undefined;

describe.skipIf(!checked).each(modes)('of people who had no part in cohort and fit, in mode %s', (mode) => {
  const rows = checked?.get(mode) ?? [];

  test('what was seen', () => {
    console.table(
      rows.map(({ group, percent, promised, observed, interval: [low, high], pairs }) => ({
        group,
        percent,
        'observed ÷ promised': (observed / promised).toFixed(2),
        interval: `${(low / promised).toFixed(2)} – ${(high / promised).toFixed(2)}`,
        pairs,
      })),
    );
    expect(rows.map(({ group }) => group)).toEqual(expect.arrayContaining(Object.keys(limits)));
  });

  describe.each(Object.entries(limits))('%s', (group, limit) => {
    const at = (percent: number) => rows.find((row) => row.group === group && row.percent === percent)!;

    // Of a few hundred pairs one in a hundred is a handful by accident: then what they can show is asked.
    test.each([
      50, 60,
    ])(`at %d percent nothing shows that more than ${limit} times as many pass as is promised`, (percent) => {
      const { observed, interval, pairs } = at(percent);
      const seen = pairs * promisedRate(percent) < 20 ? interval[0] : observed;
      expect(seen / promisedRate(percent)).toBeLessThanOrEqual(limit);
    });
  });

  test('the largest set has most of what is promised to it: the percent is no lower than it must be', () => {
    const lfw = rows.filter(({ group }) => group === 'lfw-dev');
    for (const { percent, observed } of lfw) {
      expect(observed / promisedRate(percent), `at ${percent}`).toBeGreaterThan(0.25);
      expect(observed / promisedRate(percent), `at ${percent}`).toBeLessThan(1.6);
    }
  });
});

describe.skipIf(!shared).each([
  ['negatives-animals', 2],
  ['negatives', 0],
] as const)('of the pictures of %s', (name, most) => {
  test.each(modes)(`at most ${most} have a face, in mode %s`, (mode) => {
    const addon = loadAddon();
    const pack = packDirectory('default');
    const { min_det_score } = readManifest(pack);
    const folder = join(shared!, 'data', name);
    const found = readdirSync(folder).filter((file) => {
      const detected = addon.analyse(pack, readFileSync(join(folder, file)), {
        accuracy_mode: mode,
        min_det_score,
        use_heuristic_fallback: true,
        max_pixels: 50_000_000,
        min_side: 16,
      });
      return detected.ok && detected.image.faces.length > 0;
    });
    expect(found.length, found.join(' ')).toBeLessThanOrEqual(most);
  });
});
