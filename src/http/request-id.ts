import { randomFillSync } from 'node:crypto';

/**
 * Names a request in the answer and in the log. Our own have the form of a ULID: 48 bits of time and 80 random bits in
 * Crockford's base 32, so that they sort by time and nobody can guess another's.
 */

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const time_digits = 10;
const random_digits = 16;

/** Random bytes are drawn for many ids at once: a call into the generator costs more than all the rest. */
const pool = Buffer.allocUnsafeSlow(256 * random_digits);
let drawn = pool.length;

export function newRequestId(now_ms = Date.now()): string {
  let id = '';
  let rest = now_ms;
  for (let digit = 0; digit < time_digits; digit++) {
    id = alphabet[rest % 32] + id;
    rest = Math.floor(rest / 32);
  }
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  for (let digit = 0; digit < random_digits; digit++) id += alphabet[pool[drawn++]! & 31];
  return id;
}

/** The client's own X-Request-Id when it may be kept (it goes into a header and a log line), or a new one. */
export function requestId(sent: string | undefined): string {
  return sent !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : newRequestId();
}
