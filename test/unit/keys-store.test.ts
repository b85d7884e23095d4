import { EventEmitter, once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { create, revoke } from '../../src/gate/key-edits.ts';
import { editKeyFile } from '../../src/gate/key-file.ts';
import { KeyStore } from '../../src/gate/keys.ts';

/** Only the watch, or only the poll: the other would come too late for any test. */
const watchOnly = { poll_ms: 3_600_000, settle_ms: 1 };
const pollOnly = { poll_ms: 5, settle_ms: 3_600_000 };

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
  folder = mkdtempSync(join(tmpdir(), 'facematch-store-'));
  file = join(folder, 'keys.json');
  log = new Log();
});
afterEach(() => {
  store?.close();
  store = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function addKey(expires_in_ms?: number, target = file): { id: string; key: string } {
  const settings = { name: 'app', scopes: ['match:basic'] as const, rate: 5, burst: 9 };
  const { record, key } = editKeyFile(target, (records) =>
    create(records, expires_in_ms === undefined ? settings : { ...settings, expires_in_ms }, Date.now()),
  );
  return { id: record.id, key };
}

function open(watch = watchOnly): KeyStore {
  store = KeyStore.open(file, log, watch);
  return store;
}

const reloaded = (keys: KeyStore) => new Promise<void>((resolve) => keys.onReload(resolve));

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
    { what: 'revoked keys only', make: () => revokeKey(addKey().id) },
    { what: 'expired keys only', make: () => expireAll(addKey()) },
  ])('fails with $what', ({ make }) => {
    make();
    expect(() => open()).toThrow('holds no usable key');
    expect(() => open()).toThrow('npx facematch keys create --name NAME');
  });

  test('fails when others can read the file, and says how to close it', () => {
    addKey();
    chmodSync(file, 0o644);
    expect(() => open()).toThrow(`chmod 600 ${file}`);
  });

  test('fails with a broken file', () => {
    writeFileSync(file, '{', { mode: 0o600 });
    expect(() => open()).toThrow('is not valid JSON');
  });

  test('counts the keys that can be used', () => {
    addKey();
    addKey();
    revokeKey(addKey().id);
    expect(open().size).toBe(2);
  });
});

describe('verifying a key', () => {
  test('gives what is known about it, and not its hash', () => {
    const { id, key } = addKey();
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
    const { key } = addKey();
    expect(open().verify(change(key), Date.now())).toBeUndefined();
  });

  test('refuses the hash of a key, which is all that a thief of the file has', () => {
    addKey();
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { id: string; sha256: string }[] };
    const { id, sha256 } = keys[0]!;
    expect(open().verify(sha256, Date.now())).toBeUndefined();
    expect(open().verify(`fm_${id}_${sha256.slice(0, 43)}`, Date.now())).toBeUndefined();
  });

  test('refuses the secret of one key under the id of another', () => {
    const [a, b] = [addKey(), addKey()];
    expect(open().verify(`${a.key.slice(0, 16)}${b.key.slice(16)}`, Date.now())).toBeUndefined();
  });

  test('works until the moment of expiry, without any reload', () => {
    const { id, key } = addKey(60_000);
    const keys = open();
    const { keys: records } = JSON.parse(readFileSync(file, 'utf8')) as {
      keys: { id: string; expires_at: string }[];
    };
    const end_ms = Date.parse(records[0]!.expires_at);
    expect(keys.verify(key, end_ms - 1)?.id).toBe(id);
    expect(keys.verify(key, end_ms)).toBeUndefined();
  });
});

