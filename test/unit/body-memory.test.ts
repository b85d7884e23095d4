import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyMemory, recyclable, sizeFor } from '../../src/engine/body-memory.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

function memoryOf({ capacity_bytes = 64 * MiB, idle_ms = 3_600_000 } = {}) {
  const freed: ArrayBuffer[] = [];
  const waiting = new Map<number, () => void>();
  const memory = new BodyMemory({
    capacity_bytes,
    idle_ms,
    free: (buffer) => waiting.get(freed.push(buffer))?.(),
  });
  /** Resolves with the freeing of the buffer that makes `count`. */
  const freeing = (count: number) => new Promise<void>((resolve) => waiting.set(count, resolve));
  return { memory, freed, freeing };
}

describe('the size of a buffer', () => {
  test.each([
    [0, 0],
    [1, 1],
    [256 * KiB - 1, 256 * KiB - 1],
    [256 * KiB, 256 * KiB],
    [256 * KiB + 1, 320 * KiB],
    [4 * MiB - 1, 4 * MiB],
    [4 * MiB, 4 * MiB],
    [4 * MiB + 1, 5 * MiB],
    [20 * MiB, 20 * MiB],
    [20 * MiB + 1, 24 * MiB],
    [900 * MiB, 1024 * MiB],
  ])('for a body of %i bytes is %i', (bytes, size) => {
    expect(sizeFor(bytes)).toBe(size);
  });

  test('holds the body, is at most a quarter larger, and is its own', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 900 * MiB }), (bytes) => {
        const size = sizeFor(bytes);
        expect(size).toBeGreaterThanOrEqual(bytes);
        expect(size).toBeLessThanOrEqual(1.25 * bytes);
        expect(sizeFor(size)).toBe(size);
      }),
    );
  });
});

describe('memory that is given back', () => {
  test('is taken for the next body of about its size', () => {
    const { memory } = memoryOf();
    const first = memory.take(4 * MiB + 5);
    memory.give(first);
    expect(memory.take(5 * MiB)).toBe(first);
  });

  test('is never in two hands', () => {
    const { memory } = memoryOf();
    const first = memory.take(MiB);
    const second = memory.take(MiB);
    expect(second).not.toBe(first);
    memory.give(first);
    memory.give(second);
    const taken = [1, 2, 3].map(() => memory.take(MiB));
    expect(new Set(taken).size).toBe(3);
    expect(taken).toEqual(expect.arrayContaining([first, second]));
  });

  test.each([
    ['smaller', 4 * MiB],
    ['larger', 6 * MiB],
  ])('is not taken for a body that is clearly %s', (_what, bytes) => {
    const { memory } = memoryOf();
    const first = memory.take(5 * MiB);
    memory.give(first);
    expect(memory.take(bytes)).not.toBe(first);
    expect(memory.take(5 * MiB)).toBe(first);
  });

  test('is kept up to the capacity, and what is beyond it is freed at once', () => {
    const { memory, freed } = memoryOf({ capacity_bytes: 2 * MiB });
    const [one, two, three] = [1, 2, 3].map(() => memory.take(MiB)) as [
      ArrayBuffer,
      ArrayBuffer,
      ArrayBuffer,
    ];
    memory.give(one);
    memory.give(two);
    expect(freed).toEqual([]);
    memory.give(three);
    expect(freed).toEqual([three]);
    // What is taken makes room.
    expect(memory.take(MiB)).toBe(two);
    memory.give(three);
    expect(freed).toEqual([three]);
  });

  test('is freed when nobody has wanted it for a while, and is not given out afterwards', async () => {
    const { memory, freed, freeing } = memoryOf({ idle_ms: 5 });
    const given = [memory.take(MiB), memory.take(2 * MiB)];
    for (const one of given) memory.give(one);
    await freeing(2);
    expect(freed).toEqual(given);
    expect(given).not.toContain(memory.take(MiB));
  });

  test('after a pause is kept and freed as before', async () => {
    const { memory, freed, freeing } = memoryOf({ idle_ms: 5 });
    const first = memory.take(MiB);
    memory.give(first);
    await freeing(1);
    const second = memory.take(MiB);
    memory.give(second);
    expect(memory.take(MiB)).toBe(second);
    memory.give(second);
    await freeing(2);
    expect(freed).toEqual([first, second]);
  });
});

test('a buffer is worth moving back from the size on from which its pages are its own', () => {
  expect([1, 256 * KiB - 1, 256 * KiB, MiB].map((bytes) => recyclable(new ArrayBuffer(bytes)))).toEqual([
    false,
    false,
    true,
    true,
  ]);
});
