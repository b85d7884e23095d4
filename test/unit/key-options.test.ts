import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import {
  parseBurst,
  parseConcurrent,
  parseDuration,
  parseName,
  parseNote,
  parseRate,
  parseScopes,
} from '../../src/cli/keys.ts';

const parse = { parseBurst, parseConcurrent, parseDuration, parseName, parseNote, parseRate, parseScopes };
const day_ms = 86_400_000;

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
