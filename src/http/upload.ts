import { Problem } from '../errors.ts';
import type { BodyMemory } from './body-memory.ts';

/** Receiving request bodies: the memory of all of them, the bytes of one, and its timeouts. */

interface UploadsOptions {
  /** Most bytes of the bodies of all unanswered requests. */
  limit_bytes: number;
  /** Most bytes of the bodies of one owner. */
  share_bytes: number;
  memory: BodyMemory;
}

/**
 * Limits the memory of bodies; uploads take no place in the queue, because a slow sender would keep the workers idle. Each is
 * charged for the bytes that have arrived, whatever length it declares. No owner can use all of the memory.
 */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #owned = new Map<string, number>();
  #used_bytes = 0;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** Bytes that have arrived of all bodies in memory. */
  get used_bytes(): number {
    return this.#used_bytes;
  }

  /**
   * For a body of `length` bytes (undefined: any length up to `limit`) of `owner`, a key or an address. Throws Problem
   * overloaded when it would not fit even if no other body grew.
   */
  open(owner: string, length: number | undefined, limit: number): Upload {
    if (!this.#fits(owner, length ?? 1)) throw new Problem('overloaded');
    const charge = (bytes: number): boolean => {
      if (bytes > 0 && !this.#fits(owner, bytes)) return false;
      const owned = (this.#owned.get(owner) ?? 0) + bytes;
      if (owned === 0) this.#owned.delete(owner);
      else this.#owned.set(owner, owned);
      this.#used_bytes += bytes;
      return true;
    };
    return new Upload({ size: length ?? limit, limit, memory: this.#options.memory, charge });
  }

  #fits(owner: string, bytes: number): boolean {
    const { limit_bytes, share_bytes } = this.#options;
    return this.#used_bytes + bytes <= limit_bytes && (this.#owned.get(owner) ?? 0) + bytes <= share_bytes;
  }
}

interface UploadOptions {
  /** Most bytes of the body. */
  size: number;
  /** The limit that the client is told. */
  limit: number;
  memory: BodyMemory;
  /** Reserves bytes; false when there is no room. A negative number releases them. */
  charge(bytes: number): boolean;
}

/** One body, collected in one buffer of shared memory. */
export class Upload {
  readonly #options: UploadOptions;
  #memory: SharedArrayBuffer | undefined;
  #filled = 0;
  #fault: Error | undefined;
  #released = false;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** Problem body_too_large or overloaded, or a failed allocation. The bytes are then incomplete. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** The bytes that have arrived; a view, not a copy. */
  get bytes(): Buffer {
    return this.#memory === undefined
      ? Buffer.alloc(0)
      : (Buffer.from(this.#memory, 0, this.#filled) as Buffer);
  }

  /** Copies a chunk, which is valid only during µWS's callback. Never throws, because µWS calls it. */
  add(chunk: ArrayBuffer): void {
    if (this.#fault !== undefined || this.#released) return;
    try {
      this.#append(new Uint8Array(chunk));
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /** Wipes the bytes and returns their memory. Call it when nothing reads them any more; a second call does nothing. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#options.charge(-this.#filled);
    if (this.#memory !== undefined) this.#options.memory.give(this.#memory, this.#filled);
    this.#memory = undefined;
    this.#filled = 0;
  }

  #append(chunk: Uint8Array): void {
    const { size, limit, memory, charge } = this.#options;
    if (chunk.length === 0) return;
    if (this.#filled + chunk.length > size) throw new Problem('body_too_large', { limit_bytes: limit });
    if (!charge(chunk.length)) throw new Problem('overloaded');
    this.#memory ??= memory.take(size);
    new Uint8Array(this.#memory, this.#filled, chunk.length).set(chunk);
    this.#filled += chunk.length;
  }
}

interface UploadClocksOptions {
  /** Longest time of the whole upload. */
  timeout_ms: number;
  /** Longest pause. */
  idle_ms: number;
  onTimeout(): void;
  /** Resets µWS's own timeout. */
  rearm(): void;
}

/** Well under µWS's timeout of 10 s, which counts in steps of 4 s. */
const rearmEvery_ms = 4000;

/**
 * The timeouts of one upload. µWS has one of its own (10 s, reset only by 160 KiB), which would close a slow connection without
 * an answer, so it is reset regularly.
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

  /** Call it when bytes have arrived. */
  touch(): void {
    this.#idle.refresh();
  }

  stop(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#idle);
    clearInterval(this.#rearm);
  }
}
