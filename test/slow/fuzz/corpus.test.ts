import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { filesBelow, sharedFolder, smallSample } from '../../fixtures/images.ts';
import { type Build, builds, runChild } from '../../native/support/child.ts';

interface Looked {
  file: string;
  /** `ok` or an error's code, for each mode. */
  outcomes: string[];
}

/** What any image may lead to: never an internal error, which would be a 500. */
const allowedOutcomes = ['ok', 'unsupported_image_format', 'image_decode_failed', 'image_dimensions'];

/** Analyses images below a folder in a process of its own, and a valid one now and then; the process must survive. */
async function lookAt(build: Build, folder: string, sound: string, every: number): Promise<Looked[]> {
  const child = await runChild(build, 'corpus.mjs', [folder, sound, String(every)], { longest });
  expect(child).toMatchObject({ code: 0, signal: null, stderr: '' });
  return child.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Looked);
}

/** Real damaged, exotic and faceless images. Drawn ones are damaged in native/test/damage_test.cpp. */

const shared = sharedFolder();
const longest = 400_000;

test.skipIf(!shared).each([
  ['corrupt', 1],
  ['negatives', 4],
])(
  'the addon answers the files of the shared folder %s, each %ith',
  async (name, every) => {
    const drawn = await mkdtemp(join(tmpdir(), 'facematch-corpus-'));
    const sound = join(drawn, 'sound.png');
    await writeFile(sound, await smallSample(1, 320));
    const folder = join(shared!, 'data', name);
    // Under AddressSanitizer where that is built.
    const looked = await lookAt(builds.at(-1)!, folder, sound, every);
    const files = filesBelow(folder).filter((_file, at) => at % every === 0);
    expect(looked.map(({ file }) => file)).toEqual(files);
    const words = looked.flatMap(({ outcomes }) => outcomes);
    expect(words.filter((word) => !allowedOutcomes.includes(word))).toEqual([]);
    await rm(drawn, { recursive: true });
  },
  longest,
);

/** The fuzzers of bench/ for a short while. */

const hasFuzzer = spawnSync('clang++-19', ['--version']).status === 0;
if (!hasFuzzer) console.warn('Skipped, for there is no clang++-19, which brings libFuzzer');
const sanitized = existsSync(projectPath('build/asan/Release/facematch.node'));
if (!sanitized) {
  console.warn('The release addon is used: none is built with sanitizers (node scripts/test.mjs native)');
}

/** What a program reports. All that it claims must hold. */
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
  'coverage-guided fuzzing finds no bytes that break decode()',
  async () => {
    const facts = await reportOf('fuzz-decode.mjs', '--seconds', '12');
    // That it was guided by what it reached.
    for (const format of ['jpeg', 'png', 'webp']) expect(facts[format].edges).toBeGreaterThan(50);
  },
  900_000,
);

test.each([
  ['auto', 1500],
  ['node', 600],
])(
  'a server on %s that is sent malformed, lying, damaged and abandoned requests goes on as before',
  async (http, requests) => {
    // Always the same requests, so that a failure can be repeated.
    const which = ['--seed', '20261121', '--requests', String(requests), '--heavy', '0', '--http', http];
    const facts = await reportOf('fuzz-server.mjs', '--hurry', ...which, ...(sanitized ? [] : ['--plain']));
    // That it was a fuzz at all: most of the requests were answered, some were abandoned, all kinds of refusals are among them.
    expect(facts.answers).toBeGreaterThan(requests / 2);
    expect(facts.left).toBeGreaterThan(requests / 20);
    expect(Object.keys(facts.statuses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '405', '413', '415', '422']),
    );
  },
  600_000,
);
