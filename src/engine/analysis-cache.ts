import { LRUCache } from 'lru-cache';
import type { AnalyseOptions, Analysis } from './addon.ts';
import type { Outcome } from './pool.ts';
import type { Done, Ticket } from './queue.ts';

/** Sends the pictures to the workers. */
type Analyse = (pictures: readonly Uint8Array[], options: AnalyseOptions) => Ticket<Outcome>;

/** A picture that was known took no time. */
const timings_ms = { decode: 0, detect: 0, align: 0, embed: 0 };

/**
 * What was found in pictures that were seen before, for callers who compare one picture with many. In memory alone; bounded
 * by the number of pictures, the least recently used goes first.
 *
 * The key is the SHA-256 of a picture's bytes with the options: nobody finds two pictures of one digest, so none can be made
 * to pass for another.
 */
export class AnalysisCache {
  readonly #kept: LRUCache<string, Analysis>;
  /** Pictures that were looked for, and were there or were not. */
  hits = 0;
  misses = 0;

  constructor(pictures: number) {
    this.#kept = new LRUCache({ max: pictures });
  }

  /** Pictures that are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /** Has only those pictures analysed that are not known. */
  analyse(pictures: readonly Uint8Array[], options: AnalyseOptions, analyse: Analyse): Ticket<Outcome> {
    let ticket: Ticket<Outcome> | undefined;
    let reason: Error | undefined;
    const look = async (): Promise<Done<Outcome>> => {
      const keys = await Promise.all(pictures.map((picture) => keyOf(picture, options)));
      if (reason) throw reason;
      const outcomes = keys.map((key): Outcome | undefined => this.#kept.get(key));
      const missing = outcomes.flatMap((outcome, index) => (outcome === undefined ? [index] : []));
      this.misses += missing.length;
      this.hits += pictures.length - missing.length;
      ticket = analyse(
        missing.map((index) => pictures[index]!),
        options,
      );
      const found = await ticket.done;
      for (const [position, index] of missing.entries()) {
        const outcome = found.outcomes[position]!;
        this.#keep(keys[index]!, outcome);
        outcomes[index] = outcome;
      }
      return { outcomes: outcomes as Outcome[], queue_ms: found.queue_ms };
    };
    const done = look();
    const idle = done.then(
      () => ticket!.idle,
      () => ticket?.idle,
    );
    return {
      done,
      idle,
      cancel: (why) => {
        reason = why;
        ticket?.cancel(why);
      },
    };
  }

  /** Neither failures nor what was cut short, which another look would find. */
  #keep(key: string, outcome: Outcome): void {
    if (outcome.ok && !outcome.image.look_cut_short) this.#kept.set(key, { ...outcome, timings_ms });
  }
}

/** Hashed on a thread of libuv's, which takes no shared memory, hence the copy. */
async function keyOf(picture: Uint8Array, options: AnalyseOptions): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(picture));
  return `${Buffer.from(digest).toString('base64')} ${JSON.stringify(options)}`;
}
