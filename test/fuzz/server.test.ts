import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

/** The short version of `npm run fuzz:server`; always the same requests, so that a failure can be repeated. */

interface Report {
  facts: { seed: number; answers: number; left: number; statuses: Record<string, number> };
  claims: { what: string; found: string; limit: string; ok: boolean }[];
}

const sanitized = existsSync(projectPath('build/asan/Release/facematch.node'));
if (!sanitized) {
  console.warn(
    'The addon is not built with sanitizers (node scripts/test.mjs native): the release addon is used',
  );
}
const seed = 20261121;

test.each([
  ['auto', 1500],
  ['node', 600],
])(
  'a server on %s that is sent malformed, lying, damaged and abandoned requests goes on as before',
  async (http, requests) => {
    const child = spawn(
      process.execPath,
      [
        projectPath('bench/fuzz-server.mjs'),
        '--json',
        '--hurry',
        ...['--heavy', '0'],
        ...['--requests', String(requests)],
        ...['--http', http],
        ...['--seed', String(seed)],
        ...(sanitized ? [] : ['--plain']),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    const { facts, claims }: Report = JSON.parse(output);
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(claims.length).toBeGreaterThan(4);
    // That it was a fuzz at all: most of the requests were answered, some were abandoned, all kinds of refusals are among them.
    expect(facts.answers).toBeGreaterThan(requests / 2);
    expect(facts.left).toBeGreaterThan(requests / 20);
    expect(Object.keys(facts.statuses)).toEqual(
      expect.arrayContaining(['200', '400', '401', '404', '405', '413', '415', '422']),
    );
  },
  120_000,
);
