import type { Addon } from '../../engine/addon.ts';

/** Shared memory for request bodies, which is wiped and reused. */

/** Functions of the addon for a body's memory. */
export type MemoryCalls = Pick<Addon, 'copyBytes' | 'wipe' | 'useHugePages' | 'discard'>;

/** Minimum number of bytes for which a native copy is faster than a copy in JavaScript. */
const minNativeCopy_bytes = 512;

/** Memory for one body at a time. It contains only zeros when it is acquired. */
export interface BodyBuffer {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Maximum number of bytes that have physical memory. */
  resident: number;
  /** Offset up to which huge pages were requested; 0 for none. */
  hugeUpTo: number;
  /** performance.now() of the last release. */
  since_ms: number;
}

/** Capacities are powers of two from the first to the second value, and multiples of the second beyond. */
const minCapacity_bytes = 64 * 1024;
const maxKeptBuffer_bytes = 32 * 1024 * 1024;

/** Number of bytes that are wiped in one turn of the event loop, within a few milliseconds. */
const wipedAtOnce_bytes = 8 * 1024 * 1024;

/** Minimum capacity with separate pages, which need physical memory only when they are written. */
const minOwnPages_bytes = 1024 * 1024;

/** Time after which unused memory is returned to the system. */
const idle_ms = 10_000;

/** Keeps up to `keep_bytes` of wiped memory for reuse, because new memory costs page faults and garbage collection. */
export class BodyBuffers {
  readonly #memory: MemoryCalls;
  readonly #keep_bytes: number;
  /** Unused buffers by capacity, in the order of their release. */
  readonly #kept = new Map<number, BodyBuffer[]>();
  /** Resident bytes of all unused buffers. */
  kept_bytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(memory: MemoryCalls, keep_bytes: number) {
    this.#memory = memory;
    this.#keep_bytes = keep_bytes;
  }

  /**
   * Returns a buffer of at least `size` bytes. `wanted`: number of bytes that will be written soon; at most twice
   * as many are resident. Throws a RangeError if memory is exhausted.
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
    if (from.length < minNativeCopy_bytes) bytes.set(from, at);
    else this.#memory.copyBytes(bytes, at, from);
  }

  /**
   * Wipes a buffer and keeps it for a later body. If there is no room, or if the buffer is large, returns its pages
   * to the system. The buffer must no longer be read. `written`: number of bytes at the start that may be nonzero.
   * `onFree` is called at the end: before the return for a small body, later for a large one.
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
      // Large buffers keep their address space, because finding as much again may fail.
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
    this.#sweep ??= setInterval(() => this.#dropIdle(), idle_ms / 2).unref();
  }

  /** Requests huge pages for these bytes, for a large body. */
  enlargePages(buffer: BodyBuffer, from: number, to: number): void {
    buffer.hugeUpTo = to;
    this.#memory.useHugePages(buffer.bytes.subarray(from, to));
  }

  /** Returns unused memory to the system: at least `bytes`, or all of it. */
  shrink(bytes: number): void {
    const target_bytes = Math.max(0, this.kept_bytes - bytes);
    for (const same of this.#kept.values()) {
      while (this.kept_bytes > target_bytes && same.length > 0) this.#drop(same);
    }
  }

  #dropIdle(): void {
    const before_ms = performance.now() - idle_ms;
    for (const same of this.#kept.values()) {
      while (same[0] !== undefined && same[0].since_ms < before_ms) this.#drop(same);
    }
    if ([...this.#kept.values()].some((same) => same.length > 0)) return;
    clearInterval(this.#sweep);
    this.#sweep = undefined;
  }

  /** Drops the first of these buffers, which was released first. */
  #drop(same: BodyBuffer[]): void {
    const buffer = same.shift()!;
    this.kept_bytes -= buffer.resident;
    this.#memory.discard(buffer.bytes, 0);
  }
}

/** A growable buffer has separate pages, so that unwritten parts need only address space. It never grows. */
const Growable = SharedArrayBuffer as new (
  length: number,
  options: { maxByteLength: number },
) => SharedArrayBuffer;

function allocate(capacity: number): Uint8Array<SharedArrayBuffer> {
  const memory =
    capacity < minOwnPages_bytes
      ? new SharedArrayBuffer(capacity)
      : new Growable(capacity, { maxByteLength: capacity });
  return new Uint8Array(memory, 0, capacity);
}
