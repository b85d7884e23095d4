import { hash, randomInt } from 'node:crypto';
import { endpoints, type Scope } from '../endpoints/index.ts';

export type { Scope };

const isScope = (scope: Scope | 'any' | 'none'): scope is Scope => scope !== 'any' && scope !== 'none';

/** The scopes that a key can have. Several endpoints may require the same scope, and some require none. */
export const scopes: readonly Scope[] = [...new Set(endpoints.map(({ scope }) => scope).filter(isScope))];

/** Default scopes of a new key: all except those of sensitive endpoints. */
export const defaultScopes: readonly Scope[] = scopes.filter(
  (scope) => !endpoints.some((endpoint) => endpoint.scope === scope && endpoint.sensitive),
);

export const keyLimits = {
  /** Maximum length of a name in characters. */
  name: 100,
  note: 500,
  /** Maximum rate in tokens per second, far above what one server can process. */
  rate: 1_000_000,
  burst: 1_000_000,
  concurrent: 100_000,
} as const;

/** Returns true if the text has no control characters, which could affect a terminal. */
export const isLine = (text: string) => /^\P{Cc}*$/u.test(text);

export type KeyStatus = 'active' | 'retiring' | 'revoked' | 'expired';

interface ValidityEnd {
  expires_at?: string;
  /** May be in the future for a key that was rotated with a grace period. */
  revoked_at?: string;
}

/** Returns when the key stops working, in milliseconds since 1970, or Infinity. */
export function endOf({ expires_at, revoked_at }: ValidityEnd): number {
  return Math.min(momentOf(expires_at), momentOf(revoked_at));
}

export function statusOf(record: ValidityEnd, now_ms: number): KeyStatus {
  if (momentOf(record.revoked_at) <= now_ms) return 'revoked';
  if (endOf(record) <= now_ms) return 'expired';
  return record.revoked_at === undefined ? 'active' : 'retiring';
}

const momentOf = (time: string | undefined) =>
  time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time);

/**
 * A key is `fm_<id>_<secret>`; the id is public. Keys have only letters, digits and underscores, so a double click
 * selects a whole key, and shells, URLs and headers need no quotes. The prefix lets secret scanners find
 * leaked keys.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
/** 62^43 is the first power of 62 above 2^256. */
const secretLength = 43;

const keyPattern = new RegExp(`^fm_([0-9A-Za-z]{${idLength}})_[0-9A-Za-z]{${secretLength}}$`);
const idPattern = new RegExp(`^[0-9A-Za-z]{${idLength}}$`);
const keyLength = 'fm_'.length + idLength + '_'.length + secretLength;

/** Creates a key. Only its hash is stored. */
export function createKey(): { id: string; key: string } {
  const id = randomText(idLength);
  return { id, key: `fm_${id}_${randomText(secretLength)}` };
}

/**
 * Returns the id in a key, or undefined for text that is not in the format of a key. Checks the length first,
 * because headers may be long.
 */
export function keyId(presented: string): string | undefined {
  return presented.length === keyLength ? keyPattern.exec(presented)?.[1] : undefined;
}

export const isKeyId = (text: string) => idPattern.test(text);

/**
 * Returns the SHA-256 of the whole key in hexadecimal. A fast hash is enough for a secret of 256 random bits.
 */
export const keyHash = (key: string) => hash('sha256', key);

function randomText(length: number): string {
  // A byte modulo 62 would be biased; randomInt is not.
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
