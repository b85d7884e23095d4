import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Uploads } from '../../src/http/body/upload.ts';
import { type UnreadResponse, UnreadResponses } from '../../src/http/unread.ts';

const MiB = 1024 * 1024;

/** Makes uploads; `onCall` gets the number of bytes that each call writes. */
function uploadsOf({ limit_bytes = 100 * MiB, onCall = (_call: string, _bytes: number): void => {} } = {}) {
  const memory = {
    copyBytes: (to: Uint8Array, at: number, from: Uint8Array) => {
      to.set(from, at);
      onCall('copy', from.length);
    },
    wipe: (bytes: Uint8Array, written: number) => {
      bytes.fill(0, 0, written);
      onCall('wipe', written);
    },
    useHugePages: () => {},
    discard: (bytes: Uint8Array, written: number) => {
      bytes.fill(0);
      onCall('wipe', written);
    },
  };
  return new Uploads({ upload_memory_bytes: limit_bytes, max_body_bytes: 100 * MiB }, memory);
}

const chunkOf = (bytes: Uint8Array | string) => Uint8Array.from(Buffer.from(bytes));

describe('Upload', () => {
  test('copies chunks, whose memory µWS reuses, into one piece of shared memory', () => {
    const upload = uploadsOf().open('a', undefined, 100);
    const chunk = chunkOf('abc');
    upload.add(chunk);
    chunk.fill(0);
    upload.add(chunkOf('def'));
    expect(upload.bytes.toString()).toBe('abcdef');
    expect(upload.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  test.each([
    ['of a known length', 4],
    ['of unknown length', undefined],
  ])('accepts the last byte of a body %s and rejects one more', (_what, length) => {
    const upload = uploadsOf().open('a', length, 4);
    upload.add(chunkOf('abcd'));
    expect(upload.fault).toBeUndefined();
    upload.add(chunkOf('e'));
    expect(upload.fault).toMatchObject({ code: 'body_too_large', extras: { limit_bytes: 4 } });
  });

  test('returns the bytes of any chunks in order', () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 200_000 }), { maxLength: 12, size: 'max' });
    fc.assert(
      fc.property(chunks, fc.boolean(), (parts, known) => {
        const whole = Buffer.concat(parts);
        const uploads = uploadsOf();
        const upload = uploads.open('a', known ? whole.length : undefined, whole.length);
        for (const part of parts) upload.add(chunkOf(part));
        expect(upload.fault).toBeUndefined();
        expect(upload.bytes.equals(whole)).toBe(true);
        expect(uploads.used_bytes).toBe(whole.length);
        upload.release();
        expect(uploads.used_bytes).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['of a known length', 80 * MiB],
    ['of unknown length', undefined],
  ])('moves and wipes a large body %s in small pieces, and copies few bytes twice', async (_what, length) => {
    const calls: Record<string, number[]> = { copy: [], wipe: [] };
    const uploads = uploadsOf({ onCall: (call, bytes) => calls[call]!.push(bytes) });
    const upload = uploads.open('a', length, 90 * MiB);
    const piece = new Uint8Array(MiB / 2).fill(1);
    for (let sent = 0; sent < 80 * MiB; sent += piece.length) upload.add(piece);
    const { bytes } = upload;
    expect(bytes.length).toBe(80 * MiB);
    upload.release();
    // The memory is counted until all of it is wiped.
    expect(uploads.used_bytes).toBe(80 * MiB);
    while (uploads.used_bytes > 0) await new Promise(setImmediate);
    expect(bytes.equals(Buffer.alloc(80 * MiB))).toBe(true);
    expect(uploads.buffers.kept_bytes).toBeLessThan(16 * MiB);
    const sum = (sizes: number[]) => sizes.reduce((all, size) => all + size, 0);
    expect(sum(calls.copy!)).toBeLessThanOrEqual(90 * MiB);
    expect(sum(calls.wipe!)).toBeLessThanOrEqual(90 * MiB);
    expect(Math.max(...calls.copy!, ...calls.wipe!)).toBeLessThanOrEqual(8 * MiB);
  });

  test('does not count memory that an earlier, larger body released', () => {
    const uploads = uploadsOf();
    const receive = (size: number, length?: number) => {
      const upload = uploads.open('a', length, 20 * MiB);
      for (let sent = 0; sent < size; sent += MiB / 2) upload.add(new Uint8Array(MiB / 2));
      return upload;
    };
    receive(8 * MiB, 20 * MiB).release();
    receive(5 * MiB).release();
    expect(uploads.used_bytes).toBe(0);
    const second = receive(4.5 * MiB);
    expect(uploads.used_bytes).toBeLessThanOrEqual(10 * MiB);
    second.release();
  });

  test('wipes released memory, and then accepts no bytes', () => {
    const upload = uploadsOf().open('a', 10, 10);
    upload.add(chunkOf('secret'));
    const { bytes } = upload;
    upload.release();
    upload.release();
    upload.add(chunkOf('late'));
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    expect(upload.bytes.length).toBe(0);
  });
});

describe('Uploads', () => {
  test('counts the arrived bytes of a body, not its declared length', () => {
    const uploads = uploadsOf({ limit_bytes: 20 });
    const declared = Array.from({ length: 9 }, () => uploads.open('a', 20, 20));
    expect(uploads.used_bytes).toBe(0);
    declared[0]!.add(chunkOf('0123456789'));
    expect(uploads.used_bytes).toBe(10);
    expect(() => uploads.open('b', 11, 20)).toThrow(expect.objectContaining({ code: 'overloaded' }));
    uploads.open('b', 10, 20).add(chunkOf('0123456789'));
    expect(uploads.used_bytes).toBe(20);
    declared[1]!.add(chunkOf('x'));
    expect(declared[1]!.fault).toMatchObject({ code: 'overloaded' });
    declared[0]!.release();
    expect(() => uploads.open('b', 10, 20)).not.toThrow();
  });

  test('counts at most one additional huge page for a large body, within its length and the limit', () => {
    const uploads = uploadsOf({ limit_bytes: 10 * MiB });
    const [large, second] = [uploads.open('a', 8 * MiB, 8 * MiB), uploads.open('b', 8 * MiB, 8 * MiB)];
    large.add(new Uint8Array(MiB / 8));
    expect(uploads.used_bytes).toBe(MiB / 8);
    large.add(new Uint8Array(MiB));
    expect(uploads.used_bytes).toBe(3.125 * MiB);
    large.add(new Uint8Array(4 * MiB));
    expect(uploads.used_bytes).toBe(7.125 * MiB);
    second.add(new Uint8Array(MiB));
    expect(uploads.used_bytes).toBe(8.125 * MiB);
    large.add(new Uint8Array(2.875 * MiB));
    expect(large.fault).toBeUndefined();
    large.release();
    expect(uploads.used_bytes).toBe(MiB);
    second.release();
    expect(uploads.used_bytes).toBe(0);
  });

  test('keeps wiped memory for the next body, and releases it if another needs the room or it is idle', () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const uploads = uploadsOf({ limit_bytes: 8 * MiB });
    const receive = (text: string, fill: number) => {
      const upload = uploads.open('a', MiB, 8 * MiB);
      upload.add(chunkOf(text));
      upload.add(new Uint8Array(MiB - text.length).fill(fill));
      return upload;
    };
    const first = receive('secret', 1);
    const { buffer } = first.bytes;
    first.release();
    expect([uploads.used_bytes, uploads.buffers.kept_bytes]).toEqual([0, MiB]);
    expect(new Uint8Array(buffer).every((byte) => byte === 0)).toBe(true);
    const second = receive('', 2);
    expect(second.bytes.buffer).toBe(buffer);
    expect([uploads.used_bytes, uploads.buffers.kept_bytes]).toEqual([MiB, 0]);
    second.release();
    const large = uploads.open('b', 7.5 * MiB, 8 * MiB);
    large.add(new Uint8Array(7 * MiB));
    expect(uploads.buffers.kept_bytes).toBe(MiB);
    large.add(new Uint8Array(0.5 * MiB));
    expect(large.fault).toBeUndefined();
    expect(uploads.buffers.kept_bytes).toBe(0);
    large.release();
    receive('', 3).release();
    vi.advanceTimersByTime(20_000);
    expect(uploads.buffers.kept_bytes).toBe(0);
  });
});

class UnreadBody implements UnreadResponse {
  readonly held_bytes: number;
  taken = 0;
  given_up = false;

  constructor(held_bytes = 0) {
    this.held_bytes = held_bytes;
  }

  push(): number {
    return this.taken;
  }

  giveUp(): void {
    this.given_up = true;
  }
}

test('abandons a response after about 30 s without progress', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const unread = new UnreadResponses();
  const [read, neglected] = [new UnreadBody(), new UnreadBody()];
  for (const response of [read, neglected]) unread.add(response, 0);
  vi.advanceTimersByTime(28_000);
  read.taken = 1;
  expect(neglected.given_up).toBe(false);
  vi.advanceTimersByTime(4000);
  expect([read.given_up, neglected.given_up]).toEqual([false, true]);
  vi.advanceTimersByTime(30_000);
  expect(read.given_up).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('abandons unread responses to make room, those without progress since the last check first', () => {
  const unread = new UnreadResponses(25);
  const [read, neglected, another] = [new UnreadBody(10), new UnreadBody(10), new UnreadBody(10)];
  for (const response of [read, neglected]) unread.add(response, 0);
  read.taken = 1;
  unread.add(another, 0);
  expect([read, neglected, another].map(({ given_up }) => given_up)).toEqual([false, true, false]);
  // If all responses make progress, one of them is abandoned.
  read.taken = 2;
  another.taken = 1;
  const last = new UnreadBody(10);
  unread.add(last, 0);
  expect([read, another, last].filter(({ given_up }) => given_up)).toHaveLength(1);
  expect(unread.held_bytes).toBe(20);
  for (const response of [read, another, last]) unread.delete(response);
});
