import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FormRules } from '../../src/endpoints/form.ts';
import { readJsonForm } from '../../src/endpoints/json-form.ts';
import { matchMany } from '../../src/endpoints/match-many.ts';
import { JsonScan } from '../../src/engine/json-scan.ts';
import { atOnce, step_cost } from '../../src/engine/turns.ts';
import { Problem } from '../../src/errors.ts';
import { runs } from '../support/runs.ts';

/** Tests that JSON is accepted and rejected as by JSON.parse. test/native/addon.test.ts tests base64. */

/** Replaces the addon's decoder. It decodes nothing, so JavaScript decodes the whole of a short string. */
const wholeGroups = () => ({ read: 0, written: 0 });

function accepts(body: Buffer): boolean {
  const scan = new JsonScan(body);
  try {
    atOnce(scan.skip());
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

test('accepts the same texts as JSON.parse', () => {
  const property = fc.property(nearlyJson, (body) => void expect(accepts(body)).toBe(parses(body)));
  fc.assert(property, { numRuns: runs(3000) });
});

test('reports the position of an error in characters, however many bytes they have', () => {
  expect(() => atOnce(new JsonScan(Buffer.from('["é", "🙂", "‱", nil]')).skip())).toThrow(
    expect.objectContaining({ code: 'invalid_json', extras: expect.objectContaining({ position: 17 }) }),
  );
});

test('limits the depth, and the size of everything except strings in ASCII', () => {
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
  expect(() => atOnce(long.skip())).toThrow(
    expect.objectContaining({ extras: expect.objectContaining({ position: 70_008 }) }),
  );
});

describe('a long string', () => {
  /** Returns the position of the error. */
  function positionOf(text: Buffer): unknown {
    try {
      atOnce(new JsonScan(text, Number.POSITIVE_INFINITY).skip());
      return undefined;
    } catch (error) {
      return (error as Problem).extras.position;
    }
  }

  const tricky = ['x', '\\/', '\\u00e9', '\\ud83d\\ude42', '\\\\', '\\"', 'é', '🙂', '\n', '\\x', '\\u00e'];

  test.each(tricky)('is read in the same way, wherever a step ends: %j', (piece) => {
    const short = Buffer.from(`{"a":"${piece}","b":nil}`);
    for (let before = step_cost - 16; before <= step_cost + 2; before++) {
      const body = Buffer.from(`{"a":"${'x'.repeat(before)}${piece}","b":nil}`);
      const [expected, found] = [short, body].map(positionOf) as [number, number];
      expect(found).toBe(expected + before);
    }
  });

  test('is read in steps of less than 128 KiB, like other long values', () => {
    const size = 8 * 1024 * 1024;
    const steps = size / step_cost;
    const texts = [
      ['plain', 'x'],
      ['escaped', '\\/'],
      ['escaped by number', '\\u00e9'],
    ].map(([what, unit]) => [what, `"${unit!.repeat(size / unit!.length)}"`, steps] as const);
    const bodies = [
      ...texts,
      // A step that searches for the closing quote covers eight times as many bytes.
      ['open', `"${'x'.repeat(size)}`, steps / 8],
      ['empty strings', `[${'"",'.repeat(20_000)}""]`, 20_000 / 128],
      ['numbers', `[${'0,'.repeat(30_000)}0]`, 30_000 / 512],
    ] as const;
    for (const [what, text, minimum] of bodies) {
      const costs: number[] = [];
      try {
        for (const cost of new JsonScan(Buffer.from(text)).skip(() => {})) costs.push(cost);
      } catch (error) {
        expect([what, error]).toEqual(['open', expect.any(Problem)]);
      }
      expect(costs.length, what).toBeGreaterThanOrEqual(Math.floor(minimum));
      // A step may exceed its size by the piece that completes it.
      expect(Math.max(...costs), what).toBeLessThan(2 * step_cost);
    }
  });
});

test('returns a form or throws a Problem for any JSON object', () => {
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
        const { images, targets } = atOnce(
          readJsonForm(body, new FormRules(matchMany), limits, pack, wholeGroups),
        );
        expect(images.length).toBeGreaterThan(0);
        expect(targets.length).toBeGreaterThan(0);
        for (const { start, end } of images) expect(end - start).toBeLessThanOrEqual(30);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
    { numRuns: runs(500) },
  );
});
