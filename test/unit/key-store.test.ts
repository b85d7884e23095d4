import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeyStore } from '../../src/auth/key-store.ts';
import { addKey, revokeKey } from '../fixtures/credentials.ts';
import { newFolder } from '../support/folder.ts';

class Log extends EventEmitter<{
  warn: [fields: object, message: string];
  info: [fields: object, message: string];
}> {
  info = (fields: object, message: string) => void this.emit('info', fields, message);
  warn = (fields: object, message: string) => void this.emit('warn', fields, message);
}

let folder: string;
let file: string;
let log: Log;
let store: KeyStore | undefined;

beforeEach(() => {
  folder = newFolder();
  file = join(folder, 'keys.json');
  log = new Log();
});
afterEach(() => {
  store?.close();
  store = undefined;
});

function open(): KeyStore {
  store = new KeyStore(file, log, 5);
  return store;
}

test('does not open when all keys are revoked or expired', () => {
  addKey(file, -1000);
  revokeKey(file, addKey(file).id);
  expect(() => open()).toThrow('has no usable key');
});

describe('verifying a key', () => {
  test('rejects another secret, and the secret of another id', () => {
    const [{ key }, other] = [addKey(file), addKey(file)];
    const keys = open();
    expect(keys.verify(key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a'), Date.now())).toBeUndefined();
    expect(keys.verify(key.replace(/^fm_\w{12}/, `fm_${other.id}`), Date.now())).toBeUndefined();
  });

  test('rejects the hash of a key, so that a stolen key file is useless', () => {
    addKey(file);
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { id: string; sha256: string }[] };
    const { id, sha256 } = keys[0]!;
    expect(open().verify(sha256, Date.now())).toBeUndefined();
    expect(open().verify(`fm_${id}_${sha256.slice(0, 43)}`, Date.now())).toBeUndefined();
  });

  test('succeeds until the moment of expiry, without a reload', () => {
    const { id, key } = addKey(file, 60_000);
    const keys = open();
    const written = JSON.parse(readFileSync(file, 'utf8')) as { keys: { expires_at: string }[] };
    const end_ms = Date.parse(written.keys[0]!.expires_at);
    expect(keys.verify(key, end_ms - 1)?.id).toBe(id);
    expect(keys.verify(key, end_ms)).toBeUndefined();
  });
});

describe('an open key store', () => {
  async function waitUntilValid(keys: KeyStore, key: string): Promise<void> {
    while (keys.verify(key, Date.now()) === undefined) await once(log, 'info');
  }

  test('loads each new key that is renamed into place, and keeps the others', async () => {
    const first = addKey(file);
    const keys = open();
    for (const expected of [2, 3, 4]) {
      await waitUntilValid(keys, addKey(file).key);
      expect(keys.size).toBe(expected);
    }
    expect(keys.verify(first.key, Date.now())?.id).toBe(first.id);
  });

  test('loads a file that is written in place', async () => {
    const { key } = addKey(file);
    const text = readFileSync(file, 'utf8');
    const keys = open();
    const reloaded = once(log, 'info');
    writeFileSync(file, text.replace('"name": "app"', '"name": "renamed in place"'));
    await reloaded;
    expect(keys.verify(key, Date.now())?.name).toBe('renamed in place');
  });

  test('rejects a key after it is revoked, even the last one', async () => {
    const { id, key } = addKey(file);
    const keys = open();
    const warned = once(log, 'warn');
    revokeKey(file, id);
    expect((await warned)[1]).toContain('has no usable key');
    expect(keys.verify(key, Date.now())).toBeUndefined();
  });

  test.each([
    ['half written', () => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 99)), 'not valid JSON'],
    ['deleted', () => rmSync(file), 'does not exist'],
  ])(
    'keeps its keys when the file is %s, logs why, and loads the next valid one',
    async (_what, spoil, reason) => {
      const { id, key } = addKey(file);
      const text = readFileSync(file, 'utf8');
      const keys = open();
      const warned = once(log, 'warn');
      spoil();
      const [fields, message] = await warned;
      expect((fields as { reason: string }).reason).toContain(reason);
      expect(message).toContain('using the previous');
      expect(JSON.stringify(fields)).not.toContain(folder);
      expect(keys.stale).toBe(true);
      expect(keys.verify(key, Date.now())?.id).toBe(id);

      rmSync(file, { recursive: true, force: true });
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
      await waitUntilValid(keys, addKey(file).key);
      while (keys.stale) await setImmediate();
    },
  );

  test('loads a file that keeps changing', async () => {
    addKey(file);
    const keys = open();
    const { key } = addKey(file);
    let isDone = false;
    const touching = (async () => {
      for (; !isDone; await setImmediate()) chmodSync(file, 0o600);
    })();
    await waitUntilValid(keys, key);
    isDone = true;
    await touching;
  });

  test('follows a symbolic link that is changed to another folder, as by Kubernetes', async () => {
    for (const version of ['v1', 'v2']) mkdirSync(join(folder, version));
    addKey(join(folder, 'v1', 'keys.json'));
    const { key } = addKey(join(folder, 'v2', 'keys.json'));
    symlinkSync('v1', join(folder, '..data'));
    symlinkSync('..data/keys.json', file);
    const keys = open();
    expect(keys.verify(key, Date.now())).toBeUndefined();
    symlinkSync('v2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await waitUntilValid(keys, key);
  });

  test('follows a folder that is itself replaced', async () => {
    mkdirSync(join(folder, 'in'));
    file = join(folder, 'in', 'keys.json');
    addKey(file);
    const keys = open();
    mkdirSync(join(folder, 'next'));
    const { key } = addKey(join(folder, 'next', 'keys.json'));
    renameSync(join(folder, 'in'), join(folder, 'old'));
    renameSync(join(folder, 'next'), join(folder, 'in'));
    await waitUntilValid(keys, key);
  });
});
