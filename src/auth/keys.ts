import { hash, randomInt } from 'node:crypto';
import { endpoints, type Scope } from '../endpoints/index.ts';

export type { Scope };

const isScope = (scope: Scope | 'any' | 'none'): scope is Scope => scope !== 'any' && scope !== 'none';

/** What a key may be used for; each endpoint needs one of them, and two may need the same. */
export const scopes: readonly Scope[] = [...new Set(endpoints.map(({ scope }) => scope).filter(isScope))];

/** The scopes of a new key unless others are given; those of sensitive endpoints have to be asked for. */
export const defaultScopes: readonly Scope[] = scopes.filter(
  (scope) => !endpoints.some((endpoint) => endpoint.scope === scope && endpoint.sensitive),
);

export const keyLimits = {
  /** Characters. */
  name: 100,
  note: 500,
  /** Tokens per second; more than any server of this kind reaches. */
  rate: 1_000_000,
  burst: 1_000_000,
  concurrent: 100_000,
} as const;

/** Control characters would let a name rewrite the terminal that lists it. */
export const isLine = (text: string) => /^\P{Cc}*$/u.test(text);

export type KeyStatus = 'active' | 'retiring' | 'revoked' | 'expired';

interface Ends {
  expires_at?: string;
  /** May be in the future: a key that was rotated with a grace period. */
  revoked_at?: string;
}

/** When the key stops working, in milliseconds since 1970; Infinity when never. */
export function endOf({ expires_at, revoked_at }: Ends): number {
  return Math.min(momentOf(expires_at), momentOf(revoked_at));
}

export function statusOf(record: Ends, now_ms: number): KeyStatus {
  if (momentOf(record.revoked_at) <= now_ms) return 'revoked';
  if (endOf(record) <= now_ms) return 'expired';
  return record.revoked_at === undefined ? 'active' : 'retiring';
}

const momentOf = (time: string | undefined) =>
  time === undefined ? Number.POSITIVE_INFINITY : Date.parse(time);

/**
 * A key is `fm_<id>_<secret>`. The id is public. Letters and digits only: a double click selects all of it, and no shell, URL or
 * header has to quote it. The prefix lets secret scanners find leaked keys.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
/** 62^43 is the first power of 62 above 2^256. */
const secretLength = 43;

const keyPattern = new RegExp(`^fm_([0-9A-Za-z]{${idLength}})_[0-9A-Za-z]{${secretLength}}$`);
const idPattern = new RegExp(`^[0-9A-Za-z]{${idLength}}$`);
const keyLength = 'fm_'.length + idLength + '_'.length + secretLength;

/** A new key. Only its hash is stored. */
export function createKey(): { id: string; key: string } {
  const id = randomText(idLength);
  return { id, key: `fm_${id}_${randomText(secretLength)}` };
}

/** The id in a key; undefined for text without the form of a key. The length is checked first, as headers may be long. */
export function keyId(presented: string): string | undefined {
  return presented.length === keyLength ? keyPattern.exec(presented)?.[1] : undefined;
}

export const isKeyId = (text: string) => idPattern.test(text);

/** SHA-256 of the whole key, hexadecimal. A fast hash is enough for a secret of 256 random bits. */
export const keyHash = (key: string) => hash('sha256', key);

function randomText(length: number): string {
  // A byte modulo 62 would be biased; randomInt is not.
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