describe('a running key store', () => {
  test('takes over a new key that is renamed into place', async () => {
    const first = addKey();
    const keys = open();
    const reload = reloaded(keys);
    const second = addKey();
    await reload;
    expect(keys.verify(first.key, Date.now())?.id).toBe(first.id);
    expect(keys.verify(second.key, Date.now())?.id).toBe(second.id);
  });

  test('notices the second and third change as well as the first', async () => {
    addKey();
    const keys = open();
    for (const expected of [2, 3, 4]) {
      const reload = reloaded(keys);
      addKey();
      await reload;
      expect(keys.size).toBe(expected);
    }
  });

  test('takes over a file that is written in place', async () => {
    const { key } = addKey();
    const text = readFileSync(file, 'utf8');
    const keys = open();
    const reload = reloaded(keys);
    writeFileSync(file, text.replace('"name": "app"', '"name": "renamed in place"'));
    await reload;
    expect(keys.verify(key, Date.now())?.name).toBe('renamed in place');
  });

  test('rejects a revoked key from then on, even the last one', async () => {
    const { id, key } = addKey();
    const keys = open();
    const warned = once(log, 'warn');
    const reload = reloaded(keys);
    revokeKey(id);
    await reload;
    expect(keys.verify(key, Date.now())).toBeUndefined();
    expect((await warned)[1]).toContain('no usable key is left');
  });

  test.each([
    {
      what: 'half written',
      spoil: () => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 99)),
      reason: 'not valid JSON',
    },
    { what: 'emptied', spoil: () => writeFileSync(file, ''), reason: 'not valid JSON' },
    { what: 'no key file', spoil: () => writeFileSync(file, '{"version":1}'), reason: 'at keys' },
    { what: 'open to others', spoil: () => chmodSync(file, 0o644), reason: 'open to other users' },
    { what: 'deleted', spoil: () => rmSync(file), reason: 'does not exist' },
    {
      what: 'a folder',
      spoil: () => {
        rmSync(file);
        mkdirSync(file);
      },
      reason: 'no ordinary file',
    },
  ])('keeps its keys when the file is $what, logs why, and takes over the next good one', async ({
    spoil,
    reason,
  }) => {
    const { id, key } = addKey();
    const text = readFileSync(file, 'utf8');
    const keys = open();
    const warned = once(log, 'warn');
    spoil();
    const [fields, message] = await warned;
    expect((fields as { reason: string }).reason).toContain(reason);
    expect(message).toContain('stay in force');
    expect(JSON.stringify(fields)).not.toContain(folder);
    expect(keys.verify(key, Date.now())?.id).toBe(id);

    const reload = reloaded(keys);
    rmSync(file, { recursive: true, force: true });
    writeFileSync(`${file}.new`, text, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    const second = addKey();
    await reload;
    if (keys.verify(second.key, Date.now()) === undefined) await reloaded(keys);
    expect(keys.verify(second.key, Date.now())?.id).toBe(second.id);
  });

  test('follows a folder that is swapped behind a link, as Kubernetes does', async () => {
    for (const version of ['v1', 'v2']) mkdirSync(join(folder, version));
    addKey(undefined, join(folder, 'v1', 'keys.json'));
    const { key } = addKey(undefined, join(folder, 'v2', 'keys.json'));
    symlinkSync('v1', join(folder, '..data'));
    symlinkSync('..data/keys.json', file);
    const keys = open();
    expect(keys.verify(key, Date.now())).toBeUndefined();
    const reload = reloaded(keys);
    symlinkSync('v2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await reload;
    expect(keys.verify(key, Date.now())).toBeDefined();
  });

  test('finds by the poll what no watch reports: the folder itself is replaced', async () => {
    mkdirSync(join(folder, 'in'));
    file = join(folder, 'in', 'keys.json');
    addKey();
    const keys = open(pollOnly);
    const reload = reloaded(keys);
    mkdirSync(join(folder, 'next'));
    const { key } = addKey(undefined, join(folder, 'next', 'keys.json'));
    renameSync(join(folder, 'in'), join(folder, 'old'));
    renameSync(join(folder, 'next'), join(folder, 'in'));
    await reload;
    if (keys.verify(key, Date.now()) === undefined) await reloaded(keys);
    expect(keys.verify(key, Date.now())).toBeDefined();
  });

  test('hears no more once it is closed', async () => {
    addKey();
    const closed = open();
    let calls = 0;
    closed.onReload(() => {
      calls += 1;
    });
    closed.close();
    // A second store on the same folder tells when the change has been seen.
    const witness = KeyStore.open(file, log, watchOnly);
    const reload = reloaded(witness);
    addKey();
    await reload;
    witness.close();
    expect(calls).toBe(0);
    expect(closed.size).toBe(1);
  });
});

function revokeKey(id: string): void {
  editKeyFile(file, (records) => revoke(records, id, Date.now()));
}

/** Moves every expiry into the past. */
function expireAll(_key: { id: string }): void {
  editKeyFile(file, (records) => ({
    records: records.map((record) => ({ ...record, expires_at: '2020-01-01T00:00:00.000Z' })),
  }));
}
