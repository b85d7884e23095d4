import { timingSafeEqual } from 'node:crypto';
import type { Stats } from 'node:fs';
import { FileFollower } from './file-follower.ts';
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

/** The keys in use, from the last readable version of the file. */
export class KeyStore {
  readonly #file: string;
  readonly #log: Log;
  #entries: ReadonlyMap<string, Entry>;
  readonly #follower: FileFollower;

  /** Throws UnusableFile if the file is missing, accessible to other users, malformed, or has no usable key. */
  constructor(file: string, log: Log, interval_ms = 500) {
    this.#file = file;
    this.#log = log;
    const { text, stats } = readPrivate(file);
    this.#entries = entriesOf(recordsOf(file, text));
    if (this.size === 0) {
      throw keyFileFault(file, 'has no usable key (it is empty, or all keys are revoked or expired)');
    }
    this.#follower = new FileFollower({
      file,
      loaded: stats,
      interval_ms,
      reload: () => this.#reload(),
      onFailure: (reason) => log.warn({ reason }, 'failed to reload the key file; using the previous keys'),
    });
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
    this.#follower.close();
  }

  /** True if the changed file could not be loaded, so that a revocation in it has no effect yet. */
  get stale(): boolean {
    return this.#follower.stale;
  }

  async #reload(): Promise<Stats> {
    const { text, stats } = readPrivate(this.#file);
    this.#entries = entriesOf(await recordsInTurns(this.#file, text));
    // A file without a usable key replaces the keys too, so that the last key can be revoked.
    if (this.size === 0) this.#log.warn({ keys: 0 }, 'the key file was reloaded and has no usable key');
    else this.#log.info({ keys: this.size }, 'the key file was reloaded');
    return stats;
  }
}

function entriesOf(records: readonly KeyRecord[]): Map<string, Entry> {
  return new Map(
    records.map((record) => {
      const { id, name, scopes, rate, burst, concurrent, sha256 } = record;
      const key = { id, name, scopes, rate, burst, ...(concurrent !== undefined && { concurrent }) };
      return [id, { key, hash: Buffer.from(sha256, 'hex'), end_ms: endOf(record) }];
    }),
  );
}
