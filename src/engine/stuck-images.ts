import { createHash } from 'node:crypto';

/** Maximum number of image lengths that are stored. */
const maxLengths = 1000;

/** Stores hashes of the images on which a worker got stuck, in memory only, so that no image blocks a second worker. */
export class StuckImages {
  /**
   * Hashes of the first MiB of images, by the length of the image, so that only images of a stored length are
   * hashed. The oldest length comes first.
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

/** Maximum number of bytes of an image that are hashed, because hashing blocks the main thread. */
export const hashed_bytes = 1024 * 1024;

/** Returns the hash of an image's first MiB, in hexadecimal. */
export function sha256(image: Uint8Array): string {
  return createHash('sha256').update(image.subarray(0, hashed_bytes)).digest('hex');
}
