import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { createKey, endOf, keyId, statusOf } from '../../src/auth/keys.ts';
import { create, type KeySettings, revoke, rotate } from '../../src/cli/key-edits.ts';
import {
  parseBurst,
  parseConcurrent,
  parseDuration,
  parseName,
  parseNote,
  parseRate,
  parseScopes,
} from '../../src/cli/keys.ts';

const wellFormed = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

describe('a key', () => {
  test('is fm, a public id and a secret of at least 256 bits, in letters and digits', () => {
    const { id, key } = createKey();
    expect(key).toMatch(/^fm_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
    expect(keyId(key)).toBe(id);
    expect(43 * Math.log2(62)).toBeGreaterThanOrEqual(256);
  });

  test('is never the same twice, in id or secret', () => {
    const keys = Array.from({ length: 500 }, createKey);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(500);
    expect(new Set(keys.map(({ key }) => key.slice(16))).size).toBe(500);
  });

  test('draws on the whole alphabet', () => {
    const text = Array.from({ length: 100 }, () => createKey().key.slice(16)).join('');
    expect(new Set(text).size).toBe(62);
  });
});

describe('text that is no key', () => {
  test.each([
    ['', 'is empty'],
    [wellFormed.slice(0, -1), 'lacks a character'],
    [`${wellFormed}b`, 'has one too many'],
    [wellFormed.toUpperCase(), 'has another prefix'],
    [wellFormed.replace('fm_', 'fm-'), 'has another separator'],
    [wellFormed.replaceAll('b', '-'), 'has another alphabet'],
    [wellFormed.replaceAll('b', 'ß'), 'has letters beyond ASCII'],
    [wellFormed.repeat(200), 'is endless'],
  ])('has no id: %j %s', (text) => {
    expect(keyId(text)).toBeUndefined();
  });
});

const day_ms = 86_400_000;
const now_ms = Date.UTC(2030, 0, 1);
const settings: KeySettings = {
  name: 'app',
  scopes: ['match:basic'],
  rate: 2.5,
  burst: 7,
  note: 'for tests',
};

describe('rotating a key', () => {
  test('makes a new one with the same settings and the same lifetime, and revokes the old one', () => {
    const { records, record } = create([], { ...settings, expires_in_ms: 90 * day_ms }, now_ms);
    const later_ms = now_ms + 80 * day_ms;
    const rotated = rotate(records, record.id, later_ms, 0);
    expect(statusOf(rotated.retired, later_ms)).toBe('revoked');
    expect(rotated.records).toEqual([rotated.retired, rotated.record]);
    const { name, scopes, rate, burst, note } = record;
    expect(rotated.record).toMatchObject({ name, scopes, rate, burst, note });
    expect(rotated.record.id).not.toBe(record.id);
    expect(rotated.record.sha256).not.toBe(record.sha256);
    expect(rotated.record.revoked_at).toBeUndefined();
    expect(endOf(rotated.record)).toBe(later_ms + 90 * day_ms);
  });

  test('with grace lets the old one work until then, and not a moment longer', () => {
    const { records, record } = create([], settings, now_ms);
    const { retired } = rotate(records, record.id, now_ms, 3_600_000);
    expect(statusOf(retired, now_ms + 3_599_999)).toBe('retiring');
    expect(statusOf(retired, now_ms + 3_600_000)).toBe('revoked');
    expect(endOf(retired)).toBe(now_ms + 3_600_000);
  });

  test('with grace does not outlive the expiry of the old one', () => {
    const { records, record } = create([], { ...settings, expires_in_ms: 1000 }, now_ms);
    const { retired } = rotate(records, record.id, now_ms, day_ms);
    expect(endOf(retired)).toBe(now_ms + 1000);
    expect(statusOf(retired, now_ms + 1000)).toBe('expired');
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

const parse = { parseBurst, parseConcurrent, parseDuration, parseName, parseNote, parseRate, parseScopes };

const accepted: { [Name in keyof typeof parse]: [string, unknown][] } = {
  parseName: [
    ['app', 'app'],
    ['  my app  ', 'my app'],
    ['Zoë 🦊', 'Zoë 🦊'],
    ['x'.repeat(100), 'x'.repeat(100)],
  ],
  parseNote: [['x'.repeat(500), 'x'.repeat(500)]],
  parseScopes: [
    ['match:basic', ['match:basic']],
    ['match:advanced,match:basic', ['match:basic', 'match:advanced']],
    ['match:basic, match:basic', ['match:basic']],
  ],
  parseRate: [
    ['50', 50],
    ['0.5', 0.5],
    ['0.000001', 0.000001],
    ['1000000', 1_000_000],
  ],
  parseBurst: [
    ['1', 1],
    ['1000000', 1_000_000],
  ],
  parseConcurrent: [
    ['1', 1],
    ['100000', 100_000],
  ],
  parseDuration: [
    ['1s', 1000],
    ['30m', 1_800_000],
    ['1h', 3_600_000],
    ['90d', 90 * day_ms],
    ['52w', 364 * day_ms],
    ['36500d', 36_500 * day_ms],
  ],
};

const refused: { [Name in keyof typeof parse]: string[] } = {
  parseName: ['', '   ', 'x'.repeat(101), 'two\nlines', 'esc\u001b[2J', 'c1\u009b'],
  parseNote: ['', 'x'.repeat(501), 'two\nlines'],
  parseScopes: ['', ',', 'match:basic,', 'MATCH:BASIC', 'match:basic match:advanced', '*'],
  parseRate: [...['', '0', '0.0', '-1', '+1', '1e2', '.5', '5.', 'NaN', '1000000.1', '٣', ' 5', '0x10']],
  parseConcurrent: ['0', '100001', '1.5'],
  parseBurst: ['', '0', '-1', '1.5', '1e2', '1000001', '99999999999', '٣', ' 5'],
  parseDuration: [
    ...['', '90', 'd', '0d', '-1d', '1.5d', '1D', '1 d', '1y', '1d12h', '36501d', '9'.repeat(400), '٣d'],
  ],
};

const rows = <T>(table: Record<keyof typeof parse, T[]>) =>
  Object.entries(table).flatMap(([name, texts]) =>
    texts.map((text) => ({ name: name as keyof typeof parse, text })),
  );

describe('the options of the key commands', () => {
  test.each(rows(accepted).map(({ name, text: [given, value] }) => ({ name, given, value })))(
    '$name takes $given',
    ({ name, given, value }) => {
      expect(parse[name](given)).toEqual(value);
    },
  );

  test.each(rows(refused))('$name refuses "$text"', ({ name, text }) => {
    expect(() => parse[name](text)).toThrow(InvalidArgumentError);
  });
});
