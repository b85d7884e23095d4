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
import { Command, InvalidArgumentError } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import { type KeyRecord, readKeyFile } from '../../src/auth/key-file.ts';
import { createKey, endOf, keyId, statusOf } from '../../src/auth/keys.ts';
import {
  changeScopes,
  create,
  editKeyFile,
  type KeySettings,
  revoke,
  rotate,
} from '../../src/cli/key-edits.ts';
import { registerKeys } from '../../src/cli/keys.ts';
import { UnusableFile } from '../../src/config/file.ts';
import { newFolder } from '../support/folder.ts';

const wellFormed = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

test('creates keys without repeated ids or secrets, from the whole alphabet', () => {
  const keys = Array.from({ length: 500 }, createKey);
  const secrets = keys.map(({ key }) => key.slice(16));
  expect(keys.map(({ key }) => keyId(key))).toEqual(keys.map(({ id }) => id));
  expect(new Set(keys.map(({ id }) => id)).size).toBe(500);
  expect(new Set(secrets).size).toBe(500);
  expect(new Set(secrets.join('')).size).toBe(62);
});

test('returns no id for text that is not a key', () => {
  const odd = ['-', 'ß'].map((one) => wellFormed.replaceAll('b', one));
  const others = [wellFormed.replace('fm_', 'fm-'), ...odd];
  const lengths = ['', wellFormed.slice(0, -1), `${wellFormed}b`, wellFormed.repeat(200)];
  for (const text of [wellFormed.toUpperCase(), ...others, ...lengths]) expect(keyId(text)).toBeUndefined();
});

const day_ms = 86_400_000;
const now_ms = Date.UTC(2030, 0, 1);
const settings: KeySettings = { name: 'app', scopes: ['match:basic'], rate: 2.5, burst: 7, note: 'a note' };

describe('rotating a key', () => {
  test('creates a key with the same settings and the same lifetime, and revokes the old one', () => {
    const { records, record } = create([], { ...settings, expires_in_ms: 90 * day_ms }, now_ms);
    const later_ms = now_ms + 80 * day_ms;
    const rotated = rotate(records, record.id, later_ms, 0);
    expect(statusOf(rotated.retired, later_ms)).toBe('revoked');
    expect(rotated.records).toEqual([rotated.retired, rotated.record]);
    expect(rotated.record).toMatchObject(settings);
    expect(rotated.record.id).not.toBe(record.id);
    expect(rotated.record.sha256).not.toBe(record.sha256);
    expect(rotated.record.revoked_at).toBeUndefined();
    expect(endOf(rotated.record)).toBe(later_ms + 90 * day_ms);
  });

  test('keeps the old key valid during the grace period, but not beyond its own expiry', () => {
    const { records, record } = create([], settings, now_ms);
    const { retired } = rotate(records, record.id, now_ms, 3_600_000);
    expect(statusOf(retired, now_ms + 3_599_999)).toBe('retiring');
    expect(statusOf(retired, now_ms + 3_600_000)).toBe('revoked');
    const brief = create([], { ...settings, expires_in_ms: 1000 }, now_ms);
    const ending = rotate(brief.records, brief.record.id, now_ms, day_ms).retired;
    expect([endOf(ending), statusOf(ending, now_ms + 1000)]).toEqual([now_ms + 1000, 'expired']);
  });

  test.each([
    { state: 'retiring', end: (id: string, records: never[]) => rotate(records, id, now_ms, day_ms).records },
    { state: 'revoked', end: (id: string, records: never[]) => revoke(records, id, now_ms).records },
  ])('fails for a key that is $state', ({ state, end }) => {
    const { records, record } = create([], settings, now_ms);
    const ended = end(record.id, records as never[]);
    expect(() => rotate(ended, record.id, now_ms, 0)).toThrow(`is ${state} and cannot be rotated`);
  });
});

test('finds no key by a name that several keys have, and lists their ids even if all are revoked', () => {
  const first = create([], settings, now_ms);
  const second = create(first.records, settings, now_ms);
  const ids = [first.record.id, second.record.id];
  const revoked = ids.reduce((records, id) => revoke(records, id, now_ms).records, second.records);
  for (const records of [second.records, revoked]) {
    expect(() => revoke(records, settings.name, now_ms)).toThrow(
      `Several keys are named app: ${ids.join(', ')}. `,
    );
  }
});

describe('changing the scopes of a key', () => {
  const none = { add: [], remove: [] };

  test('adds and removes scopes, and keeps everything else, including other keys', () => {
    const other = create([], settings, now_ms);
    const { records, record } = create(other.records, { ...settings, name: 'b' }, now_ms);
    const add = changeScopes(
      records,
      'b',
      { ...none, add: ['match:person', 'detect', 'match:basic'] },
      now_ms,
    );
    expect(add.record).toEqual({ ...record, scopes: ['match:basic', 'match:person', 'detect'] });
    expect(add.records).toEqual([other.record, add.record]);
    const change = { add: ['embed'], remove: ['match:basic', 'match:many', 'detect'] } as const;
    const { record: changed } = changeScopes(add.records, record.id, change, now_ms);
    expect(changed.scopes).toEqual(['match:person', 'embed']);
  });

  test('leaves at least one scope', () => {
    const { records, record } = create([], settings, now_ms);
    const remove = () => changeScopes(records, record.id, { ...none, remove: ['match:basic'] }, now_ms);
    expect(remove).toThrow(`keys revoke ${record.id}`);
  });

  test('fails for a key that is revoked, retiring or unknown', () => {
    const { records, record } = create([], settings, now_ms);
    const change = { ...none, add: ['detect'] } as const;
    const [revoked, retiring] = [
      revoke(records, record.id, now_ms),
      rotate(records, record.id, now_ms, day_ms),
    ];
    expect(() => changeScopes(revoked.records, record.id, change, now_ms)).toThrow('is revoked');
    expect(() => changeScopes(retiring.records, record.id, change, now_ms)).toThrow('is retiring');
    expect(() => changeScopes(records, 'nobody', change, now_ms)).toThrow('There is no key');
  });
});

