import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { projectPath } from '../../src/config/paths.ts';
import { newFolder } from '../support/folder.ts';

/** Set-ups of one folder, one after the other. */

const module = pathToFileURL(projectPath('scripts/lib/lock.mjs')).href;

/** Takes the lock, and writes that it has it and that it ends. */
const holder = (lock: string, log: string) => `
  import { appendFileSync } from 'node:fs';
  import { takeLock } from '${module}';
  await takeLock(${JSON.stringify(lock)}, () => {});
  for (const word of ['has', 'ends']) {
    appendFileSync(${JSON.stringify(log)}, word + ' ' + process.pid + '\\n');
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.exit();`;

const dead = spawnSync('true').pid;

test.each<[string, string | undefined]>([
  ['no lock', undefined],
  ['the lock of a process that has ended', `${dead} 1`],
  ['a lock whose number another process has now', `${process.pid} 1`],
  ['a file in its place', undefined],
])('six at once take turns after %s', async (what, left) => {
  const folder = newFolder();
  const [lock, log] = [join(folder, 'lock'), join(folder, 'log')];
  if (left !== undefined) symlinkSync(left, lock);
  else if (what.includes('file')) writeFileSync(lock, '');
  const program = ['--input-type=module', '--eval', holder(lock, log)];
  const all = Array.from(
    { length: 6 },
    () => new Promise((resolve) => execFile(process.execPath, program, resolve)),
  );
  expect(await Promise.all(all)).toEqual(all.map(() => null));
  const turns = readFileSync(log, 'utf8').trim().split('\n');
  expect(turns).toHaveLength(12);
  for (const [at, turn] of turns.entries()) {
    if (at % 2 === 0) expect(turns[at + 1]).toBe(turn.replace('has', 'ends'));
  }
});
