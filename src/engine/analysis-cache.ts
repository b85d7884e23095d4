import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AnalyseOptions, Analysis } from './addon.ts';
import type { Outcome } from './jobs.ts';
import type { Ticket } from './queue.ts';
import { inTurns, type Steps, step_cost } from './turns.ts';

const timings_ms = { decode: 0, detect: 0, align: 0, embed: 0 };

/**
 * Caches analyses of images in memory, for clients that compare one image with many. The cache key consists of the
 * SHA-256 of the image, the options and the owner. Without the owner, response times would reveal whether another
 * API key sent the image.
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
   * Analyses only the images that are not in the cache for this owner. `analyse` gets the cached outcomes by
   * position.
   */
  analyse<Found extends { first: readonly Outcome[] }>(
    owner: string,
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    analyse: (known: readonly (Analysis | undefined)[]) => Ticket<Found>,
  ): Ticket<Found> {
    let ticket: Ticket<Found> | undefined;
    let reason: Error | undefined;
    const analyseMissing = async (): Promise<Found> => {
      const keys = await inTurns(keysOf(owner, images, options), () => {
        if (reason) throw reason;
      });
      if (reason) throw reason;
      const known = keys.map((key) => this.#kept.get(key));
      const hits = known.filter((analysis) => analysis !== undefined).length;
      this.hits += hits;
      this.misses += images.length - hits;
      ticket = analyse(known);
      const found = await ticket.done;
      for (const [at, outcome] of found.first.entries()) {
        // Failures and searches that timed out are not cached, because another attempt may succeed.
        if (known[at] === undefined && outcome.ok && !outcome.image.search_timed_out) {
          this.#kept.set(keys[at]!, { ...outcome, timings_ms });
        }
      }
      return found;
    };
    const done = analyseMissing();
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

/** Number of bytes that one step hashes, at least four times as fast as reading single bytes. */
const hashed_bytes = 4 * step_cost;

/**
 * Computes the cache keys on the main thread, because a libuv thread would need a copy, which takes longer than
 * the hash.
 */
function* keysOf(
  owner: string,
  images: readonly Uint8Array[],
  options: AnalyseOptions,
): Steps<readonly string[]> {
  const rest = JSON.stringify([owner, options]);
  const keys: string[] = [];
  for (const image of images) {
    const hash = createHash('sha256');
    for (let from = 0; from < image.length; from += hashed_bytes) {
      hash.update(image.subarray(from, from + hashed_bytes));
      yield step_cost;
    }
    keys.push(`${hash.digest('base64')} ${rest}`);
  }
  return keys;
}
