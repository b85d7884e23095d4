/** Collects a request body into one buffer, alone in its memory, because that is moved to a worker. */
export interface Body {
  /** Copies a chunk, which µWS takes back when its callback returns. False when the body would pass its limit. */
  add(chunk: ArrayBuffer): boolean;
  /** The whole body. Call once, after the last chunk. */
  take(): Buffer<ArrayBuffer>;
}

/** Gives a buffer of at least so many bytes, for the caller alone. */
export type Allocate = (bytes: number) => ArrayBuffer;

/** `length` is the Content-Length, undefined for a chunked body; it has been compared with `limit` already. */
export function bodyOf(length: number | undefined, limit: number, allocate: Allocate): Body {
  return length === undefined ? new GrowingBody(limit, allocate) : new ExactBody(length, allocate);
}

class ExactBody implements Body {
  readonly #bytes: Buffer<ArrayBuffer>;
  #filled = 0;

  constructor(length: number, allocate: Allocate) {
    this.#bytes = Buffer.from(allocate(length), 0, length);
  }

  add(chunk: ArrayBuffer): boolean {
    // µWS delivers exactly Content-Length bytes; should it ever not, this must not throw into it.
    if (this.#filled + chunk.byteLength > this.#bytes.length) return false;
    this.#bytes.set(new Uint8Array(chunk), this.#filled);
    this.#filled += chunk.byteLength;
    return true;
  }

  take(): Buffer<ArrayBuffer> {
    return this.#bytes;
  }
}

const firstSlab = 64 * 1024;

/**
 * Of unknown length: fills slabs that double in size, joined once at the end. Each byte is copied twice whatever the
 * chunks look like, and a sender of one-byte chunks cannot make millions of small buffers.
 */
class GrowingBody implements Body {
  readonly #limit: number;
  readonly #allocate: Allocate;
  readonly #full: Buffer[] = [];
  #slab: Buffer = Buffer.allocUnsafeSlow(0);
  #filled = 0;
  #total = 0;

  constructor(limit: number, allocate: Allocate) {
    this.#limit = limit;
    this.#allocate = allocate;
  }

  add(chunk: ArrayBuffer): boolean {
    if (this.#total + chunk.byteLength > this.#limit) return false;
    let rest = new Uint8Array(chunk);
    while (rest.length > 0) {
      if (this.#filled === this.#slab.length) this.#nextSlab();
      const part = rest.subarray(0, this.#slab.length - this.#filled);
      this.#slab.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
    }
    this.#total += chunk.byteLength;
    return true;
  }

  take(): Buffer<ArrayBuffer> {
    const whole = Buffer.from(this.#allocate(this.#total), 0, this.#total);
    let at = 0;
    for (const slab of this.#full) {
      whole.set(slab, at);
      at += slab.length;
    }
    whole.set(this.#slab.subarray(0, this.#filled), at);
    return whole;
  }

  #nextSlab(): void {
    if (this.#filled > 0) this.#full.push(this.#slab);
    const size = Math.max(firstSlab, 2 * this.#slab.length);
    this.#slab = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
  }
}
