import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileWatch } from '../../src/gate/file-watch.ts';

const pollOnly = { poll_ms: 5, settle_ms: 3_600_000 };

let folder: string;
const open: FileWatch[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-watch-'));
});
afterEach(() => {
  for (const watch of open.splice(0)) watch.close();
  rmSync(folder, { recursive: true });
});

/** A file that is followed by polling; `changed` resolves at its next change. */
function follow(name: string) {
  const file = join(folder, name);
  writeFileSync(file, '');
  let calls = 0;
  let wake = () => {};
  open.push(
    new FileWatch(file, pollOnly, () => {
      calls += 1;
      wake();
    }),
  );
  const changed = () => new Promise<void>((resolve) => (wake = resolve));
  return { file, changed, calls: () => calls };
}

describe('watching a file', () => {
  test('tells of each change once, however often it looks', async () => {
    const quiet = follow('quiet');
    const busy = follow('busy');
    const first = quiet.changed();
    writeFileSync(quiet.file, 'once');
    await first;
    // Each round of the one is a look at the other.
    for (const text of ['a', 'bc', 'def', 'ghij']) {
      const next = busy.changed();
      writeFileSync(busy.file, text);
      await next;
    }
    expect(quiet.calls()).toBe(1);
  });

  test('tells that a file has gone and that it has come back', async () => {
    const { file, changed } = follow('file');
    const gone = changed();
    rmSync(file);
    await gone;
    const back = changed();
    writeFileSync(file, '');
    await expect(back).resolves.toBeUndefined();
  });
});
