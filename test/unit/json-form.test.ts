import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodedSize, decodeInPlace } from '../../src/endpoints/base64.ts';
import { FormRules } from '../../src/endpoints/form.ts';
import { readJsonForm } from '../../src/endpoints/json-form.ts';
import { matchMany } from '../../src/endpoints/match-many.ts';
import { JsonScan } from '../../src/engine/json-scan.ts';
import { Problem } from '../../src/errors.ts';

/** JSON is read as JSON.parse reads it, and base64 as Node writes it; what they would not take is refused. */

function accepts(body: Buffer): boolean {
  const scan = new JsonScan(body);
  try {
    scan.skip();
    scan.end();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(Problem);
    const { position } = (error as Problem).extras;
    expect(position).toBeGreaterThanOrEqual(0);
    expect(position).toBeLessThanOrEqual(body.toString().length);
    return false;
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parses(body: Buffer): boolean {
  try {
    JSON.parse(strict.decode(body));
    return true;
  } catch {
    return false;
  }
}

const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 4, stringUnit: 'grapheme' }),
    fc.array(
      fc.record({
        at: fc.nat(200),
        drop: fc.nat(2),
        bytes: fc.oneof(
          fc.uint8Array({ maxLength: 3 }),
          fc.constantFrom(...'"{],:0-. \n\u00a0', '\\', '\\u00e9', '\\x', '1e5'),
        ),
      }),
      { maxLength: 2 },
    ),
  )
  .map(([text, changes]) => {
    let bytes = Buffer.from(text);
    for (const { at, drop, bytes: added } of changes) {
      const place = bytes.length === 0 ? 0 : at % bytes.length;
      bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(added), bytes.subarray(place + drop)]);
    }
    return bytes;
  });

test('the same is JSON as for JSON.parse', () => {
  const property = fc.property(nearlyJson, (body) => void expect(accepts(body)).toBe(parses(body)));
  fc.assert(property, { numRuns: 3000 });
});

test('a fault is told at its character, however many bytes were before it', () => {
  expect(() => new JsonScan(Buffer.from('["é", "🙂", "‱", nil]')).skip()).toThrow(
    expect.objectContaining({ code: 'invalid_json', extras: expect.objectContaining({ position: 17 }) }),
  );
});

test('there are limits to depth and to what is no image', () => {
  expect(accepts(Buffer.from('['.repeat(32) + ']'.repeat(32)))).toBe(true);
  for (const body of [
    '['.repeat(33) + ']'.repeat(33),
    '['.repeat(100_000),
    `"${'é'.repeat(35_000)}"`,
    ' '.repeat(70_000),
    `"${'x'.repeat(70_000)}\\x"`,
    `"${'x'.repeat(70_000)}\n"`,
  ])
    expect(accepts(Buffer.from(body))).toBe(false);
  for (const piece of ['x', '/', '\\/', '\\u00e9']) {
    expect(accepts(Buffer.from(`["${piece.repeat(70_000)}","${piece}"]`))).toBe(true);
  }
  const long = new JsonScan(Buffer.from(`{"é":"${'é'.repeat(70_000)}",}`), Number.POSITIVE_INFINITY);
  expect(() => long.skip()).toThrow(
    expect.objectContaining({ extras: expect.objectContaining({ position: 70_008 }) }),
  );
});

/** Around the pieces that are decoded at a time. */
const around = (min: number, max: number) => fc.integer({ min, max });
const size = fc.oneof(fc.nat(20), around(49_140, 49_170), around(98_290, 98_310));
const picture = fc.tuple(size, fc.nat()).map(([length, seed]) => {
  return Buffer.from(Uint8Array.from({ length }, (_item, i) => Math.imul(i + seed, 2_654_435_761) >>> 13));
});

function placed(text: string): { body: Buffer; start: number; end: number } {
  const body = Buffer.from(new SharedArrayBuffer(text.length + 20));
  body.fill('"').write(text, 10, 'latin1');
  return { body, start: 10, end: 10 + text.length };
}

