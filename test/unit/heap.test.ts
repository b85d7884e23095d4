import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Heap } from '../../src/engine/heap.ts';

test('returns the two lowest items of a heap after any items are added, changed and removed', () => {
  const step = fc.record({ id: fc.nat(12), value: fc.nat(99), isIn: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const values = new Map<number, number>();
      const items = new Map<number, { value: number }>();
      const heap = new Heap<{ value: number }>((a, b) => a.value < b.value);
      for (const { id, value, isIn } of steps) {
        const item = items.get(id) ?? { value };
        items.set(id, item);
        item.value = value;
        heap.set(item, isIn);
        if (isIn) values.set(id, value);
        else values.delete(id);
        const sorted = [...values.values()].sort((a, b) => a - b);
        expect([heap.first?.value, heap.second?.value]).toEqual([sorted[0], sorted[1]]);
      }
    }),
  );
});
