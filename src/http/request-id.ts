import { randomFillSync } from 'node:crypto';

/**
 * Names a request in the answer and in the log. Our own have the form of a ULID: 48 bits of time and 80 random bits in
 * Crockford's base 32, so that they sort by time and nobody can guess another's.
 */

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const codes = Buffer.from(alphabet);
const time_digits = 10;
const random_digits = 16;

/** Random digits are drawn for many ids at once: a call into the generator costs more than all the rest. */
const pool = Buffer.allocUnsafeSlow(256 * random_digits);
let drawn = pool.length;

export function newRequestId(now_ms = Date.now()): string {
  if (drawn === pool.length) refill();
  drawn += random_digits;
  return timeDigits(now_ms) + pool.toString('latin1', drawn - random_digits, drawn);
}

function refill(): void {
  randomFillSync(pool);
  for (let at = 0; at < pool.length; at++) pool[at] = codes[pool[at]! & 31]!;
  drawn = 0;
}

/** Of the latest millisecond, which many requests may share. */
let latest = { now_ms: -1, digits: '' };

function timeDigits(now_ms: number): string {
  if (now_ms !== latest.now_ms) latest = { now_ms, digits: digitsOf(now_ms) };
  return latest.digits;
}

function digitsOf(now_ms: number): string {
  let digits = '';
  let rest = now_ms;
  for (let digit = 0; digit < time_digits; digit++) {
    digits = alphabet[rest % 32] + digits;
    rest = Math.floor(rest / 32);
  }
  return digits;
}

/** The client's own X-Request-Id when it may be kept (it goes into a header and a log line), or a new one. */
export function requestId(sent: string | undefined): string {
  return sent !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : newRequestId();
}
