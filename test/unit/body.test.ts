import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Body } from '../../src/http/upload.ts';

/** As fresh memory may be: larger than what was asked for. */
const allocate = (bytes: number) => new ArrayBuffer(bytes + 3);

const chunkOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

describe('Body', () => {
  test.each([
    ['of a known length', 10],
    ['of unknown length', undefined],
  ])('a body %s is one buffer, alone in the memory that it was given', (_what, length) => {
    const given: ArrayBuffer[] = [];
    const body = new Body(length, 100, (bytes) => {
      given.push(allocate(bytes));
      return given[0]!;
    });
    for (const text of ['abc', '', 'defghij']) body.add(chunkOf(Buffer.from(text)));
    expect(body.fault).toBeUndefined();
    const bytes = body.take();
    expect(bytes.toString()).toBe('abcdefghij');
    expect(bytes.byteOffset).toBe(0);
    expect(given).toHaveLength(1);
    expect(bytes.buffer).toBe(given[0]);
  });

  test('a chunk that µWS takes back afterwards has been copied', () => {
    const chunk = chunkOf(Buffer.from('abc'));
    const body = new Body(undefined, 100, allocate);
    body.add(chunk);
    new Uint8Array(chunk).fill(0);
    expect(body.take().toString()).toBe('abc');
  });

  test.each([
    ['of a known length', 4],
    ['of unknown length', undefined],
  ])('a body %s takes its last byte and refuses one more', (_what, length) => {
    const body = new Body(length, 4, allocate);
    body.add(chunkOf(Buffer.from('abcd')));
    expect(body.fault).toBeUndefined();
    body.add(chunkOf(Buffer.from('e')));
    expect(body.fault).toMatchObject({ code: 'body_too_large', extras: { limit_bytes: 4 } });
  });

  test('an empty body is an empty buffer', () => {
    expect(new Body(undefined, 4, allocate).take().length).toBe(0);
  });

  test('whatever the chunks, their bytes come out in order', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(chunks, fc.boolean(), (parts, known) => {
        const whole = Buffer.concat(parts);
        const body = new Body(known ? whole.length : undefined, whole.length, allocate);
        for (const part of parts) body.add(chunkOf(part));
        expect(body.fault).toBeUndefined();
        const bytes = body.take();
        expect(bytes.equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
