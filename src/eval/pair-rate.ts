import { type Interval, wilson, z } from './wilson.ts';

/**
 * A share of pairs of people, who are numbered from 0. Thousands of pairs share one face, so they are far fewer than their
 * number says: how sure the share is comes from leaving out one person at a time (the delete-one jackknife).
 */
export class PairRate {
  #hits = 0;
  #pairs = 0;
  readonly #hitsOf: Float64Array;
  readonly #pairsOf: Float64Array;

  constructor(people: number) {
    this.#hitsOf = new Float64Array(people);
    this.#pairsOf = new Float64Array(people);
  }

  add(first: number, second: number, hit: boolean): void {
    this.#pairs++;
    this.#pairsOf[first]!++;
    this.#pairsOf[second]!++;
    if (!hit) return;
    this.#hits++;
    this.#hitsOf[first]!++;
    this.#hitsOf[second]!++;
  }

  get pairs(): number {
    return this.#pairs;
  }

  /** NaN of no pairs. */
  get rate(): number {
    return this.#hits / this.#pairs;
  }

  /** 95 %, even in the logarithm, as rates near 0 are not otherwise. Without a hit, as if pairs were independent. */
  get interval(): Interval {
    const left: number[] = [];
    for (const [person, own] of this.#pairsOf.entries()) {
      const pairs = this.#pairs - own;
      if (own > 0 && pairs > 0) left.push((this.#hits - this.#hitsOf[person]!) / pairs);
    }
    if (this.#hits === 0 || left.length < 2) return wilson(this.#hits, this.#pairs);
    const mean = left.reduce((sum, rate) => sum + rate, 0) / left.length;
    const squares = left.reduce((sum, rate) => sum + (rate - mean) ** 2, 0);
    const deviation = Math.sqrt(((left.length - 1) / left.length) * squares);
    const factor = Math.exp((z * deviation) / this.rate);
    return [this.rate / factor, Math.min(1, this.rate * factor)];
  }
}
