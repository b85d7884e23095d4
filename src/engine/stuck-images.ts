import { hash } from 'node:crypto';

/** Maximum number of lengths for which images are remembered. */
const maxLengths = 1000;

/**
 * Remembers the images at which a worker got stuck, so that none of them blocks a second worker. In memory
 * only, as hashes.
 */
export class StuckImages {
  /**
   * SHA-256 hashes by image length, so that images of other lengths need not be hashed. Oldest length first.
   */
  readonly #hashes = new Map<number, Set<string>>();

  add(image: Uint8Array): void {
    const { length } = image;
    const hashes = this.#hashes.get(length) ?? new Set();
    this.#hashes.delete(length);
    this.#hashes.set(length, hashes.add(sha256(image)));
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > maxLengths) this.#hashes.delete(oldest!);
  }

  delete(image: Uint8Array): void {
    this.#hashes.get(image.length)?.delete(sha256(image));
  }

  has(image: Uint8Array): boolean {
    return this.#hashes.get(image.length)?.has(sha256(image)) ?? false;
  }
}

/** Returns the length in hexadecimal digits. */
export function sha256(image: Uint8Array): string {
  // Copied because hash() rejects shared memory.
  const bytes = Buffer.from(image);
  const digest = hash('sha256', bytes);
  bytes.fill(0);
  return digest;
}
