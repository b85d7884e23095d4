import { createHash } from 'node:crypto';

/** Maximum number of lengths for which images are remembered. */
const maxLengths = 1000;

/**
 * Remembers the images at which a worker got stuck, so that none of them blocks a second worker. In memory
 * only, as hashes.
 */
export class StuckImages {
  /**
   * Hashes of the beginnings of images, by the length of the image, so that images of other lengths need not be
   * hashed. Oldest length first.
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

/**
 * Number of bytes at the beginning of an image that are hashed. The main thread hashes all images of a request
 * at once, so the time must not depend on their size.
 */
export const hashed_bytes = 1024 * 1024;

/** Returns the hash of an image's first MiB, in hexadecimal. */
export function sha256(image: Uint8Array): string {
  return createHash('sha256').update(image.subarray(0, hashed_bytes)).digest('hex');
}
