/**
 * Memory of request bodies, used again. A body of megabytes in fresh pages costs the main thread more for the pages
 * (faults, zeroing by the kernel, giving them back) than for the bytes.
 *
 * A buffer is in one place at a time: taken for a body it is moved to a worker, which wipes it and moves it back, and
 * only then is it given here. What gets lost on the way, with a worker or with a client that leaves, is the garbage
 * collector's; the next body is then received into fresh memory.
 */
export interface BodyMemoryOptions {
  /** Most bytes that wait for the next body. */
  capacity_bytes: number;
  /** What has waited for so long, twice that at most, goes back to the system: an idle server keeps nothing. */
  idle_ms: number;
  /** Frees a buffer at once: an idle thread has no use for its garbage collector. */
  free(memory: ArrayBuffer): void;
}

/** Below, malloc has its own ways to use memory again, and they are cheaper than moving it back from a worker. */
const leastKept_bytes = 256 * 1024;

/**
 * Sizes of buffers: so many to each power of two, hence no more than a quarter beyond the body. Bodies of about one
 * size can then follow each other in one buffer. In fresh memory the rest is address space alone.
 */
const sizesInOctave = 4;

/** The size of the buffer for a body of so many bytes. */
export function sizeFor(bytes: number): number {
  if (bytes < leastKept_bytes) return bytes;
  const step = 2 ** Math.floor(Math.log2(bytes)) / sizesInOctave;
  return Math.ceil(bytes / step) * step;
}

/** Whether a buffer is worth moving back. */
export function recyclable(memory: ArrayBuffer): boolean {
  return memory.byteLength >= leastKept_bytes;
}

interface Kept {
  memory: ArrayBuffer;
  /** It was here already when the timer last ran. */
  idle: boolean;
}

export class BodyMemory {
  readonly #options: BodyMemoryOptions;
  /** In the order in which they were given; the last is taken first, so that what is not needed grows old. */
  #kept: Kept[] = [];
  #kept_bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BodyMemoryOptions) {
    this.#options = options;
  }

  /**
   * A buffer of `sizeFor(bytes)`. Fresh memory is claimed at once but touched only as bytes arrive, so a lying length
   * costs address space alone.
   */
  take(bytes: number): ArrayBuffer {
    const size = sizeFor(bytes);
    const at = this.#kept.findLastIndex(({ memory }) => memory.byteLength === size);
    // Unpooled: Node copies a pooled Buffer silently where it should move it.
    if (at === -1) return Buffer.allocUnsafeSlow(size).buffer;
    const [{ memory }] = this.#kept.splice(at, 1) as [Kept];
    this.#kept_bytes -= size;
    return memory;
  }

  /** Keeps what a worker has wiped and moved back. */
  give(memory: ArrayBuffer): void {
    const { capacity_bytes, idle_ms, free } = this.#options;
    if (this.#kept_bytes + memory.byteLength > capacity_bytes) {
      free(memory);
      return;
    }
    this.#kept.push({ memory, idle: false });
    this.#kept_bytes += memory.byteLength;
    this.#timer ??= setInterval(() => this.#freeIdle(), idle_ms).unref();
  }

  #freeIdle(): void {
    const idle = this.#kept.filter((one) => one.idle);
    this.#kept = this.#kept.filter((one) => !one.idle);
    for (const one of this.#kept) one.idle = true;
    for (const { memory } of idle) {
      this.#kept_bytes -= memory.byteLength;
      this.#options.free(memory);
    }
    if (this.#kept.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
