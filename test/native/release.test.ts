import { expect, test } from 'vitest';
import { loadAddon } from '../../src/engine/addon.ts';

/** A body's memory goes as soon as its pictures have been read. */

const addon = loadAddon();

test('a released body is gone from every view of it', () => {
  const body = new Uint8Array(Buffer.allocUnsafeSlow(1000).buffer);
  const view = body.subarray(10, 20);
  addon.release(body);
  expect([body.length, view.length, body.buffer.byteLength]).toEqual([0, 0, 0]);
});

test('to release a body twice, or an empty one, does no harm', () => {
  const body = new Uint8Array(10);
  addon.release(body);
  expect(() => addon.release(body)).not.toThrow();
  expect(() => addon.release(new Uint8Array(0))).not.toThrow();
});

test.each([undefined, null, 'text', {}, new ArrayBuffer(8)])('%s is a TypeError', (wrong) => {
  expect(() => addon.release(wrong as unknown as Uint8Array)).toThrow(TypeError);
});

test('what is shared between threads cannot be released', () => {
  const shared = new Uint8Array(new SharedArrayBuffer(8)) as unknown as Uint8Array;
  expect(() => addon.release(shared)).toThrow();
  expect(shared.length).toBe(8);
});
