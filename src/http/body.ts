/**
 * Collects a request body into one exact buffer of its own. Exact and unpooled, because the buffer is moved to a worker:
 * Node copies a pooled Buffer silently where it should move it.
 */
export interface Body {
  /** Copies a chunk, which µWS takes back when its callback returns. False when the body would pass its limit. */
  add(chunk: ArrayBuffer): boolean;
  /** The whole body. Call once, after the last chunk. */
  take(): Buffer<ArrayBuffer>;
}

/** `length` is the Content-Length, undefined for a chunked body; it has been compared with `limit` already. */
export function bodyOf(length: number | undefined, limit: number): Body {
  return length === undefined ? new GrowingBody(limit) : new ExactBody(length);
}

/** Memory is claimed at once but touched only as bytes arrive, so a lying length costs address space alone. */
class ExactBody implements Body {
  readonly #bytes: Buffer<ArrayBuffer>;
  #filled = 0;

  constructor(length: number) {
    this.#bytes = Buffer.allocUnsafeSlow(length);
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
  readonly #full: Buffer[] = [];
  #slab: Buffer = Buffer.allocUnsafeSlow(0);
  #filled = 0;
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
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
    const exact = Buffer.allocUnsafeSlow(this.#total);
    let at = 0;
    for (const slab of this.#full) {
      exact.set(slab, at);
      at += slab.length;
    }
    exact.set(this.#slab.subarray(0, this.#filled), at);
    return exact;
  }

  #nextSlab(): void {
    if (this.#filled > 0) this.#full.push(this.#slab);
    const size = Math.max(firstSlab, 2 * this.#slab.length);
    this.#slab = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
  }
}
