import { type Interval, wilson, z } from './wilson.ts';

interface Share {
  hits: number;
  pairs: number;
}

/**
 * A share of pairs of people. Thousands of pairs share one face, so they are far fewer than their number says: how sure
 * the share is comes from leaving out one person at a time (the delete-one jackknife).
 */
export class PairRate {
  readonly #all: Share = { hits: 0, pairs: 0 };
  readonly #byPerson = new Map<string, Share>();

  add(first: string, second: string, hit: boolean): void {
    const hits = hit ? 1 : 0;
    for (const share of [this.#all, this.#of(first), this.#of(second)]) {
      share.hits += hits;
      share.pairs++;
    }
  }

  get pairs(): number {
    return this.#all.pairs;
  }

  /** NaN of no pairs. */
  get rate(): number {
    return this.#all.hits / this.#all.pairs;
  }

  /** 95 %, even in the logarithm, as rates near 0 are not otherwise. Without a hit, as if pairs were independent. */
  get interval(): Interval {
    const { hits, pairs } = this.#all;
    const left = [...this.#byPerson.values()]
      .map((own) => ({ hits: hits - own.hits, pairs: pairs - own.pairs }))
      .filter((rest) => rest.pairs > 0)
      .map((rest) => rest.hits / rest.pairs);
    if (hits === 0 || left.length < 2) return wilson(hits, pairs);
    const mean = left.reduce((sum, rate) => sum + rate, 0) / left.length;
    const squares = left.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
    const deviation = Math.sqrt(((left.length - 1) / left.length) * squares);
    const factor = Math.exp((z * deviation) / this.rate);
    return [this.rate / factor, Math.min(1, this.rate * factor)];
  }

  #of(person: string): Share {
    const known = this.#byPerson.get(person);
    if (known) return known;
    const share = { hits: 0, pairs: 0 };
    this.#byPerson.set(person, share);
    return share;
  }
}
