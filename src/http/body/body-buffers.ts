import type { Addon } from '../../engine/addon.ts';

/** The memory of bodies: pieces of shared memory that are wiped and used again. */

/** What is done with a body's memory: calls of the addon. */
export type MemoryCalls = Pick<Addon, 'copyBytes' | 'wipe' | 'useHugePages' | 'discard'>;

/** Fewer bytes are copied in less time than a call of the addon takes. */
const nativeFrom_bytes = 512;

/** Memory of one body at a time. All of it is 0 when it is taken. */
export interface BodyBuffer {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Most of its bytes that were ever written: so much memory it takes, about. */
  resident: number;
  /** Up to this byte the system gives huge pages for it; 0: for none. */
  hugeUpTo: number;
  /** Since when it is kept. */
  since_ms: number;
}

/** Capacities are powers of two up to the larger one, and multiples of it beyond. */
const minCapacity_bytes = 64 * 1024;
const maxKeptBuffer_bytes = 32 * 1024 * 1024;

/** Bytes that are wiped in one turn of the event loop, which takes some milliseconds whatever the size of the body. */
const wipedAtOnce_bytes = 8 * 1024 * 1024;

/** Below this size memory comes from the heap and is written at once; above, its pages take memory when they are written. */
const ownPagesFrom_bytes = 1024 * 1024;

/** Memory that nobody used for so long is given back. */
const idle_ms = 10_000;

/** New memory costs page faults and garbage collection, so what a body leaves is wiped and kept, up to `keep_bytes`. */
export class BodyBuffers {
  readonly #memory: MemoryCalls;
  readonly #keep_bytes: number;
  /** Buffers by their capacity; the one that was used last is at the end. */
  readonly #kept = new Map<number, BodyBuffer[]>();
  /** Bytes of memory that no body uses. */
  kept_bytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(memory: MemoryCalls, keep_bytes: number) {
    this.#memory = memory;
    this.#keep_bytes = keep_bytes;
  }

  /**
   * At least `size` bytes, of which `wanted` will be written soon: no much larger part of it takes memory already. Throws a RangeError when
   * there is no memory.
   */
  acquire(size: number, wanted: number): BodyBuffer {
    const capacity =
      size > maxKeptBuffer_bytes
        ? Math.ceil(size / maxKeptBuffer_bytes) * maxKeptBuffer_bytes
        : Math.max(minCapacity_bytes, 2 ** Math.ceil(Math.log2(size)));
    const kept = this.#kept.get(capacity)?.pop();
    if (kept === undefined) return { bytes: allocate(capacity), resident: 0, hugeUpTo: 0, since_ms: 0 };
    this.kept_bytes -= kept.resident;
    if (kept.resident > 2 * wanted) {
      this.#memory.discard(kept.bytes.subarray(wanted), 0);
      kept.resident = wanted;
    }
    return kept;
  }

  copy({ bytes }: BodyBuffer, at: number, from: Uint8Array): void {
    if (from.length < nativeFrom_bytes) bytes.set(from, at);
    else this.#memory.copyBytes(bytes, at, from);
  }

  /**
   * Wipes it and keeps it for a later body; where there is no room, or it is large, its pages return to the system. `written`: bytes from
   * its start that are not 0. Nobody may read it any more. `onFree` is called when this is done, which is at once for a body of one turn.
   */
  release(buffer: BodyBuffer, written: number, onFree: () => void): void {
    const isLarge = buffer.bytes.length > maxKeptBuffer_bytes;
    const returns = isLarge || this.kept_bytes + buffer.resident > this.#keep_bytes;
    const { bytes } = buffer;
    const wipe = (from: number): void => {
      const to = Math.min(from + wipedAtOnce_bytes, written);
      const isLast = to === written;
      if (returns) this.#memory.discard(bytes.subarray(from, isLast ? bytes.length : to), to - from);
      else this.#memory.wipe(bytes.subarray(from, to), to - from);
      if (!isLast) {
        setImmediate(wipe, to);
        return;
      }
      if (returns) buffer.resident = 0;
      // The address space of large ones is kept: that of others is soon found again.
      if (!returns || isLarge) this.#keep(buffer);
      onFree();
    };
    wipe(0);
  }

  #keep(buffer: BodyBuffer): void {
    const { length } = buffer.bytes;
    const same = this.#kept.get(length);
    buffer.since_ms = performance.now();
    if (same === undefined) this.#kept.set(length, [buffer]);
    else same.push(buffer);
    this.kept_bytes += buffer.resident;
    this.#sweep ??= setInterval(() => this.#giveIdle(), idle_ms / 2).unref();
  }

  /** Asks for huge pages for these bytes of it, when much is to come. */
  enlargePages(buffer: BodyBuffer, from: number, to: number): void {
    buffer.hugeUpTo = to;
    this.#memory.useHugePages(buffer.bytes.subarray(from, to));
  }

  /** Returns kept memory to the system: at least so many bytes, where there are as many. */
  shrink(bytes: number): void {
    const least = Math.max(0, this.kept_bytes - bytes);
    for (const same of this.#kept.values()) {
      while (this.kept_bytes > least && same.length > 0) this.#drop(same);
    }
  }

  #giveIdle(): void {
    const before_ms = performance.now() - idle_ms;
    for (const same of this.#kept.values()) {
      while (same[0] !== undefined && same[0].since_ms < before_ms) this.#drop(same);
    }
    if ([...this.#kept.values()].some((same) => same.length > 0)) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** The one that was used longest ago. */
  #drop(same: BodyBuffer[]): void {
    const buffer = same.shift()!;
    this.kept_bytes -= buffer.resident;
    this.#memory.discard(buffer.bytes, 0);
  }
}

/** Growable, though it never grows: then it has pages of its own, and what is not written costs only address space. */
const Growable = SharedArrayBuffer as new (
  length: number,
  options: { maxByteLength: number },
) => SharedArrayBuffer;

function allocate(capacity: number): Uint8Array<SharedArrayBuffer> {
  const memory =
    capacity < ownPagesFrom_bytes
      ? new SharedArrayBuffer(capacity)
      : new Growable(capacity, { maxByteLength: capacity });
  return new Uint8Array(memory, 0, capacity);
}
