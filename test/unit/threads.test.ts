import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { threads } from '../../src/engine/pool.ts';

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

test('a worker thread keeps no more than 3 MiB for young objects, however many outlive a collection', async () => {
  const { resourceLimits } = threads(1);
  const worker = new Worker(
    `const kept = [];
     for (let i = 0; i < 3e6; i++) kept[i % 2e5] = { i };
     const spaces = require('node:v8').getHeapSpaceStatistics();
     const young = spaces.find(({ space_name }) => space_name === 'new_space');
     require('node:worker_threads').parentPort.postMessage(young.space_size);`,
    { eval: true, resourceLimits },
  );
  const [[bytes]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  expect(bytes).toBeLessThanOrEqual(3 * 1024 * 1024);
});
