import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { threads } from '../../src/engine/threads.ts';

test('a worker thread cannot require an ES module, which its termination would not survive', async () => {
  const { execArgv, minThreads, maxThreads } = threads(2);
  const worker = new Worker(
    `require('node:worker_threads').parentPort.postMessage(process.features.require_module ?? false)`,
    { eval: true, execArgv },
  );
  const [[able]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  expect(able).toBe(false);
  expect([minThreads, maxThreads]).toEqual([2, 2]);
});
