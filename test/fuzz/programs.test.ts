import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

/** The fuzzers of bench/ for a short while. */

const hasFuzzer = spawnSync('clang++-19', ['--version']).status === 0;
if (!hasFuzzer) console.warn('Skipped, for there is no clang++-19, which brings libFuzzer');
const sanitized = existsSync(projectPath('build/asan/Release/facematch.node'));
if (!sanitized) {
  console.warn(
    'The addon is not built with sanitizers (node scripts/test.mjs native): the release addon is used',
  );
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
    const facts = await reportOf('fuzz-decode.mjs', '--seconds', '20');
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
  120_000,
);
