import { accessSync, constants, type Stats } from 'node:fs';
import { z } from 'zod';
import { readRegular, UnusableFile, withoutMark } from '../config/file.ts';
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

/** Records are validated one by one, so that a large file can be read in turns. */
const keyFile = z.strictObject({ version: z.literal(1), keys: z.array(z.unknown()) });

const what = 'The key file';
const howToCreate = 'Make a key with: npx facematch keys create --name NAME';

/** A key file that cannot be used. */
export const keyFileFault = (file: string, reason: string, cure = howToCreate) =>
  new UnusableFile(what, file, reason, cure);

/** Throws UnusableFile. */
export const readKeyFile = (file: string): KeyRecord[] => recordsOf(file, readPrivate(file).text);

/**
 * Reads a file of secrets, with its state at the same moment. `kind` and `cure` are for messages. Throws
 * UnusableFile.
 */
export function readPrivate(
  file: string,
  kind: string = what,
  cure: string = howToCreate,
): { text: string; stats: Stats } {
  const read = readRegular(kind, file, cure);
  // The group may read it, because Kubernetes and systemd give secrets to non-root processes that way.
  // Windows has no mode bits: Node reports 0o666 for every file there.
  if (process.platform !== 'win32' && (read.stats.mode & 0o037) !== 0 && !isOnReadOnlyMount(file)) {
    throw new UnusableFile(kind, file, 'is open to other users', `Close it with: chmod 600 ${quote(file)}`);
  }
  return read;
}

/**
 * Docker and Kubernetes mount secrets there, open to all users of the container by default, and the mode
 * cannot be changed.
 */
function isOnReadOnlyMount(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
  return false;
}

/** Throws UnusableFile. */
export function recordsOf(file: string, text: string): KeyRecord[] {
  const turns = readRecords(file, text);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
  }
}

/**
 * Does the same in turns of the event loop, so that requests do not wait for a file with thousands of keys.
 * Rejects only with UnusableFile.
 */
export async function recordsInTurns(file: string, text: string): Promise<KeyRecord[]> {
  const turns = readRecords(file, text);
  for (;;) {
    const { done, value } = turns.next();
    if (done) return value;
    await new Promise(setImmediate);
  }
}

/** Number of records that are validated in one turn, in about a millisecond. */
const recordsPerTurn = 100;

/** Yields at the end of a turn. */
function* readRecords(file: string, text: string): Generator<void, KeyRecord[]> {
  let json: unknown;
  yield;
  try {
    json = JSON.parse(withoutMark(text));
  } catch {
    // V8's own message is omitted, because it quotes the text, and hashes do not belong in a log.
    throw keyFileFault(file, 'is not valid JSON', cure);
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
  if (ids.size < records.length) throw keyFileFault(file, `${notOne} keys, two keys have the same id`, cure);
  yield;
  return records;
}

const cure = 'Correct it, or restore it from a backup.';
const notOne = 'is not a key file: at';

function notAKeyFile(file: string, { issues: [issue] }: z.ZodError, place: PropertyKey[] = []): UnusableFile {
  const path = [...place, ...(issue?.path ?? [])];
  const where = path.length === 0 ? 'the top level' : path.join('.');
  return keyFileFault(file, `${notOne} ${where}, ${issue?.message}`, cure);
}

/** Quotes a path for a POSIX shell where needed. */
export function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
