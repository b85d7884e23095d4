import { timingSafeEqual } from 'node:crypto';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { UnusableFile } from '../config/file.ts';
import { type KeyRecord, keyFileFault, readPrivate, recordsInTurns, recordsOf } from './key-file.ts';
import { endOf, keyHash, keyId } from './keys.ts';

export type ApiKey = Readonly<Pick<KeyRecord, 'id' | 'name' | 'scopes' | 'rate' | 'burst' | 'concurrent'>>;

interface Entry {
  key: ApiKey;
  hash: Buffer;
  end_ms: number;
}

/**
 * Hash for unknown ids, so that their verification takes as long as that of known ids. No text with this SHA-256
 * has been found.
 */
const dummyHash = Buffer.alloc(32);

/** Log that reports changes of the file. */
interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** A file that keeps changing, or could not be read, is read again after at most this number of polls. */
const max_polls = 20;

/** The keys in use, from the last readable version of the file. */
export class KeyStore {
  readonly #file: string;
  readonly #log: Log;
  #entries: ReadonlyMap<string, Entry>;
  /** State of the file whose keys are in use. */
  #loaded: string;
  /** True if the changed file could not be loaded, so that a revocation in it has no effect yet. */
  stale = false;
  #closed = false;

  /** Throws UnusableFile if the file is missing, accessible to other users, malformed, or has no usable key. */
  constructor(file: string, log: Log, interval_ms = 500) {
    this.#file = file;
    this.#log = log;
    const { text, stats } = readPrivate(file);
    this.#entries = entriesOf(recordsOf(file, text));
    this.#loaded = identity(stats);
    if (this.size === 0) {
      throw keyFileFault(file, 'has no usable key (it is empty, or all keys are revoked or expired)');
    }
    void this.#follow(interval_ms);
  }

  /** Number of keys that are neither revoked nor expired at this moment. */
  get size(): number {
    const now_ms = Date.now();
    return [...this.#entries.values()].filter(({ end_ms }) => now_ms < end_ms).length;
  }

  /** Returns undefined if the key is unknown, revoked or expired. Only text in the format of a key is hashed. */
  verify(presented: string, now_ms: number): ApiKey | undefined {
    const id = keyId(presented);
    if (id === undefined) return undefined;
    const entry = this.#entries.get(id);
    const equal = timingSafeEqual(Buffer.from(keyHash(presented), 'hex'), entry?.hash ?? dummyHash);
    return equal && entry !== undefined && now_ms < entry.end_ms ? entry.key : undefined;
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Polls the file, because network mounts and replaced links send no file events. Reads a changed file when two
   * polls see the same state, so that its writer has finished, or after `max_polls`. If reading fails, retries at
   * growing intervals. Does not keep the process alive.
   */
  async #follow(interval_ms: number): Promise<void> {
    let seen = this.#loaded;
    let reported: string | undefined;
    /** Polls since the change or the last attempt; the next attempt needs more than `wanted`. */
    let waited = 0;
    let wanted = 0;
    for (;;) {
      await pause(interval_ms, undefined, { ref: false });
      const now = await stat(this.#file).then(identity, ({ code = 'missing' }) => code);
      if (this.#closed) return;
      const stable = now === seen;
      seen = now;
      if (now === this.#loaded) {
        this.stale = false;
        waited = 0;
        continue;
      }
      if (!stable) [wanted, reported] = [0, undefined];
      waited += 1;
      if (waited < max_polls && !(stable && waited > wanted)) continue;
      waited = 0;
      wanted = 2 * wanted + 1;
      const reason = await this.#reload();
      if (this.#closed) return;
      this.stale = reason !== undefined;
      if (reason !== undefined && reason !== reported) {
        this.#log.warn({ reason }, 'failed to reload the key file; using the previous keys');
      }
      reported = reason;
    }
  }

  /** Reads the file again. Returns the error message if it cannot be used, otherwise undefined. */
  async #reload(): Promise<string | undefined> {
    try {
      const { text, stats } = readPrivate(this.#file);
      this.#entries = entriesOf(await recordsInTurns(this.#file, text));
      this.#loaded = identity(stats);
    } catch (error) {
      return error instanceof UnusableFile ? error.reason : 'cannot be read';
    }
    // A file without a usable key replaces the keys too, so that the last key can be revoked.
    if (this.size === 0) this.#log.warn({ keys: 0 }, 'the key file was reloaded and has no usable key');
    else this.#log.info({ keys: this.size }, 'the key file was reloaded');
    return undefined;
  }
}

/** Uses ctime, because mtime can be set back by tools and does not change with the mode or on a rename. */
const identity = ({ dev, ino, size, ctimeMs }: Stats) => [dev, ino, size, ctimeMs].join(':');

function entriesOf(records: readonly KeyRecord[]): Map<string, Entry> {
  return new Map(
    records.map((record) => {
      const { id, name, scopes, rate, burst, concurrent, sha256 } = record;
      const key = { id, name, scopes, rate, burst, ...(concurrent !== undefined && { concurrent }) };
      return [id, { key, hash: Buffer.from(sha256, 'hex'), end_ms: endOf(record) }];
    }),
  );
}
