import { hash, randomInt } from 'node:crypto';

/**
 * A key is `fm_<id>_<secret>`. The id is public: it names the key in lists, in logs and to `keys revoke`. Letters and
 * digits only, so that a double click selects the whole key and no shell, URL or header needs to quote it; the fixed
 * prefix lets secret scanners find one that leaked.
 */
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const idLength = 12;
/** 62^43 is the first power of 62 above 2^256. */
const secretLength = 43;

const keyPattern = new RegExp(`^fm_([0-9A-Za-z]{${idLength}})_[0-9A-Za-z]{${secretLength}}$`);
const idPattern = new RegExp(`^[0-9A-Za-z]{${idLength}}$`);
const keyLength = 'fm_'.length + idLength + '_'.length + secretLength;

/** A new key; the only place where one exists in full. */
export function createKey(): { id: string; key: string } {
  const id = randomText(idLength);
  return { id, key: `fm_${id}_${randomText(secretLength)}` };
}

/** The id inside a presented key, undefined when it cannot be a key. The length comes first: a header may be long. */
export function keyId(presented: string): string | undefined {
  return presented.length === keyLength ? keyPattern.exec(presented)?.[1] : undefined;
}

export function isKeyId(text: string): boolean {
  return idPattern.test(text);
}

/**
 * SHA-256 of the whole key in hex, as the key file has it. A fast hash is right here: the secret is 256 random bits,
 * which no dictionary holds and nobody can count through, so the slowness of a password hash would cost every request
 * and protect nothing.
 */
export function keyHash(key: string): string {
  return hash('sha256', key);
}

function randomText(length: number): string {
  // randomInt draws without the bias that a byte modulo 62 would have.
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
