import {
  accessSync,
  closeSync,
  constants,
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
import { z } from 'zod';
import { readRegular, Unreadable, withoutMark } from '../config/regular-file.ts';
import { isKeyId, isLine, keyLimits, scopes } from './keys.ts';

const moment = z.iso.datetime({ error: 'expected a time such as 2030-01-31T12:00:00.000Z' });
const line = z.string().refine(isLine, { error: 'control characters are not allowed' });

const keyRecord = z.strictObject({
  id: z.string().refine(isKeyId, { error: 'expected 12 letters and digits' }),
  name: line.min(1).max(keyLimits.name),
  /** Hash of the whole key. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected 64 hexadecimal digits' }),
  scopes: z.array(z.enum(scopes)).min(1),
  /** Tokens per second. */
  rate: z.number().positive().max(keyLimits.rate),
  burst: z.int().min(1).max(keyLimits.burst),
  /** Requests that may run at once in one process; any number when absent. */
  concurrent: z.exactOptional(z.int().min(1).max(keyLimits.concurrent)),
  created_at: moment,
  expires_at: z.exactOptional(moment),
  revoked_at: z.exactOptional(moment),
  note: z.exactOptional(line.max(keyLimits.note)),
});

export type KeyRecord = z.infer<typeof keyRecord>;

const keyFile = z.strictObject({
  version: z.literal(1),
  keys: z.array(keyRecord).refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, {
    error: 'two keys have the same id',
  }),
});

/** A key file that cannot be used. The message is for people; `reason` is for the log, which holds no paths. */
export class KeyFileError extends Error {
  readonly reason: string;
  /** What to do about it, for people. */
  readonly cure: string;
  /** True when there is no file at all: `keys create` makes one. */
  readonly missing: boolean;

  constructor(file: string, reason: string, cure: string, missing = false) {
    super(`The key file ${file} ${reason}. ${cure}`);
    this.name = 'KeyFileError';
    this.reason = reason;
    this.cure = cure;
    this.missing = missing;
  }
}

const howToCreate = 'Make a key with: npx facematch keys create --name NAME';

export function noUsableKey(file: string): KeyFileError {
  const reason = 'holds no usable key (all are revoked or expired, or there is none)';
  return new KeyFileError(file, reason, howToCreate);
}

/** Reads and checks the key file. Throws KeyFileError. */
export function readKeyFile(file: string): KeyRecord[] {
  return recordsOf(file, readPrivate(file).text);
}

/**
 * Replaces the records of the key file by those that `edit` returns (it gets [] when there is no file yet), and returns its result.
 * The new content goes to `<file>.lock`, which only one writer can create, and is renamed into place; a link stays a link. Owner,
 * group and mode stay, so that a server of another account can read it. Throws KeyFileError, and whatever `edit` throws.
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
    throw new KeyFileError(file, 'is a mount of its own and cannot be replaced (EBUSY)', elsewhere);
  }
}

/** Gives the new file the owner of the old one. Throws KeyFileError when it may not: then the server could not read the file. */
function keepOwner(file: string, descriptor: number, old: Stats): void {
  const { uid, gid } = fstatSync(descriptor);
  if (uid === old.uid && gid === old.gid) return;
  try {
    fchownSync(descriptor, old.uid, old.gid);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reason = `has an owner or a group that this account cannot give to a new file (${code})`;
    throw new KeyFileError(file, reason, 'Run this command as the owner of the file, or as root.');
  }
}

const elsewhere =
  'Run this command where the file is kept, outside the container, or mount the folder instead of the file.';

const lockFaults: Readonly<Record<string, readonly [reason: string, cure: string]>> = {
  EEXIST: [
    'is being changed by another command',
    'Try again; if no other command runs, one was interrupted: rm LOCK',
  ],
  EROFS: ['lies in a read-only folder (EROFS)', elsewhere],
};

function openLock(file: string, lock: string): number {
  try {
    return openSync(lock, 'wx', 0o600);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const [reason, cure] = lockFaults[code] ?? [
      `cannot be written (${code})`,
      'Check that its folder exists and that you may write to it.',
    ];
    throw new KeyFileError(file, reason, cure.replace('LOCK', quote(lock)));
  }
}

function readPrivate(file: string): { text: string; stats: Stats } {
  let read: { text: string; stats: Stats };
  try {
    read = readRegular(file);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const cure = error.kind === 'denied' ? 'Check who owns it and its folder.' : howToCreate;
    throw new KeyFileError(file, error.message, cure, error.kind === 'missing');
  }
  // The group may read: Kubernetes and systemd give secrets to processes other than root that way.
  // Windows has no such bits: Node reports 0o666 for every file there.
  if (process.platform !== 'win32' && (read.stats.mode & 0o037) !== 0 && !isOnReadOnlyMount(file)) {
    throw new KeyFileError(file, 'is open to other users', `Close it with: chmod 600 ${quote(file)}`);
  }
  return read;
}

/** Secrets of Docker and Kubernetes are mounted so, by default open to all users of the container, and nobody there can close them. */
function isOnReadOnlyMount(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
  return false;
}

function recordsOf(file: string, text: string): KeyRecord[] {
  const cure = 'Correct it, or restore it from a backup.';
  let json: unknown;
  try {
    json = JSON.parse(withoutMark(text));
  } catch {
    // Without V8's own message: it quotes the text, and hashes do not belong in a log.
    throw new KeyFileError(file, 'is not valid JSON', cure);
  }
  const result = keyFile.safeParse(json);
  if (result.success) return result.data.keys;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'the top level' : issue.path.join('.');
  throw new KeyFileError(file, `is not a key file: at ${where}, ${issue?.message}`, cure);
}

/** Single quotes for a POSIX shell, where the path needs them. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
