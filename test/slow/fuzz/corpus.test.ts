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

/** No image may cause an internal error, which would be a 500. */
const allowedOutcomes = ['ok', 'unsupported_image_format', 'image_decode_failed', 'image_dimensions'];

const shared = sharedFolder();
const timeout_ms = 400_000;

/** Only every Nth file is analysed. The fuzzer below decodes all files. */
const every = isThorough ? 1 : 8;

/**
 * Analyses real damaged and exotic images, and a valid one after every eighth. native/test/damage_test.cpp tests
 * damaged drawings.
 */
test.skipIf(!shared)(
  'analyses the damaged files of the shared folder without a crash or an internal error',
  { timeout: timeout_ms },
  async () => {
    const sound = join(newFolder(), 'sound.png');
    writeFileSync(sound, await smallSample(1, 320));
    const folder = join(shared!, 'data/corrupt');
    // Runs under AddressSanitizer if that is built; the process must survive.
    const child = await runChild(builds.at(-1)!, 'corpus.mjs', [folder, sound, String(every)], {
      timeout_ms,
    });
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
if (!hasFuzzer)
  console.warn('Skipped the fuzzer, because clang++-19, which includes libFuzzer, is not installed');
const sanitized = existsSync(projectPath('build/asan/Release/facematch.node'));
if (!sanitized) {
  console.warn(
    'The release addon is used: none is built with sanitizers (node scripts/test.mjs slow/native)',
  );
}

/** Runs a program of bench/ and returns its report, whose checks must all pass. */
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
  'finds no bytes that break decode(), by coverage-guided fuzzing',
  async () => {
    const facts = await reportOf('fuzz-decode.mjs', '--seconds', '12');
    // Checks that coverage guided the fuzzer.
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
    // Checks that the fuzzer reached the server: most requests got a response, some were abandoned, and all kinds
    // of rejections occurred.
    expect(facts.responses).toBeGreaterThan(requests / 2);
    expect(facts.left).toBeGreaterThan(requests / 20);
    expect(Object.keys(facts.statuses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '405', '413', '415', '422']),
    );
  },
  600_000,
);
