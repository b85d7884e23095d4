import type { Config } from '../../config/config.ts';
import { Problem } from '../../errors.ts';
import { type BodyBuffer, BodyBuffers, type MemoryCalls } from './body-buffers.ts';

/** Maximum memory that is kept for later bodies, enough for eight clients with two photos of 4 MB each. */
const maxKept_bytes = 64 * 1024 * 1024;

/**
 * Limits the memory of request bodies. A body is charged for the bytes that have arrived, whatever its declared
 * length. A large body is charged one additional huge page.
 */
export class Uploads {
  /** Maximum memory for the bodies of in-flight requests. */
  readonly #limit_bytes: number;
  /** Maximum memory for one owner (a key or an IP address): half of the total, and at least one body. */
  readonly #share_bytes: number;
  readonly #owned = new Map<string, number>();
  /** Memory for bodies. Unused memory is released when new bodies need it. */
  readonly buffers: BodyBuffers;
  /** Bytes charged for all bodies in memory. */
  used_bytes = 0;

  constructor(
    { upload_memory_bytes, max_body_bytes }: Pick<Config, 'upload_memory_bytes' | 'max_body_bytes'>,
    memory: MemoryCalls,
  ) {
    this.#limit_bytes = upload_memory_bytes;
    this.#share_bytes = Math.max(upload_memory_bytes / 2, Math.min(upload_memory_bytes, max_body_bytes));
    this.buffers = new BodyBuffers(memory, Math.min(maxKept_bytes, upload_memory_bytes / 4));
  }

