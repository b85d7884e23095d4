import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeInPlace } from '../../src/endpoints/base64.ts';
import { loadAddon } from '../../src/engine/load-addon.ts';

/** Base64 in a body, decoded by the addon; what is base64 and what is not, test/unit/json-form.test.ts says. */

const addon = loadAddon();
const bytes = fc.uint8Array({ maxLength: 200 });
const text = bytes.map((each) => Buffer.from(each).toString('base64'));
const escaped = fc.tuple(text, fc.infiniteStream(fc.nat(9))).map(([plain, how]) => {
  return plain.replace(/./g, (char) => {
    const code = char.charCodeAt(0).toString(16);
    const way = how.next().value;
    if (way === 0) return `\\u00${code}`;
    if (way === 1) return `\\u00${code.toUpperCase()}`;
    return char === '/' && way < 5 ? '\\/' : char;
  });
});
const fault = fc.constantFrom(
  ' ',
  '\n',
  '-',
  '_',
  '=',
  '\\',
  '\\n',
  '\\u',
  '\\u004',
  '\\u0141',
  '\\u00g1',
  'é',
  '\0',
  'A',
);
const damaged = fc.tuple(escaped, fc.nat(), fault).map(([whole, where, what]) => {
  const at = where % (whole.length + 1);
  return whole.slice(0, at) + what + whole.slice(at + 1);
});

test('is decoded as without it, refused where that refuses it, and nothing else is touched', () => {
  fc.assert(
    fc.property(fc.oneof(text, escaped, damaged), (sent) => {
      const [one, other] = [0, 1].map(() => {
        const body = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(sent) + 20));
        body.fill('"').write(sent, 10);
        return body;
      }) as [Buffer, Buffer];
      const end = one.length - 10;
      const decoded = decodeInPlace(one, 10, end, addon.decodeBase64);
      expect(decoded).toEqual(decodeInPlace(other, 10, end));
      const shown = 'end' in decoded ? decoded.end : 10;
      expect(one.subarray(0, shown).equals(other.subarray(0, shown))).toBe(true);
      expect(one.toString('latin1', end)).toBe('"'.repeat(10));
    }),
    { numRuns: 5000 },
  );
});

test('is decoded in one call up to what is no whole group', () => {
  const whole = Buffer.from(`${'QUJD'.repeat(100_000)}QQ==`);
  expect(addon.decodeBase64(whole)).toEqual({ read: 400_000, written: 300_000 });
  expect(whole.toString('latin1', 0, 300_000)).toBe('ABC'.repeat(100_000));
  expect(addon.decodeBase64(Buffer.alloc(0))).toEqual({ read: 0, written: 0 });
});
