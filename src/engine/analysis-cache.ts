import { LRUCache } from 'lru-cache';
import type { AnalyseOptions, Analysis } from './addon.ts';
import type { Outcome } from './pool.ts';
import type { Done, Ticket } from './queue.ts';

type Analyse = (images: readonly Uint8Array[], options: AnalyseOptions) => Ticket<Outcome>;

const timings_ms = { decode: 0, detect: 0, align: 0, embed: 0 };

/**
 * Analyses of images that were sent before, for callers who compare one image with many: in memory only, by the SHA-256 of the bytes, so
 * that no image can be made to stand for another, by the options, and by the owner, so that no key learns from the time of an analysis
 * whether another one sent the image.
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

  /** Analyses only the images that are not in the cache for this owner. */
  analyse(
    owner: string,
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    analyse: Analyse,
  ): Ticket<Outcome> {
    let ticket: Ticket<Outcome> | undefined;
    let reason: Error | undefined;
    const look = async (): Promise<Done<Outcome>> => {
      const keys = await Promise.all(images.map((image) => keyOf(owner, image, options)));
      if (reason) throw reason;
      const outcomes = keys.map((key): Outcome | undefined => this.#kept.get(key));
      const missing = outcomes.flatMap((outcome, index) => (outcome === undefined ? [index] : []));
      this.misses += missing.length;
      this.hits += images.length - missing.length;
      ticket = analyse(
        missing.map((index) => images[index]!),
        options,
      );
      const found = await ticket.done;
      for (const [position, index] of missing.entries()) {
        const outcome = found.outcomes[position]!;
        outcomes[index] = outcome;
        // Failures are not kept, nor is a search that was cut short: another try may find more.
        if (outcome.ok && !outcome.image.search_timed_out) {
          this.#kept.set(keys[index]!, { ...outcome, timings_ms });
        }
      }
      return { outcomes: outcomes as Outcome[], queue_ms: found.queue_ms };
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

/** Hashed on a libuv thread. The copy is needed because WebCrypto does not accept shared memory; it takes one of its own at once. */
async function keyOf(owner: string, image: Uint8Array, options: AnalyseOptions): Promise<string> {
  const copy = new Uint8Array(image);
  const hashed = crypto.subtle.digest('SHA-256', copy);
  copy.fill(0);
  const digest = await hashed;
  return `${Buffer.from(digest).toString('base64')} ${JSON.stringify([owner, options])}`;
}
