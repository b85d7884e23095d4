import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { type AccuracyMode, loadAddon } from '../../src/engine/addon.ts';
import { packDirectory, readManifest } from '../../src/engine/pack.ts';
import { fitTable } from '../../src/eval/calibrate.ts';
import { dot } from '../../src/eval/cohort.ts';
import { HeldOutCohorts } from '../../src/eval/held-out.ts';
import { accuracy, type Scored, tarAtFmr } from '../../src/eval/metrics.ts';
import { readPairs } from '../../src/eval/pairs.ts';
import { observe } from '../../src/eval/thresholds.ts';
import { calibrationOf, promisedRate } from '../../src/matching/calibration.ts';
import { projectPath } from '../../src/paths.ts';
import { sharedFolder } from '../fixtures/pictures.ts';
import type { PictureSet } from './support/people.ts';

/**
 * Whether percentages are right for people who were not used for cohort and calibration, group by group, without a loss in
 * recognition, and whether false faces are rejected. docs/model-card.md has the same figures with intervals.
 */

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const shared = sharedFolder();
const names = ['lfw-dev', 'rmfd-dev', 'london-dev', 'ages-dev'] as const;
const needed = [...names, 'web-dev'];
const there = shared !== undefined && needed.every((name) => existsSync(join(shared, 'data', name)));
if (shared && !there) process.stderr.write(`Skipped: ${shared}/data has not all of ${needed.join(', ')}\n`);

const modes: readonly AccuracyMode[] = ['fast', 'balance'];
const percents = [40, 50, 60, 70];

/** Limits of observed ÷ promised at 50 and 60 percent. There are few pairs of children and old people. */
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

async function check() {
  const { peopleOf } = await import('./support/people.ts');
  const load = async (mode: AccuracyMode) => {
    const sets: PictureSet[] = [];
    for (const name of names) sets.push(await peopleOf(name, mode));
    return sets;
  };
  const sets = { fast: await load('fast'), balance: await load('balance') };
  // The cohort is for both modes and uses the better vectors, as in `facematch calibrate`.
  const { withFitCentres }: typeof import('../../src/eval/held-out.ts') = await import(
    projectPath('dist/src/eval/held-out.js')
  );
  const cohorts = await withFitCentres(
    2,
    () => {},
    (fit) =>
      HeldOutCohorts.make(
        sets.balance.flatMap(({ images }) => images),
        fit,
      ),
  );
  const rows = new Map(modes.map((mode) => [mode, fitTable(sets[mode], cohorts, percents).check]));
  // web-dev was not used for the pack.
  return { rows, cohorts, sets: [...sets.balance, await peopleOf('web-dev', 'balance')] };
}

const checked = there ? await check() : undefined;

describe.skipIf(!checked).each(modes)('of people who had no part in cohort and fit, in mode %s', (mode) => {
  const rows = checked?.rows.get(mode) ?? [];

  test('measured', () => {
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

    // For a promise of half a pair or of five, only what so few pairs can show.
    test.each([50, 60])(
      `at %d percent nothing shows that more than ${limit} times as many pass as is promised`,
      (percent) => {
        const { observed, interval, pairs } = at(percent);
        const seen = percent > 50 && pairs * promisedRate(percent) < 20 ? interval[0] : observed;
        expect(seen / promisedRate(percent)).toBeLessThanOrEqual(limit);
      },
    );
  });

  test('the rate of the largest set is close to the promise: percentages are not lower than necessary', () => {
    const lfw = rows.filter(({ group }) => group === 'lfw-dev');
    for (const { percent, observed } of lfw) {
      expect(observed / promisedRate(percent), `at ${percent}`).toBeGreaterThan(0.25);
      expect(observed / promisedRate(percent), `at ${percent}`).toBeLessThan(1.6);
    }
  });
});

describe.skipIf(!checked)('in mode balance', () => {
  /** The pairs of a set's list, scored with cohorts without their people, or with the pack's if it contains none of them. */
  function pairsOf(name: string): Scored[] {
    const { cohorts, sets } = checked!;
    const pictures = new Map(sets.find((set) => set.name === name)!.images.map((one) => [one.file, one]));
    return readPairs(join(shared!, 'data', name, 'pairs.tsv')).map(({ image1, image2, same, fold }) => {
      const [a, b] = [pictures.get(image1), pictures.get(image2)];
      if (!a || !b) return { score: Number.NEGATIVE_INFINITY, same, fold };
      const byPack = () => dot(a.embedding, b.embedding) - (a.cohort_score + b.cohort_score) / 2;
      return { score: name === 'web-dev' ? byPack() : cohorts.normalised(a, b), same, fold };
    });
  }
  const at = (percent: number) =>
    calibrationOf(readManifest(packDirectory('default')).calibration.balance).similarityAt(
      promisedRate(percent),
    );
  const rounding = 1e-9;

  test('normalising does not lower the accuracy on press photos', () => {
    const pairs = pairsOf('lfw-dev');
    expect(accuracy(pairs).mean).toBeGreaterThanOrEqual(0.995 - rounding);
    expect(tarAtFmr(pairs, 1e-3).tar).toBeGreaterThanOrEqual(0.988);
    expect(observe(pairs, at(60)).tar).toBeGreaterThanOrEqual(0.98);
  });

  test('two in five of the celebrities of rmfd-dev are recognised at 60 percent', () => {
    expect(observe(pairsOf('rmfd-dev'), at(60)).tar).toBeGreaterThanOrEqual(0.4);
  });

  test('unused web photos are recognised, and false matches are as rare as promised', () => {
    const pairs = pairsOf('web-dev');
    expect(tarAtFmr(pairs, 1e-3).tar).toBeGreaterThanOrEqual(0.86);
    for (const percent of [50, 60]) {
      expect(observe(pairs, at(percent)).measured_fmr / promisedRate(percent)).toBeLessThanOrEqual(2.5);
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
