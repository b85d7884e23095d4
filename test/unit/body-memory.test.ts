import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyMemory, sizeFor } from '../../src/http/body-memory.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

function memoryOf({ capacity_bytes = 64 * MiB, idle_ms = 3_600_000 } = {}) {
  const discarded: number[] = [];
  const memory = new BodyMemory({
    capacity_bytes,
    idle_ms,
    discard: (bytes) => {
      bytes.fill(0);
      discarded.push(bytes.length);
    },
  });
  return { memory, discarded };
}

test.each([
  [0, 64 * KiB],
  [64 * KiB, 64 * KiB],
  [64 * KiB + 1, 80 * KiB],
  [256 * KiB, 256 * KiB],
  [4 * MiB - 1, 4 * MiB],
  [4 * MiB + 1, 5 * MiB],
  [20 * MiB + 1, 24 * MiB],
])('the buffer for a body of %i bytes has %i', (bytes, size) => {
  expect(sizeFor(bytes)).toBe(size);
});

test('a buffer holds the body, is at most a quarter larger, and its size is its own', () => {
  fc.assert(
    fc.property(fc.integer({ min: 64 * KiB, max: 900 * MiB }), (bytes) => {
      const size = sizeFor(bytes);
      expect(size).toBeGreaterThanOrEqual(bytes);
      expect(size).toBeLessThanOrEqual(1.25 * bytes);
      expect(sizeFor(size)).toBe(size);
    }),
  );
});

describe('memory that is given back', () => {
  test('is wiped and taken for the next body of about its size, and for no other', () => {
    const { memory } = memoryOf();
    const first = memory.take(5 * MiB);
    new Uint8Array(first).fill(7, 0, 3 * MiB);
    memory.give(first, 3 * MiB);
    expect(new Uint8Array(first).every((byte) => byte === 0)).toBe(true);
    expect(memory.take(4 * MiB)).not.toBe(first);
    expect(memory.take(6 * MiB)).not.toBe(first);
    expect(memory.take(5 * MiB - 1)).toBe(first);
  });

  test('is never in two hands', () => {
    const { memory } = memoryOf();
    const given = [memory.take(MiB), memory.take(MiB)];
    expect(given[0]).not.toBe(given[1]);
    for (const one of given) memory.give(one, 0);
    const taken = [1, 2, 3].map(() => memory.take(MiB));
    expect(new Set(taken).size).toBe(3);
    expect(taken).toEqual(expect.arrayContaining(given));
  });

  test('is kept up to the capacity; what is beyond it gives its pages back at once', () => {
    const { memory, discarded } = memoryOf({ capacity_bytes: 2 * MiB });
    const [one, two, three] = [1, 2, 3].map(() => memory.take(MiB)) as SharedArrayBuffer[];
    memory.give(one!, 1);
    memory.give(two!, 2);
    expect(discarded).toEqual([]);
    memory.give(three!, 3);
    expect(discarded).toEqual([3]);
    // What is lent has its pages still, however little of them its next body needs.
    expect(memory.take(MiB)).toBe(two);
    memory.give(three!, 4);
    expect(discarded).toEqual([3, 4]);
    memory.give(two!, 1);
    expect(discarded).toEqual([3, 4]);
  });

  test('gives its pages back when nobody has wanted it for a while, time after time', async () => {
    const { memory, discarded } = memoryOf({ idle_ms: 5 });
    for (const sizes of [[MiB, 2 * MiB], [MiB]]) {
      const given = sizes.map((size) => memory.take(size));
      for (const one of given) memory.give(one, 1);
      await expect.poll(() => discarded.splice(0).length).toBe(given.length);
      expect(given).not.toContain(memory.take(MiB));
    }
  });
});