describe('base64', () => {
  test('is decoded where it lies, with the escapes of JSON', () => {
    const escapes = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => text.replaceAll('/', '\\/'),
      (text) => text.replaceAll('+', '\\u002B').replaceAll('=', '\\u003d'),
      (text) => text.replace(/[A-Z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
    );
    fc.assert(
      fc.property(picture, escapes, fc.boolean(), (bytes, write, padded) => {
        const text = bytes.toString('base64').replace(/=+$/, padded ? '$&' : '');
        const { body, start, end } = placed(write(text));
        const decoded = decodeInPlace(body, start, end) as { end: number };
        expect(body.subarray(start, decoded.end).equals(bytes)).toBe(true);
        expect(body.toString('latin1', 0, start) + body.toString('latin1', end)).toBe('"'.repeat(20));
        const plain = placed(text);
        expect(decodedSize(plain.body, plain.start, plain.end)).toBe(bytes.length);
      }),
      { numRuns: 60 },
    );
  });

  test('with any character changed is that of other bytes, or refused', () => {
    const isCanonical = (text: string) => {
      const again = Buffer.from(text, 'base64').toString('base64');
      return text === again || text === again.replace(/=+$/, '');
    };
    const change = fc.constantFrom(...' \n-_=.,%\\é\0'.split(''), 'A', 'z');
    // Half of them at the end, where the padding is.
    const place = fc.oneof(
      fc.nat(),
      fc.nat(4).map((back) => -1 - back),
    );
    fc.assert(
      fc.property(picture, place, change, (bytes, where, char) => {
        const text = bytes.toString('base64');
        if (text === '') return;
        const at = where < 0 ? Math.max(0, text.length + where) : where % text.length;
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        const { body, start, end } = placed(changed);
        const decoded = decodeInPlace(body, start, end);
        // What a backslash made an escape of says something else.
        const inJson = /\\(?:(\/)|u00([2-7][0-9a-f]))/i;
        const said = changed.replace(
          inJson,
          (_escape, slash, hex) => slash ?? String.fromCharCode(Number.parseInt(hex, 16)),
        );
        expect('end' in decoded).toBe(isCanonical(said));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ['A', 1],
    ['AB', 2],
    ['AAB', 3],
    ['=', 0],
    ['AAA==', 4],
    ['data:image/png;base64,AAAA', 4],
    ['\\u0041A\\/A*', 10],
    ['AAAA\\nAAA', 4],
    ['AA\\xA', 2],
    ['A\\/\nA', 3],
  ])('that is not canonical is refused where no base64 goes on: %s', (text, index) => {
    const { body, start, end } = placed(text);
    expect(decodeInPlace(body, start, end)).toEqual({ wrong: start + index });
  });
});

test('whatever comes, there is a form or a problem of the table', () => {
  const limits = { max_parts: 16, max_part_header_bytes: 9, max_field_bytes: 9, max_image_bytes: 30 };
  const value = fc.oneof(fc.base64String(), fc.array(fc.base64String(), { maxLength: 18 }), fc.jsonValue());
  const name = fc.constantFrom(...Object.keys(matchMany.fields), 'colour', '__proto__');
  const members = fc.array(fc.tuple(name, value), { maxLength: 18 });
  fc.assert(
    fc.property(members, (list) => {
      const text = list.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`).join();
      const body = Buffer.from(`{${text}}`);
      try {
        const pack = { min_det_score: 0.7 };
        const { images, targets } = readJsonForm(body, new FormRules(matchMany), limits, pack);
        expect(images.length).toBeGreaterThan(0);
        expect(targets.length).toBeGreaterThan(0);
        for (const { start, end } of images) expect(end - start).toBeLessThanOrEqual(30);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
    { numRuns: 500 },
  );
});
