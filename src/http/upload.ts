import { Problem } from '../errors.ts';

/** Receiving request bodies: the memory of all of them, the bytes of one, and its timeouts. */

/** The pages of a body's memory; the addon's calls of the same names. */
interface BodyMemory {
  useHugePages(bytes: Uint8Array): void;
  discard(bytes: Uint8Array, written: number): void;
}

interface UploadsOptions {
  /** Most bytes of the bodies of all unanswered requests. */
  limit_bytes: number;
  /** Most bytes of the bodies of one owner. */
  share_bytes: number;
  memory: BodyMemory;
}

/**
 * Limits the memory of bodies; uploads take no place in the queue, because a slow sender would keep the workers idle. Each is
 * charged for the bytes that have arrived, whatever length it declares, and a large one for a huge page more. No owner can use all
 * of the memory.
 */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #owned = new Map<string, number>();
  #used_bytes = 0;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** Bytes that are charged for all bodies in memory. */
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
    const { memory } = this.#options;
    return new Upload({ size: length ?? limit, limit, charge, memory });
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
  /** Reserves bytes; false when there is no room. A negative number releases them. */
  charge(bytes: number): boolean;
  memory: BodyMemory;
}

/**
 * A body gets huge pages when so much of it has arrived, and at least twice a huge page is to come. With two photos of 4 MB the main
 * thread takes 0.84 of its time a request (A/A 1.06; 2 × AMD EPYC, a virtual machine): page faults cost more than the copy.
 */
const huge_from_bytes = 256 * 1024;
const hugePage_bytes = 2 * 1024 * 1024;

/**
 * Shared memory of `size` bytes, all 0. A growable buffer has pages of its own, which take no memory before they are written, so a
 * false length costs only address space. Throws a RangeError when there is none.
 */
function allocate(size: number): SharedArrayBuffer {
  const Growable = SharedArrayBuffer as new (
    length: number,
    options: { maxByteLength: number },
  ) => SharedArrayBuffer;
  return new Growable(size, { maxByteLength: size });
}

/**
 * One body, collected in one buffer of shared memory, which no other body uses: keeping buffers for the next bodies spared page
 * faults, but changed neither requests a second nor CPU time beyond the noise.
 */
export class Upload {
  readonly #options: UploadOptions;
  #memory: SharedArrayBuffer | undefined;
  #filled = 0;
  #huge = false;
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

  /** Copies a chunk, which is valid only during the transport's callback. Never throws, because µWS calls it. */
  add(chunk: Uint8Array): void {
    if (this.#fault !== undefined || this.#released) return;
    try {
      this.#append(chunk);
    } catch (error) {
      this.#fault = error as Error;
    }
  }

  /**
   * Wipes the bytes and returns their pages at once: shared memory is freed only after garbage collection in every thread that saw
   * it. Call it when nothing reads them any more; a second call does nothing.
   */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    const { charge, memory } = this.#options;
    charge(-this.#priceOf(this.#filled));
    if (this.#memory !== undefined) memory.discard(new Uint8Array(this.#memory), this.#filled);
    this.#memory = undefined;
    this.#filled = 0;
  }

  #append(chunk: Uint8Array): void {
    const { size, limit, charge } = this.#options;
    if (chunk.length === 0) return;
    const filled = this.#filled + chunk.length;
    if (filled > size) throw new Problem('body_too_large', { limit_bytes: limit });
    this.#memory ??= allocate(size);
    if (!charge(this.#priceOf(filled) - this.#priceOf(this.#filled))) throw new Problem('overloaded');
    new Uint8Array(this.#memory, this.#filled, chunk.length).set(chunk);
    this.#filled = filled;
    if (!this.#huge && filled >= huge_from_bytes && size - filled >= 2 * hugePage_bytes) this.#enlargePages();
  }

  #enlargePages(): void {
    const { charge, memory } = this.#options;
    if (!charge(hugePage_bytes)) return;
    this.#huge = true;
    memory.useHugePages(new Uint8Array(this.#memory!, this.#filled));
  }

  /** What is charged for so many bytes: what is written into a huge page takes the whole page, so that one is charged ahead. */
  #priceOf(filled: number): number {
    return this.#huge ? Math.min(filled + hugePage_bytes, this.#options.size) : filled;
  }
}

interface UploadClocksOptions {
  /** Longest time of the whole upload. */
  timeout_ms: number;
  /** Longest pause. */
  idle_ms: number;
  /** Asked in a pause: whether waiting for more is in vain. */
  hasEnded(): boolean;
  onTimeout(): void;
  /** Resets a timeout of the transport's own. */
  rearm(): void;
}

/** Well under µWS's timeout of 10 s, which counts in steps of 4 s. */
const rearmEvery_ms = 4000;

/** How long a body may pause before it is looked at whether it has ended. */
const pause_ms = 2000;

/**
 * The timeouts of one upload. µWS has one of its own (10 s, reset only by 160 KiB), which would close a slow connection without
 * an answer, so it is reset regularly.
 */
export class UploadClocks {
  readonly #whole: NodeJS.Timeout;
  readonly #pause: NodeJS.Timeout;
  readonly #rearm: NodeJS.Timeout;
  #paused_ms = 0;

  constructor({ timeout_ms, idle_ms, hasEnded, onTimeout, rearm }: UploadClocksOptions) {
    const expire = () => {
      this.stop();
      onTimeout();
    };
    this.#whole = setTimeout(expire, timeout_ms);
    const period_ms = Math.min(pause_ms, idle_ms);
    this.#pause = setTimeout(() => {
      this.#paused_ms += period_ms;
      if (this.#paused_ms >= idle_ms || hasEnded()) expire();
      else this.#pause.refresh();
    }, period_ms);
    this.#rearm = setInterval(rearm, rearmEvery_ms);
  }

  /** Call it when bytes have arrived. */
  touch(): void {
    this.#paused_ms = 0;
    this.#pause.refresh();
  }

  stop(): void {
    clearTimeout(this.#whole);
    clearTimeout(this.#pause);
    clearInterval(this.#rearm);
  }
}
