import { describe, expect, it } from 'vitest';
import { builds, type Ending, runChild } from '../../native/support/child.ts';

/**
 * Native addons may crash at process exit and in worker threads, so each way to exit runs in a separate
 * process.
 */

const clean = { code: 0, signal: null, stderr: '' };
const terminated = { code: null, signal: 'SIGTERM', stderr: '' } as const;

const cases: [name: string, ending: Partial<Ending>, kill?: NodeJS.Signals][] = [
  ['a program that called it ends cleanly', clean],
  ['a program that only loaded it ends cleanly', clean],
  ['process.exit keeps its code', { ...clean, code: 3 }],
  ['process.exit while two workers are in a call keeps its code', { ...clean, code: 5 }],
  ['endNow keeps its code while a thread is stuck in a write', { ...clean, code: 4 }],
  [
    'an uncaught throw while a worker is in a call ends with code 1 and its own message',
    { code: 1, signal: null, stderr: expect.stringMatching(/Error: on purpose/) },
  ],
  ['SIGTERM ends a program whose main thread is in a call', terminated, 'SIGTERM'],
  ['SIGTERM ends a program whose worker is in a call', terminated, 'SIGTERM'],
  ['after a terminated worker the main thread and a new worker load and agree', clean],
  ['workers load and unload at the same time and agree', clean],
  ['a terminated worker does not disturb those beside it', clean],
];

describe.each(builds)('$name', (build) => {
  it.each(cases)('ends as expected: %s', async (name, ending, kill) => {
    const seen = await runChild(build, 'exit.mjs', [name], kill ? { kill } : {});
    expect(seen).toMatchObject(ending);
    expect(seen.stderr).not.toMatch(/Sanitizer|runtime error/);
  });
});
