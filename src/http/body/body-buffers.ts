import type { Addon } from '../../engine/addon.ts';

/** Memory of bodies: shared memory that is wiped and reused. */

/** Calls of the addon for a body's memory. */
export type MemoryCalls = Pick<Addon, 'copyBytes' | 'wipe' | 'useHugePages' | 'discard'>;

/** Fewer bytes are copied faster than a call of the addon takes. */
const nativeFrom_bytes = 512;

/** Memory of one body at a time. It contains only zeros when it is taken. */
export interface BodyBuffer {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  /** Maximum number of its bytes that were ever written, which is about the memory that it takes. */
  resident: number;
  /** Offset up to which huge pages were requested; 0 for none. */
  hugeUpTo: number;
  /** Time since when it has been unused. */
  since_ms: number;
}

/** Capacities are powers of two up to the larger limit, and multiples of it beyond. */
const minCapacity_bytes = 64 * 1024;
const maxKeptBuffer_bytes = 32 * 1024 * 1024;

/**
 * Bytes that are wiped in one turn of the event loop, so that a body of any size blocks it for some
 * milliseconds only.
 */
const wipedAtOnce_bytes = 8 * 1024 * 1024;

/**
 * Below this size memory comes from the heap and is allocated at once; above, pages take memory only when
 * they are written.
 */
const ownPagesFrom_bytes = 1024 * 1024;

/** Memory that has been unused for this long is released. */
const idle_ms = 10_000;

/**
 * New memory costs page faults and garbage collection, so used memory is wiped and kept, up to `keep_bytes`.
 */
export class BodyBuffers {
  readonly #memory: MemoryCalls;
  readonly #keep_bytes: number;
  /** Buffers by their capacity; the last one was used most recently. */
  readonly #kept = new Map<number, BodyBuffer[]>();
  /** Bytes of memory that no body uses. */
  kept_bytes = 0;
  #sweep: NodeJS.Timeout | undefined;

  constructor(memory: MemoryCalls, keep_bytes: number) {
    this.#memory = memory;
    this.#keep_bytes = keep_bytes;
  }

  /**
   * Returns at least `size` bytes, of which `wanted` will be written soon. Not much more of it takes memory
   * yet. Throws a RangeError if memory is exhausted.
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
   * Wipes a buffer and keeps it for a later body. If there is no room, or it is large, its pages return to
   * the system. `written`: bytes from its start that are not 0. It must not be read any more. `onFree` is
   * called when this is done, which is at once for a body of one turn.
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
      // The address space of large buffers is kept; that of others is soon found again.
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

  /** Requests huge pages for these bytes if a large body is expected. */
  enlargePages(buffer: BodyBuffer, from: number, to: number): void {
    buffer.hugeUpTo = to;
    this.#memory.useHugePages(buffer.bytes.subarray(from, to));
  }

  /** Returns unused memory to the system: at least this many bytes, or all there are. */
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

  /** The buffer that has been unused longest. */
  #drop(same: BodyBuffer[]): void {
    const buffer = same.shift()!;
    this.kept_bytes -= buffer.resident;
    this.#memory.discard(buffer.bytes, 0);
  }
}

/**
 * Growable, though it never grows: it then has separate pages, and unwritten parts cost only address space.
 */
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
