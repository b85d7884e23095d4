import { type Interval, wilson } from './metrics.ts';

/** A share of trials of people, who are numbered from 0; each trial is of one person. */
export class PersonRate {
  readonly #hitsOf: Float64Array;
  readonly #trialsOf: Float64Array;

  constructor(people: number) {
    this.#hitsOf = new Float64Array(people);
    this.#trialsOf = new Float64Array(people);
  }

  add(person: number, hit: boolean): void {
    this.#trialsOf[person]!++;
    if (hit) this.#hitsOf[person]!++;
  }

  get hits(): number {
    return sumOf(this.#hitsOf);
  }

  get trials(): number {
    return sumOf(this.#trialsOf);
  }

  /** NaN without trials. */
  get rate(): number {
    return this.hits / this.trials;
  }

  /**
   * 95 %. Trials of one person are alike, so this is Wilson's interval of as many independent ones as would vary like the people
   * do (the design effect of Kish 1965). Without hits, or with nothing else, as if all were independent.
   */
  get interval(): Interval {
    const { hits, trials, rate } = this;
    const people = this.#trialsOf.filter((own) => own > 0).length;
    const squares = this.#trialsOf.reduce((sum, own, i) => sum + (this.#hitsOf[i]! - rate * own) ** 2, 0);
    const independent = trials * rate * (1 - rate);
    if (people < 2 || !(independent > 0)) return wilson(hits, trials);
    const effect = Math.max(1, ((people / (people - 1)) * squares) / independent);
    return wilson(hits / effect, trials / effect);
  }
}

function sumOf(numbers: Float64Array): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
