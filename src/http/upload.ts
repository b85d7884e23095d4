import { Problem } from '../errors.ts';
import type { BodyMemory } from './body-memory.ts';

/** How request bodies are taken in: their bytes, the memory of all of them together, and the clocks of one upload. */

interface UploadsOptions {
  /** Most bytes of the bodies of all unanswered requests. */
  limit_bytes: number;
  /** Most bytes of those of one owner. */
  share_bytes: number;
  memory: BodyMemory;
}

/**
 * Bounds the memory of bodies: uploads hold no place in the queue (a slow sender would keep the workers idle). Each is charged
 * for what has arrived, whatever length it declares, and no caller can take all of the memory from the others.
 */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #owned = new Map<string, number>();
  #used_bytes = 0;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** What has arrived of all bodies that are in memory. */
  get used_bytes(): number {
    return this.#used_bytes;
  }

  /**
   * For a body of `length` bytes (undefined: of any up to `limit`) by `owner`, a key or an address. Throws Problem overloaded
   * when it would not fit even if no other body grew.
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
  /** What a client is told is the most. */
  limit: number;
  memory: BodyMemory;
  /** Adds to what is in memory; false when there is no room for it. A negative number gives back. */
  charge(bytes: number): boolean;
}

/** One body, collected in one piece of shared memory. */
export class Upload {
  readonly #options: UploadOptions;
  #memory: SharedArrayBuffer | undefined;
  #filled = 0;
  #fault: Error | undefined;
  #released = false;

  constructor(options: UploadOptions) {
    this.#options = options;
  }

  /** Problem body_too_large or overloaded, or that there was no memory. The bytes are of no use then. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** What has arrived; a view, not a copy. */
  get bytes(): Buffer {
    return this.#memory === undefined
      ? Buffer.alloc(0)
      : (Buffer.from(this.#memory, 0, this.#filled) as Buffer);
  }

  /** Copies a chunk, which µWS takes back when its callback returns. Never throws, because µWS calls it. */
  add(chunk: ArrayBuffer): void {
    if (this.#fault !== undefined || this.#released) return;
    try {
      this.#append(new Uint8Array(chunk));
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /** Wipes the bytes and gives their memory back. Call it once nobody reads them any more; a second call does nothing. */
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
