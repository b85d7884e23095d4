import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { editKeyFile } from '../../src/gate/key-file.ts';
import { KeyStore } from '../../src/gate/keys.ts';
import { addKey, expireKeys, revokeKey } from '../fixtures/key-files.ts';

const silent = { info: () => {}, warn: () => {} };

let folder: string;
let file: string;
let store: KeyStore | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-store-'));
  file = join(folder, 'keys.json');
});
afterEach(() => {
  store?.close();
  store = undefined;
  rmSync(folder, { recursive: true });
});

function open(): KeyStore {
  store = KeyStore.open(file, silent);
  return store;
}

describe('opening the key store', () => {
  test('fails without a file, and says how to make a key', () => {
    expect(() => open()).toThrow('npx facematch keys create --name NAME');
  });

  test('fails without a folder', () => {
    file = join(folder, 'none', 'keys.json');
    expect(() => open()).toThrow('does not exist');
  });

  test.each([
    { what: 'no key', make: () => editKeyFile(file, () => ({ records: [] })) },
    { what: 'revoked keys only', make: () => revokeKey(file, addKey(file).id) },
    {
      what: 'expired keys only',
      make: () => {
        addKey(file);
        expireKeys(file);
      },
    },
  ])('fails with $what', ({ make }) => {
    make();
    expect(() => open()).toThrow('holds no usable key');
    expect(() => open()).toThrow('npx facematch keys create --name NAME');
  });

  test('fails when others can read the file, and says how to close it', () => {
    addKey(file);
    chmodSync(file, 0o644);
    expect(() => open()).toThrow(`chmod 600 ${file}`);
  });

  test('fails with a broken file', () => {
    writeFileSync(file, '{', { mode: 0o600 });
    expect(() => open()).toThrow('is not valid JSON');
  });

  test('counts the keys that can be used', () => {
    addKey(file);
    addKey(file);
    revokeKey(file, addKey(file).id);
    expect(open().size).toBe(2);
  });
});

describe('verifying a key', () => {
  test('gives what is known about it, and not its hash', () => {
    const { id, key } = addKey(file);
    expect(open().verify(key, Date.now())).toEqual({
      id,
      name: 'app',
      scopes: ['match:basic'],
      rate: 5,
      burst: 9,
    });
  });

  test.each([
    ['another secret', (key: string) => `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`],
    ['another id', (key: string) => key.replace(/^fm_./, (start) => (start === 'fm_a' ? 'fm_b' : 'fm_a'))],
    ['one character less', (key: string) => key.slice(0, -1)],
    ['a blank after it', (key: string) => `${key} `],
    ['the id alone', (key: string) => key.slice(3, 15)],
    ['nothing', () => ''],
    ['letters beyond ASCII', (key: string) => `${key.slice(0, -1)}é`],
  ])('refuses %s', (_what, change) => {
    const { key } = addKey(file);
    expect(open().verify(change(key), Date.now())).toBeUndefined();
  });

  test('refuses the hash of a key, which is all that a thief of the file has', () => {
    addKey(file);
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { id: string; sha256: string }[] };
    const { id, sha256 } = keys[0]!;
    expect(open().verify(sha256, Date.now())).toBeUndefined();
    expect(open().verify(`fm_${id}_${sha256.slice(0, 43)}`, Date.now())).toBeUndefined();
  });

  test('refuses the secret of one key under the id of another', () => {
    const [a, b] = [addKey(file), addKey(file)];
    expect(open().verify(`${a.key.slice(0, 16)}${b.key.slice(16)}`, Date.now())).toBeUndefined();
  });

  test('works until the moment of expiry, without any reload', () => {
    const { id, key } = addKey(file, 60_000);
    const keys = open();
    const { keys: records } = JSON.parse(readFileSync(file, 'utf8')) as {
      keys: { id: string; expires_at: string }[];
    };
    const end_ms = Date.parse(records[0]!.expires_at);
    expect(keys.verify(key, end_ms - 1)?.id).toBe(id);
    expect(keys.verify(key, end_ms)).toBeUndefined();
  });
});
