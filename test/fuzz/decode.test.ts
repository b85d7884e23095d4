import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';

/** A part of a minute of `npm run fuzz:decode`. */

interface Report {
  facts: Record<string, { executions: number; edges: number }>;
  claims: { found: string; ok: boolean }[];
}

const hasFuzzer = spawnSync('clang++-19', ['--version']).status === 0;
if (!hasFuzzer) console.warn('Skipped, for there is no clang++-19, which brings libFuzzer');

test.skipIf(!hasFuzzer)(
  'coverage-guided fuzzing finds no bytes that break decode()',
  async () => {
    const program = projectPath('bench/fuzz-decode.mjs');
    const child = spawn(process.execPath, [program, '--json', '--seconds', '20'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    const { facts, claims }: Report = JSON.parse(output);
    expect(claims.filter(({ ok }) => !ok)).toEqual([]);
    expect(claims).toHaveLength(3);
    // That it was guided by what it reached.
    for (const format of ['jpeg', 'png', 'webp']) expect(facts[format]!.edges).toBeGreaterThan(50);
  },
  900_000,
);
