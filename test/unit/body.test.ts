import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyOf } from '../../src/http/body.ts';

const chunkOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;

describe('bodyOf', () => {
  test.each([
    ['of a known length', 10],
    ['of unknown length', undefined],
  ])('a body %s is one exact buffer of its own', (_what, length) => {
    const body = bodyOf(length, 100);
    for (const text of ['abc', '', 'defghij']) expect(body.add(chunkOf(Buffer.from(text)))).toBe(true);
    const bytes = body.take();
    expect(bytes.toString()).toBe('abcdefghij');
    // Neither part of Node's pool nor larger than its content: only such a buffer is moved between threads.
    expect(bytes.byteOffset).toBe(0);
    expect(bytes.buffer.byteLength).toBe(10);
  });

  test('a chunk that µWS takes back afterwards has been copied', () => {
    const chunk = chunkOf(Buffer.from('abc'));
    const body = bodyOf(undefined, 100);
    body.add(chunk);
    new Uint8Array(chunk).fill(0);
    expect(body.take().toString()).toBe('abc');
  });

  test.each([
    ['of a known length', 4],
    ['of unknown length', undefined],
  ])('a body %s takes its last byte and refuses one more', (_what, length) => {
    const body = bodyOf(length, 4);
    expect(body.add(chunkOf(Buffer.from('abcd')))).toBe(true);
    expect(body.add(chunkOf(Buffer.from('e')))).toBe(false);
  });

  test('an empty body is an empty buffer', () => {
    expect(bodyOf(undefined, 4).take().length).toBe(0);
  });

  test('whatever the chunks, their bytes come out in order', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(chunks, fc.boolean(), (parts, known) => {
        const whole = Buffer.concat(parts);
        const body = bodyOf(known ? whole.length : undefined, whole.length);
        for (const part of parts) expect(body.add(chunkOf(part))).toBe(true);
        const bytes = body.take();
        expect(bytes.equals(whole)).toBe(true);
        expect(bytes.buffer.byteLength).toBe(whole.length);
      }),
      { numRuns: 50 },
    );
  });
});
