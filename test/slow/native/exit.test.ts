import { describe, expect, it } from 'vitest';
import { builds, type ExitResult, runChild } from '../../native/support/child.ts';

/**
 * Native addons may crash at process exit and in worker threads, so each way to exit runs in a separate
 * process.
 */

const clean = { code: 0, signal: null, stderr: '' };
const terminated = { code: null, signal: 'SIGTERM', stderr: '' } as const;

const cases: [name: string, expected: Partial<ExitResult>, kill?: NodeJS.Signals][] = [
  ['a program that called the addon exits cleanly', clean],
  ['a program that only loaded the addon exits cleanly', clean],
  ['process.exit keeps its code', { ...clean, code: 3 }],
  ['process.exit while two workers are in a call keeps its code', { ...clean, code: 5 }],
  ['endNow keeps its code while a thread is stuck in a write', { ...clean, code: 4 }],
  [
    'an uncaught exception while a worker is in a call exits with code 1 and the message',
    { code: 1, signal: null, stderr: expect.stringMatching(/Error: on purpose/) },
  ],
  ['SIGTERM ends a program whose main thread is in a call', terminated, 'SIGTERM'],
  ['SIGTERM ends a program whose worker is in a call', terminated, 'SIGTERM'],
  ['the main thread and a new worker agree after a worker was terminated', clean],
  ['workers load and unload at the same time and agree', clean],
  ['a terminated worker does not disturb other workers', clean],
];

describe.each(builds)('$name', (build) => {
  it.each(cases)('exits as expected: %s', async (name, expected, kill) => {
    const seen = await runChild(build, 'exit.mjs', [name], kill ? { kill } : {});
    expect(seen).toMatchObject(expected);
    expect(seen.stderr).not.toMatch(/Sanitizer|runtime error/);
  });
});
