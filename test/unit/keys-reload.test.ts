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
import { KeyStore } from '../../src/gate/keys.ts';
import { addKey, revokeKey } from '../fixtures/key-files.ts';

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

function open(watch = watchOnly): KeyStore {
  store = KeyStore.open(file, log, watch);
  return store;
}

const reloaded = (keys: KeyStore) => new Promise<void>((resolve) => keys.onReload(resolve));

describe('a running key store', () => {
  test('takes over a new key that is renamed into place', async () => {
    const first = addKey(file);
    const keys = open();
    const reload = reloaded(keys);
    const second = addKey(file);
    await reload;
    expect(keys.verify(first.key, Date.now())?.id).toBe(first.id);
    expect(keys.verify(second.key, Date.now())?.id).toBe(second.id);
  });

  test('notices the second and third change as well as the first', async () => {
    addKey(file);
    const keys = open();
    for (const expected of [2, 3, 4]) {
      const reload = reloaded(keys);
      addKey(file);
      await reload;
      expect(keys.size).toBe(expected);
    }
  });

  test('takes over a file that is written in place', async () => {
    const { key } = addKey(file);
    const text = readFileSync(file, 'utf8');
    const keys = open();
    const reload = reloaded(keys);
    writeFileSync(file, text.replace('"name": "app"', '"name": "renamed in place"'));
    await reload;
    expect(keys.verify(key, Date.now())?.name).toBe('renamed in place');
  });

  test('rejects a revoked key from then on, even the last one', async () => {
    const { id, key } = addKey(file);
    const keys = open();
    const warned = once(log, 'warn');
    const reload = reloaded(keys);
    revokeKey(file, id);
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
    const { id, key } = addKey(file);
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
    const second = addKey(file);
    await reload;
    if (keys.verify(second.key, Date.now()) === undefined) await reloaded(keys);
    expect(keys.verify(second.key, Date.now())?.id).toBe(second.id);
  });

  test('follows a folder that is swapped behind a link, as Kubernetes does', async () => {
    for (const version of ['v1', 'v2']) mkdirSync(join(folder, version));
    addKey(join(folder, 'v1', 'keys.json'));
    const { key } = addKey(join(folder, 'v2', 'keys.json'));
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
    addKey(file);
    const keys = open(pollOnly);
    const reload = reloaded(keys);
    mkdirSync(join(folder, 'next'));
    const { key } = addKey(join(folder, 'next', 'keys.json'));
    renameSync(join(folder, 'in'), join(folder, 'old'));
    renameSync(join(folder, 'next'), join(folder, 'in'));
    await reload;
    if (keys.verify(key, Date.now()) === undefined) await reloaded(keys);
    expect(keys.verify(key, Date.now())).toBeDefined();
  });

  test('hears no more once it is closed', async () => {
    addKey(file);
    const closed = open();
    let calls = 0;
    closed.onReload(() => {
      calls += 1;
    });
    closed.close();
    // A second store on the same folder tells when the change has been seen.
    const witness = KeyStore.open(file, log, watchOnly);
    const reload = reloaded(witness);
    addKey(file);
    await reload;
    witness.close();
    expect(calls).toBe(0);
    expect(closed.size).toBe(1);
  });
});
