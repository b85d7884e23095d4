import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Lines } from '../../src/telemetry/lines.ts';
import { newFolder } from '../support/folder.ts';

/** Into a pipe whose reader stands still until the test reads from it. */
test.each([0, 10])(
  'lines gathered for %d ms take a bounded memory, and the dropped are told',
  async (gather_ms) => {
    const pipe = join(newFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const held = await open(pipe, 'r+');
    let onTold = (_: number) => {};
    const told = new Promise<number>((resolve) => {
      onTold = resolve;
    });
    const lines = new Lines({ dest: pipe, gather_ms, onDropped: (count) => onTold(count) });
    const line = `${'x'.repeat(1023)}\n`;
    const sent = 10_000;
    for (let written = 0; written < sent; written++) lines.write(line);
    expect(await lines.flush()).toBe(false);
    // 8 MiB, of lines of 1 KiB.
    expect(lines.dropped).toBe(sent - 8192);
    let read = 0;
    const reader = createReadStream(pipe);
    reader.on('data', (bytes) => {
      read += bytes.length;
    });
    expect(await told).toBe(sent - 8192);
    await expect.poll(() => read).toBe(8192 * line.length);
    expect(await lines.flush()).toBe(true);
    lines.end();
    reader.destroy();
    await held.close();
  },
);
