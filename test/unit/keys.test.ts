import { Command, InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { createKey, endOf, keyId, statusOf } from '../../src/auth/keys.ts';
import { create, type KeySettings, revoke, rotate } from '../../src/cli/key-edits.ts';
import { registerKeys } from '../../src/cli/keys.ts';

const wellFormed = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

test('keys are never the same twice, in id or secret, and draw on the whole alphabet', () => {
  const keys = Array.from({ length: 500 }, createKey);
  const secrets = keys.map(({ key }) => key.slice(16));
  expect(keys.map(({ key }) => keyId(key))).toEqual(keys.map(({ id }) => id));
  expect(new Set(keys.map(({ id }) => id)).size).toBe(500);
  expect(new Set(secrets).size).toBe(500);
  expect(new Set(secrets.join('')).size).toBe(62);
});

test('text that is no key has no id', () => {
  const others = [
    wellFormed.replace('fm_', 'fm-'),
    ...['-', 'ß'].map((one) => wellFormed.replaceAll('b', one)),
  ];
  const lengths = ['', wellFormed.slice(0, -1), `${wellFormed}b`, wellFormed.repeat(200)];
  for (const text of [wellFormed.toUpperCase(), ...others, ...lengths]) expect(keyId(text)).toBeUndefined();
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
    expect(rotated.record).toMatchObject(settings);
    expect(rotated.record.id).not.toBe(record.id);
    expect(rotated.record.sha256).not.toBe(record.sha256);
    expect(rotated.record.revoked_at).toBeUndefined();
    expect(endOf(rotated.record)).toBe(later_ms + 90 * day_ms);
  });

  test('with grace lets the old one work until then, not a moment longer, and not beyond its own expiry', () => {
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

const refused: Record<string, string[]> = {
  name: ['', '   ', 'x'.repeat(101), 'two\nlines', 'esc\u001b[2J', 'c1\u009b'],
  note: ['', 'x'.repeat(501), 'two\nlines'],
  scopes: ['', ',', 'match:basic,', 'MATCH:BASIC', 'match:basic match:advanced', '*'],
  rate: ['', '0', '0.0', '-1', '+1', '1e2', '.5', '5.', 'NaN', '1000000.1', '٣', ' 5', '0x10'],
  concurrent: ['0', '100001', '1.5'],
  burst: ['', '0', '-1', '1.5', '1e2', '1000001', '99999999999', '٣', ' 5'],
  expires: ['', '90', 'd', '0d', '-1d', '1.5d', '1D', '1 d', '1y', '1d12h', '36501d', '9'.repeat(400), '٣d'],
};

test.each(Object.keys(accepted))('--%s takes what is in its table, and nothing else', (name) => {
  const parse = options.find((option) => option.long === `--${name}`)!.parseArg!;
  for (const [text, value] of Object.entries(accepted[name]!)) expect(parse(text, undefined)).toEqual(value);
  for (const text of refused[name]!) expect(() => parse(text, undefined), text).toThrow(InvalidArgumentError);
});