const program = new Command();
registerKeys(program);
const { options } = program.commands[0]!.commands.find((command) => command.name() === 'create')!;

const accepted: Record<string, Record<string, unknown>> = {
  name: { app: 'app', '  my app  ': 'my app', 'Zoë 🦊': 'Zoë 🦊', ['x'.repeat(100)]: 'x'.repeat(100) },
  note: { ['x'.repeat(500)]: 'x'.repeat(500) },
  scopes: {
    'match:advanced,match:basic': ['match:basic', 'match:advanced'],
    'match:basic, match:basic': ['match:basic'],
  },
  rate: { '50': 50, '0.5': 0.5, '0.000001': 1e-6, '1000000': 1e6 },
  burst: { '1': 1, '1000000': 1e6 },
  concurrent: { '1': 1, '100000': 1e5 },
  expires: {
    ...{ '1s': 1000, '30m': 1_800_000, '1h': 3_600_000 },
    ...{ '90d': 90 * day_ms, '52w': 364 * day_ms, '36500d': 36_500 * day_ms },
  },
};

const rejected: Record<string, string[]> = {
  name: ['', '   ', 'x'.repeat(101), 'two\nlines', 'esc\u001b[2J', 'c1\u009b'],
  note: ['', 'x'.repeat(501), 'two\nlines'],
  scopes: ['', ',', 'match:basic,', 'MATCH:BASIC', 'match:basic match:advanced', '*'],
  rate: ['', '0', '0.0', '-1', '+1', '1e2', '.5', '5.', 'NaN', '1000000.1', '٣', ' 5', '0x10'],
  concurrent: ['0', '100001', '1.5'],
  burst: ['', '0', '-1', '1.5', '1e2', '1000001', '99999999999', '٣', ' 5'],
  expires: ['', '90', 'd', '0d', '-1d', '1.5d', '1D', '1 d', '1y', '1d12h', '36501d', '9'.repeat(400), '٣d'],
};

test.each(Object.keys(accepted))('accepts only the values in the table for --%s', (name) => {
  const parse = options.find((option) => option.long === `--${name}`)!.parseArg!;
  for (const [text, value] of Object.entries(accepted[name]!)) expect(parse(text, undefined)).toEqual(value);
  for (const text of rejected[name]!)
    expect(() => parse(text, undefined), text).toThrow(InvalidArgumentError);
});

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

function errorOf(act: () => unknown): UnusableFile {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(UnusableFile);
    return error as UnusableFile;
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
  test('creates the file with mode 0600, whatever the umask is', () => {
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

  test.each(['600', '640', '400', '440', '740'])(
    'keeps the owner, the group, and the bits of mode %s that are in 640',
    (octal) => {
      const mode = Number.parseInt(octal, 8);
      write({ version: 1, keys: [] }, mode);
      // Only root may change the owner of a file.
      const isRoot = process.getuid?.() === 0;
      if (isRoot) chownSync(file, 4711, 4712);
      const { uid, gid } = statSync(file);
      addKey();
      expect([statSync(file).uid, statSync(file).gid]).toEqual([uid, gid]);
      expect(statSync(file).mode & 0o777).toBe(mode & 0o640);
    },
  );

  test('replaces the file with a new one, and leaves no other file', () => {
    addKey('first');
    const { ino } = statSync(file);
    const held = readFileSync(file, 'utf8');
    addKey('second');
    expect(statSync(file).ino).not.toBe(ino);
    expect(readKeyFile(file).map(({ name }) => name)).toEqual(['first', 'second']);
    expect(held).not.toContain('second');
    expect(readdirSync(folder)).toEqual(['keys.json']);
  });

  test('fails while another command writes, and names the lock file to remove if none does', () => {
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

  test('keeps a symbolic link, and replaces its target', () => {
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
  test.each(['604', '602', '601', '620', '610'])('fails if the file has mode %s', (octal) => {
    write({ version: 1, keys: [good] }, Number.parseInt(octal, 8));
    const error = errorOf(() => readKeyFile(file));
    expect(error.reason).toBe('is accessible to other users');
    expect(error.message).toContain(`chmod 600 ${file}`);
  });

  test('accepts a byte order mark', () => {
    write(`\ufeff${JSON.stringify({ version: 1, keys: [good] })}`);
    expect(readKeyFile(file)).toEqual([good]);
  });

  test.each<[what: string, content: unknown, reason: string]>([
    ['half a file', JSON.stringify({ version: 1, keys: [good] }).slice(0, 99), 'is not valid JSON'],
    ['another version', { version: 2, keys: [] }, 'at version'],
    ['an unknown member', { version: 1, keys: [], extra: 1 }, 'extra'],
    ['two keys with the same id', { version: 1, keys: [good, good] }, 'two keys have the same id'],
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
  ])('rejects %s', (_what, content, reason) => {
    write(content);
    expect(errorOf(() => readKeyFile(file)).reason).toContain(reason);
  });

  test('never includes the content or path of the file in the reason', () => {
    const secret = 'fm_abcdefghijkl_0123456789';
    for (const keys of [secret, [secret], [{ ...good, sha256: secret }]]) {
      const content = keys === secret ? secret : { version: 1, keys };
      write(content);
      const { reason } = errorOf(() => readKeyFile(file));
      expect(reason).not.toContain('0123456789');
      expect(reason).not.toContain(folder);
    }
  });
});
