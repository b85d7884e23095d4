import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { run } from './support/cli.ts';

/** deploy/prove-image, as far as it goes in a moment: a whole run downloads a Debian and takes minutes. */

const folder = mkdtempSync(join(tmpdir(), 'facematch-prove-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['an unknown flag', ['--fast'], /--fast/],
  ['starts that are no number', ['--starts', 'many'], /--starts: expected a whole number/],
  ['a word too many', ['Dockerfile'], /Dockerfile/],
])('%s ends it with what is wrong, and nothing is left behind', async (_what, args, words) => {
  const { code, stdout, stderr } = await run(projectPath('deploy/image/prove.mjs'), args, folder, {
    TMPDIR: folder,
  });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(words);
  expect(readdirSync(folder)).toEqual([]);
});
