import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { run } from './support/cli.ts';

/** bench/first-answer.mjs, as far as it goes in a moment: a whole run sets up everything anew. */

const bench = projectPath('bench/first-answer.mjs');
const folder = mkdtempSync(join(tmpdir(), 'facematch-clone-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ['an unknown flag', ['--fast'], /--fast/],
  ['a release without --fresh', ['--suite', 'trixie'], /--suite goes with --fresh/],
  ['a word too many', ['bookworm'], /bookworm/],
])('%s', (_what, args, words) => {
  test('ends it with one line that says so, and nothing is left behind', async () => {
    const { code, stdout, stderr } = await run(bench, args, folder, { TMPDIR: folder });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(readdirSync(folder)).toEqual([]);
  });
});

const inRepository = existsSync(projectPath('.git'));
if (!inRepository) process.stderr.write('The first answer is not begun: this is no clone\n');

test.runIf(inRepository).each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s during the set-up ends it, and nothing is left behind',
  async (signal) => {
    const child = spawn(process.execPath, [bench], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(child, 'close');
    const clone = () => readdirSync(folder).map((name) => join(folder, name, 'facematch/build/.setup-lock'));
    // The set-up has begun when it has taken its lock. The test's own time limit ends the wait otherwise.
    while (!clone().some(existsSync)) await new Promise((resolve) => setImmediate(resolve));
    child.kill(signal);
    expect(await ended).toEqual([130, null]);
    expect(readdirSync(folder)).toEqual([]);
  },
);
