import { z } from 'zod';
import { isKeyId } from './key-format.ts';
import { isLine, keyLimits } from './key-limits.ts';
import { type Scope, scopes } from './scopes.ts';

const moment = z.iso.datetime({ error: 'expected a time such as 2030-01-31T12:00:00.000Z' });
const line = z.string().refine(isLine, { error: 'control characters are not allowed' });

const keyRecord = z.strictObject({
  id: z.string().refine(isKeyId, { error: 'expected 12 letters and digits' }),
  name: line.min(1).max(keyLimits.name),
  /** SHA-256 of the whole key, hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/, { error: 'expected 64 hexadecimal digits' }),
  scopes: z.array(z.enum(scopes)).min(1),
  /** Tokens per second. */
  rate: z.number().positive().max(keyLimits.rate),
  burst: z.int().min(1).max(keyLimits.burst),
  created_at: moment,
  expires_at: z.exactOptional(moment),
  /** May lie ahead: a rotated key with grace is retired at a set time. */
  revoked_at: z.exactOptional(moment),
  note: z.exactOptional(line.max(keyLimits.note)),
});

export type KeyRecord = z.infer<typeof keyRecord>;

/** What the operator chooses about a key. */
export interface KeySettings {
  name: string;
  scopes: readonly Scope[];
  rate: number;
  burst: number;
  expires_in_ms?: number;
  note?: string;
}

export const keyRecords = z.strictObject({
  version: z.literal(1),
  keys: z.array(keyRecord).refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, {
    error: 'two keys have the same id',
  }),
});

export type KeyStatus = 'active' | 'retiring' | 'revoked' | 'expired';

type Ends = Pick<KeyRecord, 'expires_at' | 'revoked_at'>;

/** The moment from which the key is refused, in milliseconds since the epoch; Infinity when there is none. */
export function endOf(record: Ends): number {
  const ends = [record.expires_at, record.revoked_at].map((at) =>
    at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at),
  );
  return Math.min(...ends);
}

export function statusOf(record: Ends, now_ms: number): KeyStatus {
  if (record.revoked_at !== undefined && Date.parse(record.revoked_at) <= now_ms) return 'revoked';
  if (endOf(record) <= now_ms) return 'expired';
  return record.revoked_at === undefined ? 'active' : 'retiring';
}
