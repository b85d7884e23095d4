import { timingSafeEqual } from 'node:crypto';
import { FileFollower, type FollowerLog } from '../config/file-watch.ts';
import { KeyFileError, type KeyRecord, noUsableKey, readKeyFile } from './key-file.ts';
import { endOf, keyHash, keyId } from './keys.ts';

export type ApiKey = Readonly<Pick<KeyRecord, 'id' | 'name' | 'scopes' | 'rate' | 'burst' | 'concurrent'>>;

interface Entry {
  key: ApiKey;
  hash: Buffer;
  end_ms: number;
}

/** An unknown id is compared with this, so that it takes as long as a known one. No text with this SHA-256 is known. */
const dummyHash = Buffer.alloc(32);

/** The keys in use: those of the last version of the file that could be read. */
export class KeyStore {
  readonly #file: string;
  readonly #log: FollowerLog;
  readonly #follower: FileFollower;
  #entries: ReadonlyMap<string, Entry>;

  /** Throws KeyFileError when the file is missing, open to other users, broken, or without any usable key. */
  constructor(file: string, log: FollowerLog, interval_ms = 500) {
    this.#file = file;
    this.#log = log;
    this.#follower = new FileFollower({
      file,
      interval_ms,
      reload: () => this.#reload(),
      onFailure: (error) => {
        const reason = error instanceof KeyFileError ? error.reason : 'cannot be read';
        log.warn({ reason }, 'the key file was not taken over; the keys before it stay in force');
      },
    });
    this.#entries = entriesOf(readKeyFile(file));
    if (this.size === 0) throw noUsableKey(file);
    this.#follower.start();
  }

  /** Keys that are neither revoked nor expired at this moment. */
  get size(): number {
    const now_ms = Date.now();
    return [...this.#entries.values()].filter(({ end_ms }) => now_ms < end_ms).length;
  }

  /** Undefined when it is unknown, revoked or expired. Text without the form of a key, which is not secret, is not hashed. */
  verify(presented: string, now_ms: number): ApiKey | undefined {
    const id = keyId(presented);
    if (id === undefined) return undefined;
    const entry = this.#entries.get(id);
    const equal = timingSafeEqual(Buffer.from(keyHash(presented), 'hex'), entry?.hash ?? dummyHash);
    return equal && entry !== undefined && now_ms < entry.end_ms ? entry.key : undefined;
  }

  /** The key file could not be taken over as it is: a revocation in it is not in force. */
  get stale(): boolean {
    return this.#follower.stale;
  }

  close(): void {
    this.#follower.close();
  }

  /** Throws KeyFileError, or the system's error. */
  #reload(): void {
    this.#entries = entriesOf(readKeyFile(this.#file));
    // A file without a usable key takes effect too: revoking the last key must work.
    if (this.size === 0) this.#log.warn({ keys: 0 }, 'the key file was reloaded; no usable key is left');
    else this.#log.info({ keys: this.size }, 'the key file was reloaded');
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