  /**
   * Opens an upload. `length`: declared length; undefined for any length up to `limit`. Throws Problem overloaded if
   * the body does not fit in addition to the bytes that have arrived so far.
   */
  open(owner: string, length: number | undefined, limit: number): Upload {
    if (!this.#fits(owner, length ?? 1)) throw new Problem('overloaded');
    return new Upload(this, owner, length, limit);
  }

  /** Reserves bytes for a body of this owner. Returns false if there is no room. A negative number releases bytes. */
  charge(owner: string, bytes: number): boolean {
    if (bytes > 0 && !this.#fits(owner, bytes)) return false;
    const owned = (this.#owned.get(owner) ?? 0) + bytes;
    if (owned === 0) this.#owned.delete(owner);
    else this.#owned.set(owner, owned);
    this.used_bytes += bytes;
    const excess = this.used_bytes + this.buffers.kept_bytes - this.#limit_bytes;
    if (excess > 0) this.buffers.shrink(excess);
    return true;
  }

  #fits(owner: string, bytes: number): boolean {
    const owned = this.#owned.get(owner) ?? 0;
    return this.used_bytes + bytes <= this.#limit_bytes && owned + bytes <= this.#share_bytes;
  }
}

/** Huge pages are requested when this many bytes have arrived, and at least two huge pages are still expected. */
const minForHugePages_bytes = 256 * 1024;
const hugePage_bytes = 2 * 1024 * 1024;

/** Initial capacity for a body of unknown length. */
const first_bytes = 64 * 1024;

/**
 * Maximum number of bytes that are moved at once, because moving blocks the main thread. A body of unknown length
 * that exceeds it moves to a buffer with the capacity of the limit, of which only the written part is resident.
 */
const maxMoved_bytes = 4 * 1024 * 1024;

const nothing = Buffer.alloc(0);
const ignore = () => {};

export class Upload {
  readonly #uploads: Uploads;
  readonly #owner: string;
  /** Declared length of the body. */
  readonly #length: number | undefined;
  /** Maximum length of the body, which an error response reports. */
  readonly limit: number;
  #buffer: BodyBuffer | undefined;
  /** Number of bytes that have arrived. */
  #filled = 0;
  /** Number of bytes that are reserved for the body. */
  #charged = 0;
  /** Problem body_too_large or overloaded, or the error of a failed allocation. The bytes are then incomplete. */
  fault: Error | undefined;
  #released = false;

  constructor(uploads: Uploads, owner: string, length: number | undefined, limit: number) {
    this.#uploads = uploads;
    this.#owner = owner;
    this.#length = length;
    this.limit = limit;
  }

  /** A view of the bytes that have arrived. */
  get bytes(): Buffer {
    if (this.#buffer === undefined) return nothing;
    return Buffer.from(this.#buffer.bytes.buffer, 0, this.#filled) as Buffer;
  }

  /** Copies a chunk, because the transport's memory is valid only in its callback. Never throws. */
  add(chunk: Uint8Array): void {
    if (this.fault !== undefined || this.#released || chunk.length === 0) return;
    try {
      this.#append(chunk);
    } catch (error) {
      this.fault = error as Error;
    }
  }

  /**
   * Wipes the bytes and releases their memory. Call it when the bytes are no longer read. A second call does
   * nothing.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    const uncharge = () => this.#uploads.charge(this.#owner, -this.#charged);
    if (this.#buffer === undefined) uncharge();
    else this.#uploads.buffers.release(this.#buffer, this.#filled, uncharge);
    this.#buffer = undefined;
    this.#filled = 0;
  }

  #append(chunk: Uint8Array): void {
    const filled = this.#filled + chunk.length;
    if (filled > (this.#length ?? this.limit)) {
      throw new Problem('body_too_large', { limit_bytes: this.limit });
    }
    const before = this.#buffer;
    if (before === undefined || filled > before.bytes.length) this.#grow(filled);
    else this.#charge(before, filled);
    this.#uploads.buffers.copy(this.#buffer!, this.#filled, chunk);
    this.#filled = filled;
  }

  /**
   * Moves the bytes to a larger buffer: for the whole body if its length is known, otherwise of twice the size, or
   * of the maximum size. Throws Problem overloaded.
   */
  #grow(filled: number): void {
    const { buffers } = this.#uploads;
    const before = this.#buffer;
    const doubled = Math.max(filled, before === undefined ? first_bytes : 2 * before.bytes.length);
    const wanted = this.#length ?? Math.min(doubled, this.limit);
    const buffer = buffers.acquire(
      this.#length === undefined && filled > maxMoved_bytes ? this.limit : wanted,
      wanted,
    );
    try {
      this.#charge(buffer, filled);
    } catch (error) {
      buffers.release(buffer, 0, ignore);
      throw error;
    }
    this.#buffer = buffer;
    if (before === undefined) return;
    buffers.copy(buffer, 0, before.bytes.subarray(0, this.#filled));
    buffers.release(before, this.#filled, ignore);
  }

  /** Charges the memory of the buffer when it contains `filled` bytes. Throws Problem overloaded. */
  #charge(buffer: BodyBuffer, filled: number): void {
    const length = this.#length;
    const { hugeUpTo } = buffer;
    // A write into a huge page makes the whole page resident, so one page is charged in advance.
    const taken = filled < hugeUpTo ? Math.min(filled + hugePage_bytes, hugeUpTo) : filled;
    if (!this.#reserve(buffer, taken)) throw new Problem('overloaded');
    if (length === undefined || length <= hugeUpTo) return;
    if (filled < minForHugePages_bytes || length - filled < 2 * hugePage_bytes) return;
    if (this.#reserve(buffer, filled + hugePage_bytes)) {
      this.#uploads.buffers.enlargePages(buffer, filled, length);
    }
  }

  /** Returns false if there is no room for this many bytes, or for the buffer's current memory. */
  #reserve(buffer: BodyBuffer, bytes: number): boolean {
    const resident = Math.max(buffer.resident, bytes);
    if (resident > this.#charged) {
      if (!this.#uploads.charge(this.#owner, resident - this.#charged)) return false;
      this.#charged = resident;
    }
    buffer.resident = resident;
    return true;
  }
}
