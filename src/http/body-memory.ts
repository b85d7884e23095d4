/**
 * A pool of shared buffers for request bodies. Fresh pages cost more (page faults, zeroing) than filling them. Shared memory is
 * freed only after garbage collection in every thread that saw it, which in a worker may take hours, so unused buffers return
 * their pages to the system.
 */
interface BodyMemoryOptions {
  /** Most bytes of pooled buffers, in use or waiting. */
  capacity_bytes: number;
  /** A buffer that was not used for this long (at most twice as long) returns its pages: an idle server keeps nothing. */
  idle_ms: number;
  /** Overwrites memory with zeros and returns its pages to the system. */
  discard(bytes: Uint8Array): void;
}

const least_bytes = 64 * 1024;

/**
 * Buffer sizes for each power of two, so that a buffer is at most a quarter larger than its body. Bodies of similar size can
 * then share a buffer. The unused rest takes address space only.
 */
const sizesInOctave = 4;

/** The size in bytes of the buffer for a body of `bytes`. */
export function sizeFor(bytes: number): number {
  if (bytes <= least_bytes) return least_bytes;
  const step = 2 ** Math.floor(Math.log2(bytes)) / sizesInOctave;
  return Math.ceil(bytes / step) * step;
}

/**
 * Fresh pages that take no memory until they are written: V8 maps growable buffers itself, while others come from malloc and
 * are cleared.
 */
function fresh(size: number): SharedArrayBuffer {
  const Growable = SharedArrayBuffer as new (
    length: number,
    options: { maxByteLength: number },
  ) => SharedArrayBuffer;
  return new Growable(size, { maxByteLength: size });
}

interface Kept {
  memory: SharedArrayBuffer;
  /** It was already unused when the timer last ran. */
  idle: boolean;
}

export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  /** In the order of their return. The last is taken first, so that surplus buffers become idle. */
  #kept: Kept[] = [];
  #kept_bytes = 0;
  /** Buffers in use that were used before: they may have more pages than their body needs. */
  readonly #lent = new Set<SharedArrayBuffer>();
  #lent_bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
  }

  /**
   * A buffer of `sizeFor(bytes)` bytes, all 0. Its pages are touched only as bytes arrive, so a false length costs address
   * space only. Throws a RangeError when there is no memory.
   */
  take(bytes: number): SharedArrayBuffer {
    const size = sizeFor(bytes);
    const at = this.#kept.findLastIndex(({ memory }) => memory.byteLength === size);
    if (at === -1) return fresh(size);
    const [{ memory }] = this.#kept.splice(at, 1) as [Kept];
    this.#kept_bytes -= size;
    this.#lent.add(memory);
    this.#lent_bytes += size;
    return memory;
  }

  /** Returns a buffer that nothing reads or writes any more, and wipes its first `used` bytes: all that were written. */
  give(memory: SharedArrayBuffer, used: number): void {
    const { capacity_bytes, idle_ms, discard } = this.#options;
    const size = memory.byteLength;
    const lent = this.#lent.delete(memory);
    if (lent) this.#lent_bytes -= size;
    if (this.#kept_bytes + this.#lent_bytes + size > capacity_bytes) {
      discard(new Uint8Array(memory, 0, lent ? size : used));
      return;
    }
    new Uint8Array(memory, 0, used).fill(0);
    this.#kept.push({ memory, idle: false });
    this.#kept_bytes += size;
    this.#timer ??= setInterval(() => this.#freeIdle(), idle_ms).unref();
  }

  #freeIdle(): void {
    const idle = this.#kept.filter((one) => one.idle);
    this.#kept = this.#kept.filter((one) => !one.idle);
    for (const one of this.#kept) one.idle = true;
    for (const { memory } of idle) {
      this.#kept_bytes -= memory.byteLength;
      this.#options.discard(new Uint8Array(memory, 0, memory.byteLength));
    }
    if (this.#kept.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
