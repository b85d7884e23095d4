import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { editKeyFile, KeyFileError, type KeyRecord, readKeyFile } from '../../src/auth/key-file.ts';
import { create } from '../../src/cli/key-edits.ts';
import { newFolder } from '../support/folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = newFolder();
  file = join(folder, 'keys.json');
});

function addKey(name = 'app'): KeyRecord {
  const settings = { name, scopes: ['match:basic'] as const, rate: 50, burst: 100 };
  return editKeyFile(file, (records) => create(records, settings, Date.now())).record;
}

function write(content: unknown, mode = 0o600): void {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(file, mode);
}

function errorOf(act: () => unknown): KeyFileError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(KeyFileError);
    return error as KeyFileError;
  }
  throw new Error('nothing was thrown');
}

const good: KeyRecord = {
  id: 'abcdefghijkl',
  name: 'app',
  sha256: '0'.repeat(64),
  scopes: ['match:basic'],
  rate: 1,
  burst: 1,
  created_at: '2030-01-01T00:00:00.000Z',
};

describe('writing the key file', () => {
  test('makes it with mode 0600, whatever the umask is', () => {
    for (const umask of [0o000, 0o022, 0o277]) {
      rmSync(file, { force: true });
      const before = process.umask(umask);
      try {
        addKey();
      } finally {
        process.umask(before);
      }
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
  });

  test.each([0o600, 0o640, 0o400, 0o440, 0o740])('keeps owner, group and mode %o of it', (mode) => {
    write({ version: 1, keys: [] }, mode);
    // Only root may give a file away.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(file, 4711, 4712);
    const { uid, gid } = statSync(file);
    addKey();
    expect([statSync(file).uid, statSync(file).gid]).toEqual([uid, gid]);
    expect(statSync(file).mode & 0o777).toBe(mode & 0o640);
  });

  test('replaces it by a new file and leaves nothing beside it', () => {
    addKey('first');
    const { ino } = statSync(file);
    const held = readFileSync(file, 'utf8');
    addKey('second');
    expect(statSync(file).ino).not.toBe(ino);
    expect(readKeyFile(file).map(({ name }) => name)).toEqual(['first', 'second']);
    expect(held).not.toContain('second');
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  test('is refused while another command writes, and says which file to remove if none does', () => {
    const record = addKey();
    const lock = `${file}.lock`;
    writeFileSync(lock, '');
    const { message } = errorOf(() => addKey());
    expect(message).toMatch(new RegExp(`is being changed by another command.*rm ${lock}`));
    expect(readdirSync(folder)).toEqual(['keys.json', 'keys.json.lock']);
    expect(readKeyFile(file)).toEqual([record]);
  });

  test('never overwrites a file that it cannot read', () => {
    write('{"version": 1, "keys": [');
    expect(errorOf(() => addKey()).reason).toBe('is not valid JSON');
    expect(readFileSync(file, 'utf8')).toBe('{"version": 1, "keys": [');
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  test('keeps a link and replaces what it points to', () => {
    mkdirSync(join(folder, 'real'));
    const real = join(folder, 'real', 'store.json');
    writeFileSync(real, JSON.stringify({ version: 1, keys: [] }), { mode: 0o600 });
    symlinkSync(real, file);
    const record = addKey();
    expect(readKeyFile(real)).toEqual([record]);
    expect(readdirSync(join(folder, 'real'))).toEqual(['store.json']);
  });
});

describe('reading the key file', () => {
  test.each([0o604, 0o602, 0o601, 0o620, 0o610])('is refused with mode %o', (mode) => {
    write({ version: 1, keys: [good] }, mode);
    const error = errorOf(() => readKeyFile(file));
    expect(error.reason).toBe('is open to other users');
    expect(error.message).toContain(`chmod 600 ${file}`);
  });

  test('takes a byte order mark', () => {
    write(`\ufeff${JSON.stringify({ version: 1, keys: [good] })}`);
    expect(readKeyFile(file)).toEqual([good]);
  });

  test.each<[what: string, content: unknown, reason: string]>([
    ['half a file', JSON.stringify({ version: 1, keys: [good] }).slice(0, 99), 'is not valid JSON'],
    ['another version', { version: 2, keys: [] }, 'at version'],
    ['an unknown member', { version: 1, keys: [], extra: 1 }, 'extra'],
    ['two keys of one id', { version: 1, keys: [good, good] }, 'two keys have the same id'],
    ...Object.entries({
      id: 'abc',
      name: 'a\u001b[2J',
      scopes: [],
      rate: 0,
      burst: 0,
      concurrent: 100_001,
      expires_at: '2030-02-31',
      note: 'x'.repeat(501),
    }).map(([name, value]): [string, unknown, string] => {
      return [`a wrong ${name}`, { version: 1, keys: [{ ...good, [name]: value }] }, `at keys.0.${name}`];
    }),
  ])('refuses %s', (_what, content, reason) => {
    write(content);
    expect(errorOf(() => readKeyFile(file)).reason).toContain(reason);
  });

  test('never repeats what the file holds nor where it lies in the reason that is logged', () => {
    const secret = 'fm_abcdefghijkl_0123456789';
    for (const content of [
      secret,
      `{"version":1,"keys":["${secret}"]}`,
      { version: 1, keys: [{ ...good, sha256: secret }] },
    ]) {
      write(content);
      const { reason } = errorOf(() => readKeyFile(file));
      expect(reason).not.toContain('0123456789');
      expect(reason).not.toContain(folder);
    }
  });
});
