import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyOf } from '../../src/http/body.ts';

/** As fresh memory may be: larger than what was asked for. */
const allocate = (bytes: number) => new ArrayBuffer(bytes + 3);

const chunkOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

describe('bodyOf', () => {
  test.each([
    ['of a known length', 10],
    ['of unknown length', undefined],
  ])('a body %s is one buffer, alone in the memory that it was given', (_what, length) => {
    const given: ArrayBuffer[] = [];
    const body = bodyOf(length, 100, (bytes) => {
      given.push(allocate(bytes));
      return given[0]!;
    });
    for (const text of ['abc', '', 'defghij']) expect(body.add(chunkOf(Buffer.from(text)))).toBe(true);
    const bytes = body.take();
    expect(bytes.toString()).toBe('abcdefghij');
    expect(bytes.byteOffset).toBe(0);
    expect(given).toHaveLength(1);
    expect(bytes.buffer).toBe(given[0]);
  });

  test('a chunk that µWS takes back afterwards has been copied', () => {
    const chunk = chunkOf(Buffer.from('abc'));
    const body = bodyOf(undefined, 100, allocate);
    body.add(chunk);
    new Uint8Array(chunk).fill(0);
    expect(body.take().toString()).toBe('abc');
  });

  test.each([
    ['of a known length', 4],
    ['of unknown length', undefined],
  ])('a body %s takes its last byte and refuses one more', (_what, length) => {
    const body = bodyOf(length, 4, allocate);
    expect(body.add(chunkOf(Buffer.from('abcd')))).toBe(true);
    expect(body.add(chunkOf(Buffer.from('e')))).toBe(false);
  });

  test('an empty body is an empty buffer', () => {
    expect(bodyOf(undefined, 4, allocate).take().length).toBe(0);
  });

  test('whatever the chunks, their bytes come out in order', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(chunks, fc.boolean(), (parts, known) => {
        const whole = Buffer.concat(parts);
        const body = bodyOf(known ? whole.length : undefined, whole.length, allocate);
        for (const part of parts) expect(body.add(chunkOf(part))).toBe(true);
        const bytes = body.take();
        expect(bytes.equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
