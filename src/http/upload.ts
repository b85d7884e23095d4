import { Problem } from '../errors.ts';

/** How a request body is taken in: its bytes, the memory of all bodies together, and the clocks of one upload. */

/** Gives a buffer of at least so many bytes, for the caller alone. */
export type Allocate = (bytes: number) => ArrayBuffer;

const firstSlab_bytes = 64 * 1024;

/**
 * Collects a body into one buffer, alone in its memory, because that is moved to a worker.
 *
 * A body of unknown length fills slabs that double in size and are joined once, at the end. Each byte is then copied
 * twice whatever the chunks look like, and a sender of one-byte chunks cannot make millions of small buffers.
 */
export class Body {
  readonly #length: number | undefined;
  readonly #limit: number;
  readonly #allocate: Allocate;
  readonly #full: Buffer[] = [];
  #slab: Buffer<ArrayBuffer>;
  #filled = 0;
  #total = 0;
  #fault: Error | undefined;

  /** `length` is the Content-Length, undefined for a chunked body; it has been compared with `limit` already. */
  constructor(length: number | undefined, limit: number, allocate: Allocate) {
    this.#length = length;
    this.#limit = limit;
    this.#allocate = allocate;
    this.#slab =
      length === undefined
        ? Buffer.allocUnsafeSlow(firstSlab_bytes)
        : Buffer.from(allocate(length), 0, length);
  }

  /** Problem body_too_large, or that there was no memory. The bytes are of no use then. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** Copies a chunk, which µWS takes back when its callback returns. Never throws, because µWS calls it. */
  add(chunk: ArrayBuffer): void {
    if (this.#fault !== undefined) return;
    if (this.#total + chunk.byteLength > (this.#length ?? this.#limit)) {
      this.#fault = new Problem('body_too_large', { limit_bytes: this.#limit });
      return;
    }
    try {
      this.#append(new Uint8Array(chunk));
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /** The whole body. Call once, after the last chunk. Throws when there is no memory to join it in. */
  take(): Buffer<ArrayBuffer> {
    if (this.#length !== undefined) return this.#slab;
    const whole = Buffer.from(this.#allocate(this.#total), 0, this.#total);
    let at = 0;
    for (const slab of [...this.#full, this.#slab.subarray(0, this.#filled)]) {
      whole.set(slab, at);
      at += slab.length;
    }
    return whole;
  }

  #append(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#filled === this.#slab.length) {
        this.#full.push(this.#slab);
        this.#slab = Buffer.allocUnsafeSlow(2 * this.#slab.length);
        this.#filled = 0;
      }
      const part = rest.subarray(0, this.#slab.length - this.#filled);
      this.#slab.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
    this.#total += bytes.length;
  }
}

/**
 * How much memory the bodies of unanswered requests may take together. Uploads hold no place in the queue (a slow sender
 * would keep the workers idle), so this is what bounds them.
 */
export class UploadBudget {
  readonly #limit_bytes: number;
  #used_bytes = 0;

  constructor(limit_bytes: number) {
    this.#limit_bytes = limit_bytes;
  }

  get used_bytes(): number {
    return this.#used_bytes;
  }

  /** Takes `bytes` until the returned function is called; undefined when there is not that much left. */
  reserve(bytes: number): (() => void) | undefined {
    if (this.#used_bytes + bytes > this.#limit_bytes) return undefined;
    this.#used_bytes += bytes;
    let held = bytes;
    return () => {
      this.#used_bytes -= held;
      held = 0;
    };
  }
}

export interface UploadClocksOptions {
  /** How long the upload may take in all. */
  timeout_ms: number;
  /** How long it may pause. */
  idle_ms: number;
  onTimeout(): void;
  /** Sets µWS's own clock back. */
  rearm(): void;
}

/** Well under µWS's 10 s, whose clock ticks in steps of 4. */
const rearmEvery_ms = 4000;

/**
 * The clocks of one upload. µWS has a clock of its own (10 s, reset only by 160 KiB), which would close a slow connection
 * without an answer; it is set back meanwhile.
 */
export class UploadClocks {
  readonly #whole: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  readonly #rearm: NodeJS.Timeout;

  constructor(options: UploadClocksOptions) {
    const expire = () => {
      this.stop();
      options.onTimeout();
    };
    this.#whole = setTimeout(expire, options.timeout_ms);
    this.#idle = setTimeout(expire, options.idle_ms);
    this.#rearm = setInterval(options.rearm, rearmEvery_ms);
  }

  /** Bytes have come. */
  touch(): void {
    this.#idle.refresh();
  }

  stop(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#idle);
    clearInterval(this.#rearm);
  }
}
