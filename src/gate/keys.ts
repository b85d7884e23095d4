import { timingSafeEqual } from 'node:crypto';
import { FileWatch, type FileWatchOptions } from './file-watch.ts';
import { KeyFileError, noUsableKey, readKeyFile } from './key-file.ts';
import { keyHash, keyId } from './key-format.ts';
import { endOf, type KeyRecord } from './key-record.ts';
import type { Scope } from './scopes.ts';

export { type Scope, scopes } from './scopes.ts';

/** What a request with a valid key is known by. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Tokens per second. */
  readonly rate: number;
  readonly burst: number;
}

export interface KeyStoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

interface Entry {
  key: ApiKey;
  hash: Buffer;
  /** From this moment on the key is refused. */
  end_ms: number;
}

/** An unknown id is compared with this, so that it takes as long as a known one. No SHA-256 is known to give it. */
const dummyHash = Buffer.alloc(32);

/** Where the hash of the key in question is written: a Buffer of its own for each would cost more than the hash. */
const presentedHash = Buffer.alloc(32);

const defaultWatch: FileWatchOptions = { poll_ms: 5_000, settle_ms: 50 };

/** The keys in force: those of the file as it last was when it could be used. */
export class KeyStore {
  readonly #file: string;
  readonly #log: KeyStoreLog;
  readonly #watch: FileWatch;
  readonly #listeners: (() => void)[] = [];
  #entries: ReadonlyMap<string, Entry>;

  /**
   * Reads the key file and follows its changes. Throws an Error with a message for people when the file is missing,
   * open to other users, broken, or without any usable key.
   */
  static open(file: string, log: KeyStoreLog, watch: FileWatchOptions = defaultWatch): KeyStore {
    return new KeyStore(file, log, watch);
  }

  private constructor(file: string, log: KeyStoreLog, watch: FileWatchOptions) {
    this.#file = file;
    this.#log = log;
    // Watched before it is read: a change in between is then seen as one.
    this.#watch = new FileWatch(file, watch, () => this.#reload());
    try {
      this.#entries = entriesOf(readKeyFile(file));
      if (this.size === 0) throw noUsableKey(file);
    } catch (error) {
      this.#watch.close();
      throw error;
    }
  }

  /** Keys that are neither revoked nor expired at this moment. */
  get size(): number {
    const now_ms = Date.now();
    let usable = 0;
    for (const { end_ms } of this.#entries.values()) if (now_ms < end_ms) usable += 1;
    return usable;
  }

  /**
   * The key that `presented` is, or undefined when it is unknown, revoked or expired. Text that has not even the form
   * of a key is refused without hashing: the form is no secret.
   */
  verify(presented: string, now_ms: number): ApiKey | undefined {
    const id = keyId(presented);
    if (id === undefined) return undefined;
    const entry = this.#entries.get(id);
    presentedHash.write(keyHash(presented), 'hex');
    const equal = timingSafeEqual(presentedHash, entry?.hash ?? dummyHash);
    return equal && entry !== undefined && now_ms < entry.end_ms ? entry.key : undefined;
  }

  /** Calls back after each change of the file that was taken over. */
  onReload(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#watch.close();
  }

  #reload(): void {
    let records: KeyRecord[];
    try {
      records = readKeyFile(this.#file);
    } catch (error) {
      const reason = error instanceof KeyFileError ? error.reason : 'cannot be read';
      this.#log.warn({ reason }, 'the key file was not taken over; the keys before it stay in force');
      return;
    }
    this.#entries = entriesOf(records);
    // A file without a usable key is taken over all the same: to revoke the last key must work.
    if (this.size === 0) this.#log.warn({ keys: 0 }, 'the key file was reloaded; no usable key is left');
    else this.#log.info({ keys: this.size }, 'the key file was reloaded');
    for (const listener of this.#listeners) listener();
  }
}

function entriesOf(records: readonly KeyRecord[]): Map<string, Entry> {
  return new Map(
    records.map((record) => {
      const { id, name, scopes, rate, burst } = record;
      const key = { id, name, scopes, rate, burst };
      return [id, { key, hash: Buffer.from(record.sha256, 'hex'), end_ms: endOf(record) }];
    }),
  );
}
