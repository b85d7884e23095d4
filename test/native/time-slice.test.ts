import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { addonFile } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';

/** What JavaScript may ask; what the kernel makes of it, native/test/time_slice_test.cpp sees. */

test('a worker thread gets long turns where the kernel has them: Linux from 6.12 on', async () => {
  const addon = addonFile() ?? projectPath('build/addon/Release/facematch.node');
  const worker = new Worker(
    `require('node:worker_threads').parentPort.postMessage(require(${JSON.stringify(addon)}).lengthenTimeSlice())`,
    { eval: true },
  );
  const [[taken]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  const [major = 0, minor = 0] = readFileSync('/proc/sys/kernel/osrelease', 'utf8').split('.').map(Number);
  expect(taken).toBe(major > 6 || (major === 6 && minor >= 12));
});
