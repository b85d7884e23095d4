import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { type KeyRecord, keyFileFault, quote, readPrivate, recordsOf } from '../auth/key-file.ts';
import { createKey, keyHash, type Scope, scopes, statusOf } from '../auth/keys.ts';

/**
 * Edits of a key file for the command line. Each returns the new records, and the record that it changed or
 * created.
 */

/** Properties of a key that the operator chooses. */
export interface KeySettings {
  name: string;
  scopes: readonly Scope[];
  rate: number;
  burst: number;
  concurrent?: number;
  expires_in_ms?: number;
  note?: string;
}

/** Creates a key. The caller must show `key`, because the record has only its hash. */
export function create(records: readonly KeyRecord[], settings: KeySettings, now_ms: number) {
  const { id, key } = createKey();
  const { name, rate, burst, concurrent, expires_in_ms, note } = settings;
  const record: KeyRecord = {
    id,
    name,
    sha256: keyHash(key),
    scopes: [...settings.scopes],
    rate,
    burst,
    ...(concurrent === undefined ? {} : { concurrent }),
    created_at: iso(now_ms),
    ...(expires_in_ms === undefined ? {} : { expires_at: iso(now_ms + expires_in_ms) }),
    ...(note === undefined ? {} : { note }),
  };
  return { records: [...records, record], record, key };
}

/** Revokes a key. A key that is already revoked stays unchanged. Throws like `find`. */
export function revoke(records: readonly KeyRecord[], idOrName: string, now_ms: number) {
  const record = find(records, idOrName, now_ms);
  return statusOf(record, now_ms) === 'revoked'
    ? { records: [...records], record }
    : end(records, record, now_ms);
}

/**
 * Creates a key with the settings of an old key, which is revoked `grace_ms` from now. If the old key had a
 * lifetime, the new key gets the same lifetime from now. Throws an Error if the key is not active, and like `find`.
 */
export function rotate(records: readonly KeyRecord[], idOrName: string, now_ms: number, grace_ms: number) {
  const old = find(records, idOrName, now_ms);
  const status = statusOf(old, now_ms);
  if (status !== 'active') {
    throw new Error(
      `The key ${old.id} is ${status} and cannot be rotated. Create a new key: npx facematch keys create --name NAME`,
    );
  }
  const { created_at, expires_at, ...settings } = old;
  const lifetime =
    expires_at === undefined ? {} : { expires_in_ms: Date.parse(expires_at) - Date.parse(created_at) };
  const { records: ended, record: retired } = end(records, old, now_ms + grace_ms);
  return { ...create(ended, { ...settings, ...lifetime }, now_ms), retired };
}

export interface ScopeChange {
  add: readonly Scope[];
  remove: readonly Scope[];
}

/** Changes the scopes of a key. Throws an Error if it is not active or would have no scope left, and like `find`. */
export function changeScopes(
  records: readonly KeyRecord[],
  idOrName: string,
  { add, remove }: ScopeChange,
  now_ms: number,
) {
  const old = find(records, idOrName, now_ms);
  const status = statusOf(old, now_ms);
  if (status !== 'active')
    throw new Error(`The key ${old.id} is ${status}, so its scopes cannot be changed.`);
  const wanted = new Set([...old.scopes, ...add].filter((scope) => !remove.includes(scope)));
  if (wanted.size === 0) {
    throw new Error(
      `The key ${old.id} would have no scope left. Revoke it instead: npx facematch keys revoke ${old.id}`,
    );
  }
  const record: KeyRecord = { ...old, scopes: scopes.filter((scope) => wanted.has(scope)) };
  return { records: records.map((other) => (other === old ? record : other)), record };
}

/** Finds a key by id or name; prefers keys that are not revoked. Throws an Error if none or several have the name. */
function find(records: readonly KeyRecord[], idOrName: string, now_ms: number): KeyRecord {
  const byId = records.find(({ id }) => id === idOrName);
  if (byId !== undefined) return byId;
  const named = records.filter(({ name }) => name === idOrName);
  const working = named.filter((record) => statusOf(record, now_ms) !== 'revoked');
  const preferred = working.length > 0 ? working : named;
  const [record, other] = preferred;
  if (record === undefined) {
    throw new Error(
      `There is no key with the id or name ${idOrName}. List the keys: npx facematch keys list`,
    );
  }
  if (other === undefined) return record;
  const ids = preferred.map(({ id }) => id).join(', ');
  throw new Error(`Several keys are named ${idOrName}: ${ids}. Give the id of one.`);
}

function end(records: readonly KeyRecord[], record: KeyRecord, at_ms: number) {
  const ended: KeyRecord = { ...record, revoked_at: iso(at_ms) };
  return { records: records.map((other) => (other === record ? ended : other)), record: ended };
}

const iso = (at_ms: number): string => new Date(at_ms).toISOString();

/**
 * Replaces the records of the key file with those that `edit` returns, and returns the result of `edit`. If the file
 * does not exist, `edit` gets []. The new content is written to `<file>.lock`, which only one writer can create. The
 * lock file then replaces the file, or the target of a symbolic link. Owner, group and mode are kept, so that a server
 * of another user can still read the file. Throws UnusableFile, and the errors of `edit` and of the file system.
 */
export function editKeyFile<T extends { records: KeyRecord[] }>(
  file: string,
  edit: (records: KeyRecord[]) => T,
): T {
  const target = existsSync(file) ? realpathSync(file) : file;
  const lock = `${target}.lock`;
  const descriptor = openLock(file, lock);
  try {
    const old = existsSync(target) ? readPrivate(target) : undefined;
    const result = edit(old === undefined ? [] : recordsOf(target, old.text));
    if (old !== undefined) keepOwner(file, descriptor, old.stats);
    // The umask may have removed bits from the mode given to open.
    fchmodSync(descriptor, old === undefined ? 0o600 : old.stats.mode & 0o640);
    writeFileSync(descriptor, `${JSON.stringify({ version: 1, keys: result.records }, null, 2)}\n`);
    fsyncSync(descriptor);
    moveInto(file, lock, target);
    return result;
  } catch (error) {
    rmSync(lock, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function moveInto(file: string, lock: string, target: string): void {
  try {
    renameSync(lock, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
    throw keyFileFault(file, 'is a mount point and cannot be replaced (EBUSY)', mountHint);
  }
}

/**
 * Gives the new file the owner and group of the old file. Throws UnusableFile if this is not permitted, because the
 * server might not be able to read the new file.
 */
function keepOwner(file: string, descriptor: number, old: Stats): void {
  const { uid, gid } = fstatSync(descriptor);
  if (uid === old.uid && gid === old.gid) return;
  try {
    fchownSync(descriptor, old.uid, old.gid);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reason = `has an owner or a group that you cannot give to a new file (${code})`;
    throw keyFileFault(file, reason, 'Run this command as the owner of the file, or as root.');
  }
}

const mountHint =
  'Run this command outside the container, where the file can be written, or mount its folder instead of the file.';

const lockFaults: Readonly<Record<string, readonly [reason: string, fix: string]>> = {
  EEXIST: [
    'is being changed by another command',
    'Try again. If no other command is running, an earlier one was interrupted: rm LOCK',
  ],
  EROFS: ['is in a read-only folder (EROFS)', mountHint],
};

function openLock(file: string, lock: string): number {
  try {
    return openSync(lock, 'wx', 0o600);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const [reason, fix] = lockFaults[code] ?? [
      `cannot be written (${code})`,
      'Check that its folder exists and that you may write to it.',
    ];
    throw keyFileFault(file, reason, fix.replace('LOCK', quote(lock)));
  }
}
