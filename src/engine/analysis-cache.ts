import { LRUCache } from 'lru-cache';
import type { AnalyseOptions, Analysis } from './addon.ts';
import type { Outcome } from './jobs.ts';
import type { Ticket } from './queue.ts';

const timings_ms = { decode: 0, detect: 0, align: 0, embed: 0 };

/**
 * Caches analyses of images for callers that compare one image with many. In memory only. The key consists of
 * the SHA-256 of the bytes, so that no image can replace another; the options; and the owner, so that
 * response times do not reveal whether another key sent the image.
 */
export class AnalysisCache {
  readonly #kept: LRUCache<string, Analysis>;
  hits = 0;
  misses = 0;

  constructor(images: number) {
    this.#kept = new LRUCache({ max: images });
  }

  get size(): number {
    return this.#kept.size;
  }

  /**
   * Analyses only the images that are not in the cache for this owner. `analyse` gets the known outcomes by
   * position.
   */
  analyse<Found extends { outcomes: readonly Outcome[] }>(
    owner: string,
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    analyse: (known: readonly (Analysis | undefined)[]) => Ticket<Found>,
  ): Ticket<Found> {
    let ticket: Ticket<Found> | undefined;
    let reason: Error | undefined;
    const look = async (): Promise<Found> => {
      const keys = await Promise.all(images.map((image) => keyOf(owner, image, options)));
      if (reason) throw reason;
      const known = keys.map((key) => this.#kept.get(key));
      const hits = known.filter((analysis) => analysis !== undefined).length;
      this.hits += hits;
      this.misses += images.length - hits;
      ticket = analyse(known);
      const found = await ticket.done;
      for (const [at, outcome] of found.outcomes.entries()) {
        // Failures and searches that were cut short are not cached, because another attempt may find more.
        if (known[at] === undefined && outcome.ok && !outcome.image.search_timed_out) {
          this.#kept.set(keys[at]!, { ...outcome, timings_ms });
        }
      }
      return found;
    };
    const done = look();
    return {
      done,
      idle: done.catch(() => {}).then(() => ticket?.idle),
      cancel: (why) => {
        reason = why;
        ticket?.cancel(why);
      },
    };
  }
}

/**
 * Hashed on a libuv thread. The copy is needed because WebCrypto rejects shared memory; it makes its own copy
 * at once.
 */
async function keyOf(owner: string, image: Uint8Array, options: AnalyseOptions): Promise<string> {
  const copy = new Uint8Array(image);
  const hashed = crypto.subtle.digest('SHA-256', copy);
  copy.fill(0);
  const digest = await hashed;
  return `${Buffer.from(digest).toString('base64')} ${JSON.stringify([owner, options])}`;
}
