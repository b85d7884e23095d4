// Generates the same random numbers for the same seed.

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Returns a separate generator for each `index`, so that requests do not affect each other. */
  static at(seed, index) {
    return new Random(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35));
  }

  /** Returns 0 ≤ x < 1 (mulberry32). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 to `end` - 1. */
  below(end) {
    return Math.floor(this.next() * end);
  }

  chance(share) {
    return this.next() < share;
  }

  pick(items) {
    return items[this.below(items.length)];
  }

  /** Returns an item of [item, weight][], chosen by weight. */
  weighted(table) {
    let left = this.next() * table.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of table) {
      left -= weight;
      if (left < 0) return item;
    }
    return table.at(-1)[0];
  }

  bytes(length) {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}
