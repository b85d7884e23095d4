import { describe, expect, it } from 'vitest';
import { builds, type Ending, runChild } from './support/child.ts';

/** Native addons crash at process exit and in worker threads: each way to exit, in a process of its own. */

interface Way {
  title: string;
  way: string;
  kill?: NodeJS.Signals;
  ending: Partial<Ending>;
}

const clean = { code: 0, signal: null, stderr: '' };
const threw = { code: 1, signal: null, stderr: expect.stringMatching(/Error: on purpose/) };
const terminated = { code: null, signal: 'SIGTERM', stderr: '' } as const;

const ways: Way[] = [
  { title: 'a program that called it ends cleanly', way: 'after-call', ending: clean },
  { title: 'a program that only loaded ends cleanly', way: 'never-called', ending: clean },
  { title: 'loading twice in one thread gives one working addon', way: 'loaded-twice', ending: clean },
  {
    title: 'process.exit keeps its code',
    way: 'exit-after-call',
    ending: { code: 3, signal: null, stderr: '' },
  },
  {
    title: 'process.exit while two workers are in a call keeps its code',
    way: 'exit-while-worker-calls',
    ending: { code: 5, signal: null, stderr: '' },
  },
  {
    title: 'an uncaught throw while a worker is in a call ends with code 1 and its own message',
    way: 'throw-while-worker-calls',
    ending: threw,
  },
  {
    title: 'SIGTERM ends a program whose main thread is in a call',
    way: 'signal-while-main-calls',
    kill: 'SIGTERM',
    ending: terminated,
  },
  {
    title: 'SIGTERM ends a program whose worker is in a call',
    way: 'signal-while-worker-calls',
    kill: 'SIGTERM',
    ending: terminated,
  },
  {
    title: 'after a terminated worker the main thread and a new worker load and agree',
    way: 'load-after-terminate',
    ending: clean,
  },
  {
    title: 'workers terminated one after the other leave the next one working',
    way: 'terminate-again-and-again',
    ending: clean,
  },
  { title: 'workers load and unload at the same time and agree', way: 'workers-come-and-go', ending: clean },
  {
    title: 'a terminated worker does not disturb those beside it',
    way: 'workers-beside-a-terminated-one',
    ending: clean,
  },
];

describe.each(builds)('$name', (build) => {
  it.each(ways)('$title', async ({ way, kill, ending }) => {
    const seen = await runChild(build, 'exit.mjs', [way], kill ? { kill } : {});
    expect(seen).toMatchObject(ending);
    expect(seen.stderr).not.toMatch(/Sanitizer|runtime error/);
  });
});
