import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { sharedFolder } from '../../fixtures/images.ts';

/**
 * Tests the goals for hard images, as measured by bench/hard-images.mjs with every eighth face for the variants. Uses
 * the sample photos, and images of ../shared if they exist. There is no goal for people next to a larger one.
 */

interface Count {
  of: number;
  found: number;
  false_faces: number;
  missed: string[];
  found_by: Record<string, number>;
}
interface Row {
  what: string;
  asked: boolean;
  counts: Record<string, Count>;
}

const modes = ['fast', 'balance'] as const;

interface Goal {
  what: string;
  /**
   * Pattern for the names of the rows that are counted together; `asked` restricts them to required or other rows.
   */
  rows: RegExp;
  asked?: boolean;
  /** Minimum share of the faces that must be found, in both modes or for each mode. */
  share: number | Record<(typeof modes)[number], number>;
  /** Whether the share is rounded down to whole faces. */
  rounded?: true;
  /** Whether no other face may be found. */
  alone?: true;
  /** A pass that must find some of the faces. */
  step?: string;
}

const goals: Goal[] = [
  { what: 'all people in the sample photos', rows: /^sample photos$/, share: 1, alone: true },
  // If the first pass considers a rotated face upright, the other faces of its photo are not searched for.
  { what: 'people in photos turned by 90°', rows: /^sample photos, .* 90°/, share: 0.8, alone: true },
  { what: 'people in photos turned by 180°', rows: /^sample photos, .* 180°/, share: 0.8, alone: true },
  { what: 'people in photos turned by 270°', rows: /^sample photos, .* 270°/, share: 0.8, alone: true },
  {
    what: 'people turned by 90, 180 or 270°',
    rows: /people.*turned by (90|180|270)°$/,
    share: 0.8,
    step: 'rotated',
  },
  {
    what: 'people turned by 30, 45 or 60°',
    rows: /people.*turned by (30|45|60)°$/,
    share: 0.8,
    step: 'rotated',
  },
  { what: 'shrunk people', rows: /people.*shrunk/, share: 1, step: 'primary' },
  { what: 'dark people', rows: /people.*[^°], darkened/, share: 0.8, step: 'enhanced' },
  { what: 'pale people', rows: /people.*[^°], pale/, share: 0.8, step: 'enhanced' },
  { what: 'tight close-ups', rows: /people.*close-up, 0\.(8|65)/, share: 0.8, step: 'padded' },
  {
    what: 'turned people who are dark or pale',
    rows: /people.*°, (darkened|pale)/,
    share: 0.8,
    step: 'enhanced',
  },
];

const portraits = { rows: /^portraits, /, share: { fast: 0.97, balance: 0.99 } };
const sharedGoals: Goal[] = [
  // One miss exceeds 1 in 100, because only every eighth portrait is used.
  { what: 'rotated, shrunk, dark and coarse portraits', ...portraits, asked: true, rounded: true },
  { what: 'close-up, pale, tiny and combined portraits', ...portraits, asked: false, share: 0.93 },
  {
    what: 'faces under all EXIF orientations',
    rows: /^images under EXIF orientations$/,
    share: 1,
    alone: true,
  },
  { what: 'no face in images without one', rows: /^images without a face$/, share: 1, alone: true },
  { what: 'labelled people', rows: /^labelled group photos/, share: { fast: 0.9, balance: 0.95 } },
  { what: 'counted people', rows: /^counted group photos$/, share: 0.95 },
  { what: 'faces with rotated pixels', rows: /^faces with rotated pixels$/, share: 1 },
];

/** Excludes people next to a larger one, and the variants of people that no goal counts. */
const withGoals = '^(?!beside|people of the samples, (as it is|JPEG|tiny|printed|close-up, 0\\.5 ))';

let measured: Row[];
beforeAll(() => {
  const options = { encoding: 'utf8', maxBuffer: 1 << 24 } as const;
  const args = [projectPath('bench/hard-images.mjs'), '--every', '8', '--only', withGoals];
  const { stdout, stderr } = spawnSync(process.execPath, args, options);
  if (stdout === '') throw new Error(stderr);
  measured = JSON.parse(stdout).rows;
}, 1_200_000);

describe.each(modes)('hard images in mode %s', (mode) => {
  test.each(sharedFolder() ? [...goals, ...sharedGoals] : goals)('finds $what', (goal) => {
    const { rows, asked, share, rounded, alone, step } = goal;
    const counted = measured.filter((row) => rows.test(row.what) && row.asked === (asked ?? row.asked));
    expect(counted).not.toEqual([]);
    const counts = counted.map((row) => row.counts[mode]!);
    const sum = (of: (count: Count) => number) => counts.reduce((total, count) => total + of(count), 0);
    const wanted = (typeof share === 'number' ? share : share[mode]) * sum(({ of }) => of);
    const enough = sum(({ found }) => found) >= (rounded ? Math.floor(wanted) : wanted);
    // A failed test lists the missed images.
    const missed = counted.flatMap(({ what, counts }) =>
      counts[mode]!.missed.map((name) => `${what}: ${name}`),
    );
    expect({ enough, missed }).toEqual({ enough: true, missed });
    if (alone) expect(sum(({ false_faces }) => false_faces)).toBe(0);
    if (step) expect(sum(({ found_by }) => found_by[step] ?? 0)).toBeGreaterThan(0);
  });
});
