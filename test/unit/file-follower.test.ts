import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileFollower } from '../../src/auth/file-follower.ts';
import { SecretFile } from '../../src/auth/secret-file.ts';
import { UnusableFile } from '../../src/config/file.ts';
import { newFolder } from '../support/folder.ts';

/** Tests the reload of a changed file. test/unit/key-store.test.ts tests the key file. */

describe('FileFollower', () => {
  test('retries a changed file until it can read it, and reports each reason once', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, 'old');
    const outcomes = ['is locked', 'is locked', 'is empty'];
    const reasons: string[] = [];
    const follower = new FileFollower({
      file,
      loaded: statSync(file),
      interval_ms: 1,
      reload: () => {
        const reason = outcomes.shift();
        if (reason !== undefined) throw new UnusableFile('The file', file, reason, '');
        return statSync(file);
      },
      onFailure: (reason) => reasons.push(reason),
    });
    onTestFinished(() => follower.close());
    writeFileSync(file, 'the new content');
    await expect.poll(() => reasons).toEqual(['is locked', 'is empty']);
    await expect.poll(() => follower.stale).toBe(false);
  });
});

describe('SecretFile', () => {
  test('uses the secrets of the last usable version of its file', async () => {
    const file = join(newFolder(), 'secrets.txt');
    const write = (...lines: string[]) => writeFileSync(file, lines.join('\n'), { mode: 0o600 });
    write('a'.repeat(32));
    const logged: string[] = [];
    const log = (fields: object) => logged.push(JSON.stringify(fields));
    const secrets = new SecretFile(file, { info: log, warn: log }, 1);
    onTestFinished(() => secrets.close());
    write('short');
    await expect.poll(() => logged).toEqual([expect.stringContaining('at least 32 characters')]);
    expect(secrets.current).toHaveLength(1);
    write('a'.repeat(32), 'b'.repeat(32));
    await expect.poll(() => secrets.current.length).toBe(2);
    chmodSync(file, 0o644);
    await expect.poll(() => logged.at(-1)).toContain('is accessible to other users');
    expect(secrets.current).toHaveLength(2);
  });
});
