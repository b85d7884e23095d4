import { accessSync, constants, type Stats } from 'node:fs';
import { z } from 'zod';
import { readRegular, UnusableFile, withoutByteOrderMark } from '../config/file.ts';
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
  /** Maximum number of running requests in one process; unlimited if absent. */
  concurrent: z.exactOptional(z.int().min(1).max(keyLimits.concurrent)),
  created_at: moment,
  expires_at: z.exactOptional(moment),
  revoked_at: z.exactOptional(moment),
  note: z.exactOptional(line.max(keyLimits.note)),
});

export type KeyRecord = z.infer<typeof keyRecord>;

/** Records are validated one by one, so that requests are served while a large file is read. */
const keyFile = z.strictObject({ version: z.literal(1), keys: z.array(z.unknown()) });

const what = 'The key file';
const howToCreate = 'Create a key with: npx facematch keys create --name NAME';

/** Returns the error for a key file that cannot be used. */
export const keyFileFault = (file: string, reason: string, fix = howToCreate) =>
  new UnusableFile(what, file, reason, fix);

/** Throws UnusableFile. */
export const readKeyFile = (file: string): KeyRecord[] => recordsOf(file, readPrivate(file).text);

/**
 * Reads a file of secrets and its `Stats`. Throws UnusableFile, for example if other users have access to the file.
 * `kind` and `fix` are parts of the error message.
 */
export function readPrivate(
  file: string,
  kind: string = what,
  fix: string = howToCreate,
): { text: string; stats: Stats } {
  const read = readRegular(kind, file, fix);
  // The group may read the file, because Kubernetes and systemd pass secrets to non-root processes that way.
  // Windows has no mode bits: Node reports 0o666 for every file there.
  if (process.platform !== 'win32' && (read.stats.mode & 0o037) !== 0 && !isOnReadOnlyMount(file)) {
    throw new UnusableFile(kind, file, 'is accessible to other users', `Run: chmod 600 ${quote(file)}`);
  }
  return read;
}

/** Docker and Kubernetes mount secrets read-only, by default readable by all users of the container. */
function isOnReadOnlyMount(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
  return false;
}

/** Parses and validates the text of a key file. Throws UnusableFile. */
export function recordsOf(file: string, text: string): KeyRecord[] {
  const turns = readRecords(file, text);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
  }
}

/**
 * Does the same as `recordsOf`, but lets the event loop run between groups of records. Requests therefore do not
 * wait for a file with thousands of keys. Rejects only with UnusableFile.
 */
export async function recordsInTurns(file: string, text: string): Promise<KeyRecord[]> {
  const turns = readRecords(file, text);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
    await new Promise(setImmediate);
  }
}

/** Number of records that are validated in one turn of the event loop, in about a millisecond. */
const recordsPerTurn = 100;

/** Yields where the event loop may run. */
function* readRecords(file: string, text: string): Generator<void, KeyRecord[]> {
  let json: unknown;
  yield;
  try {
    json = JSON.parse(withoutByteOrderMark(text));
  } catch {
    // V8's own message quotes the text, and hashes of keys do not belong in a log.
    throw keyFileFault(file, 'is not valid JSON', fix);
  }
  const outer = keyFile.safeParse(json);
  if (!outer.success) throw notAKeyFile(file, outer.error);
  const records: KeyRecord[] = [];
  const ids = new Set<string>();
  for (const [at, sent] of outer.data.keys.entries()) {
    if (at % recordsPerTurn === 0) yield;
    const { success, data, error } = keyRecord.safeParse(sent);
    if (!success) throw notAKeyFile(file, error, ['keys', at]);
    records.push(data);
    ids.add(data.id);
  }
  if (ids.size < records.length)
    throw keyFileFault(file, `${invalidAt} keys, two keys have the same id`, fix);
  yield;
  return records;
}

const fix = 'Correct it, or restore it from a backup.';
const invalidAt = 'is not a key file: at';

function notAKeyFile(file: string, { issues: [issue] }: z.ZodError, place: PropertyKey[] = []): UnusableFile {
  const path = [...place, ...(issue?.path ?? [])];
  const where = path.length === 0 ? 'the top level' : path.join('.');
  return keyFileFault(file, `${invalidAt} ${where}, ${issue?.message}`, fix);
}

/** Quotes a path for a POSIX shell if needed. */
export function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
