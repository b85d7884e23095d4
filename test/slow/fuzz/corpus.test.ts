import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { filesBelow, sharedFolder, smallSample } from '../../fixtures/images.ts';
import { builds, runChild } from '../../native/support/child.ts';
import { newFolder } from '../../support/folder.ts';
import { isThorough } from '../../support/runs.ts';

/** No image may lead to an internal error, which would be a 500. */
const allowedOutcomes = ['ok', 'unsupported_image_format', 'image_decode_failed', 'image_dimensions'];

const shared = sharedFolder();
const longest = 400_000;

/** The share of the files that is analysed: the fuzzer below decodes all of them. */
const every = isThorough ? 1 : 8;

/**
 * Real damaged and exotic images, and a valid one now and then. native/test/damage_test.cpp damages drawn
 * ones.
 */
test.skipIf(!shared)(
  'survives the damaged files of the shared folder in the addon',
  { timeout: longest },
  async () => {
    const sound = join(newFolder(), 'sound.png');
    writeFileSync(sound, await smallSample(1, 320));
    const folder = join(shared!, 'data/corrupt');
    // Runs under AddressSanitizer if that is built; the process must survive.
    const child = await runChild(builds.at(-1)!, 'corpus.mjs', [folder, sound, String(every)], { longest });
    expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
    const lines = child.stdout.trim().split('\n');
    const analysed: { file: string; outcomes: string[] }[] = lines.map((line) => JSON.parse(line));
    expect(analysed.map(({ file }) => file)).toEqual(
      filesBelow(folder).filter((_file, at) => at % every === 0),
    );
    const words = analysed.flatMap(({ outcomes }) => outcomes);
    expect(words.filter((word) => !allowedOutcomes.includes(word))).toEqual([]);
  },
);

/** Runs the fuzzers of bench/ for a short while. */

const hasFuzzer = spawnSync('clang++-19', ['--version']).status === 0;
if (!hasFuzzer) console.warn('Skipped, for there is no clang++-19, which brings libFuzzer');
const sanitized = existsSync(projectPath('build/asan/Release/facematch.node'));
if (!sanitized) {
  console.warn('The release addon is used: none is built with sanitizers (node scripts/test.mjs native)');
}

/** The report of a program. All of its claims must hold. */
async function reportOf(program: string, ...args: string[]) {
  const command = [projectPath(`bench/${program}`), '--json', ...args];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const { facts, claims } = JSON.parse(output);
  expect(claims.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  expect(claims.length).toBeGreaterThan(2);
  return facts;
}

test.skipIf(!hasFuzzer)(
  'finds no bytes that break decode() by coverage-guided fuzzing',
  async () => {
    const facts = await reportOf('fuzz-decode.mjs', '--seconds', '12');
    // Shows that coverage guided it.
    for (const format of ['jpeg', 'png', 'webp']) expect(facts[format].edges).toBeGreaterThan(50);
  },
  900_000,
);

test.each([
  ['auto', 1500],
  ['node', 600],
])(
  'keeps a server on %s working after malformed, false, damaged and abandoned requests',
  async (http, requests) => {
    // Always sends the same requests, so that a failure can be repeated.
    const which = ['--seed', '20261121', '--requests', String(requests), '--heavy', '0', '--http', http];
    const facts = await reportOf('fuzz-server.mjs', '--hurry', ...which, ...(sanitized ? [] : ['--plain']));
    // Shows that it fuzzed: most of the requests got a response, some were abandoned, and all kinds of
    // rejections occurred.
    expect(facts.responses).toBeGreaterThan(requests / 2);
    expect(facts.left).toBeGreaterThan(requests / 20);
    expect(Object.keys(facts.statuses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '405', '413', '415', '422']),
    );
  },
  600_000,
);
