interface Last {
  owner: string;
  at_ms: number;
}

const never: Last = { owner: '', at_ms: Number.NEGATIVE_INFINITY };

/**
 * Tracks which keys have, or recently had, requests in flight, to decide whether a worker must stay free for
 * another key.
 */
export class Activity {
  /** Requests in flight, by owner. */
  readonly #inFlight = new Map<string, number>();
  /** The owner whose request ended last, and the last other owner before that. */
  #last = never;
  #other = never;

  begin(owner: string): void {
    this.#inFlight.set(owner, (this.#inFlight.get(owner) ?? 0) + 1);
  }

  end(owner: string, now_ms: number): void {
    const left = this.#inFlight.get(owner)! - 1;
    if (left > 0) this.#inFlight.set(owner, left);
    else this.#inFlight.delete(owner);
    if (this.#last.owner !== owner) this.#other = this.#last;
    this.#last = { owner, at_ms: now_ms };
  }

  /** Returns true if another owner has a request in flight, or had one since `since_ms`. */
  isAnother(owner: string, since_ms: number): boolean {
    if (this.#inFlight.size > (this.#inFlight.has(owner) ? 1 : 0)) return true;
    const { at_ms } = this.#last.owner === owner ? this.#other : this.#last;
    return at_ms > since_ms;
  }
}
