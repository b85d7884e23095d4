import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createKey, isKeyId, keyHash, keyId } from '../../src/gate/key-format.ts';

const key = `fm_${'a'.repeat(12)}_${'b'.repeat(43)}`;

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

  test('is hashed by SHA-256 as a whole', () => {
    expect(keyHash(key)).toBe(createHash('sha256').update(key).digest('hex'));
  });
});

describe('text that is no key', () => {
  test.each([
    ['', 'is empty'],
    ['fm_', 'is a prefix'],
    [key.slice(0, -1), 'lacks a character'],
    [`${key}b`, 'has one too many'],
    [` ${key.slice(0, -1)}`, 'begins with a blank'],
    [`${key.slice(0, -1)}\n`, 'ends in a line feed'],
    [key.toUpperCase(), 'has another prefix'],
    [key.replace('fm_', 'fm-'), 'has another separator'],
    [key.replaceAll('b', '-'), 'has another alphabet'],
    [key.replaceAll('b', 'ß'), 'has letters beyond ASCII'],
    [key.replace(/_b/, 'bb'), 'lacks the second separator'],
    [key.repeat(200), 'is endless'],
  ])('has no id: %j %s', (text) => {
    expect(keyId(text)).toBeUndefined();
  });

  test.each([
    '',
    'a'.repeat(11),
    'a'.repeat(13),
    `${'a'.repeat(11)}-`,
    `${'a'.repeat(12)}\n`,
    key,
  ])('is no id: %j', (text) => {
    expect(isKeyId(text)).toBe(false);
  });
});
