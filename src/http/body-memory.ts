/**
 * Memory of request bodies, shared with the workers and used again. Fresh pages cost more (faults, zeroing by the kernel) than
 * the bytes that come into them. And shared memory is freed only when the garbage collectors of all threads that saw it have
 * been by, which in a worker may take hours: so there is never more of it than bodies at one time, and what is not needed any
 * more gives its pages back at once.
 */
interface BodyMemoryOptions {
  /** Most bytes that wait for the next body, or are used again for one. */
  capacity_bytes: number;
  /** What has waited for so long, twice that at most, gives its pages back: an idle server keeps nothing. */
  idle_ms: number;
  /** Overwrites memory with zeros and gives its pages back to the system. */
  discard(bytes: Uint8Array): void;
}

const least_bytes = 64 * 1024;

/**
 * Sizes of buffers: so many to each power of two, hence no more than a quarter beyond the body. Bodies of about one
 * size can then follow each other in one buffer. The rest is address space alone.
 */
const sizesInOctave = 4;

/** The size of the buffer for a body of so many bytes. */
export function sizeFor(bytes: number): number {
  if (bytes <= least_bytes) return least_bytes;
  const step = 2 ** Math.floor(Math.log2(bytes)) / sizesInOctave;
  return Math.ceil(bytes / step) * step;
}

/**
 * Pages of its own, which take no memory before they are written: what grows is mapped by V8 itself, all else comes from malloc,
 * which clears what it had before.
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
  /** It was here already when the timer last ran. */
  idle: boolean;
}

export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  /** In the order in which they were given; the last is taken first, so that what is not needed grows old. */
  #kept: Kept[] = [];
  #kept_bytes = 0;
  /** Taken from what was kept: it may have more pages than its body has bytes. */
  readonly #lent = new Set<SharedArrayBuffer>();
  #lent_bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
  }

  /**
   * `sizeFor(bytes)` bytes, all of them 0. Fresh memory is claimed at once but touched only as bytes arrive, so a lying length
   * costs address space alone. Throws a RangeError when there is none.
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

  /** Wipes the first `used` bytes, which are all that were written. Nobody reads or writes there any more. */
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
