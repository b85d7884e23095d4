import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { damagedPictures, smallSample } from '../fixtures/pictures.ts';
import { builds } from './support/builds.ts';
import { allowedOutcomes, lookAt } from './support/corpus.ts';

/** Damaged pictures: each gets its own result, and the process survives. */

const longest = 120_000;
const drawn = await mkdtemp(join(tmpdir(), 'facematch-corrupt-'));
const sound = join(drawn, 'sound.png');
const pictures = join(drawn, 'pictures');
const names: string[] = [];

beforeAll(async () => {
  await writeFile(sound, await smallSample(1, 320));
  for (const [name, bytes] of await damagedPictures()) {
    const folder = join(pictures, name.split(' ')[0]!);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, name), bytes);
    names.push(name);
  }
});
afterAll(() => rm(drawn, { recursive: true }));

// The strictest build that exists: what passes under a sanitizer passes without.
it.each(builds.slice(-1))(
  '$name answers every picture that was cut, flipped or patched',
  async (build) => {
    const looked = await lookAt(build, pictures, sound, longest);
    expect(looked).toHaveLength(names.length);
    const outcomes = looked.flatMap((one) => one.outcomes);
    expect(outcomes.filter((word) => !allowedOutcomes.includes(word))).toEqual([]);
    const cut = looked.filter(({ file }) => file.includes(' cut at '));
    expect(cut.flatMap((one) => one.outcomes)).not.toContain('ok');
    const tailed = looked.filter(({ file }) => file.endsWith('with a tail'));
    expect(new Set(tailed.flatMap((one) => one.outcomes))).toEqual(new Set(['ok']));
  },
  longest,
);
