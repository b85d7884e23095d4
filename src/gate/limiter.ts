import { type RateState, rateState } from './rate-state.ts';
import { type Quota, TokenBucket } from './token-bucket.ts';

export interface Admission {
  admitted: boolean;
  rate: RateState;
}

/** What a bucket elsewhere answered. */
export interface Decision {
  admitted: boolean;
  /** Left after it, 0..burst. */
  tokens: number;
}

/** What the gate asks: the limiter of this process answers at once, a shared one when it has heard. */
export interface RateLimiter {
  /** Charges `cost` to the bucket of `caller`. A cost above the burst could never be paid, so the whole burst pays it. */
  take(caller: string, quota: Quota, cost: number, now_ms: number): Admission | Promise<Admission>;
}

/** How many of the longest unused buckets are looked at for a full one; keeps making room O(1). */
const evictionScan = 16;

/**
 * One token bucket a caller, never more than `capacity` of them. A full bucket is worth nothing, since a fresh one is
 * full as well: those go first. Only when the longest unused ones are all part spent does the oldest go with its debt.
 */
export class Limiter implements RateLimiter {
  readonly #capacity: number;
  /** In the order of use, the longest unused first: a Map iterates in the order of insertion. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** The last of them: a caller that comes again and again, as one who guesses does, need not be moved to the end. */
  #latest: string | undefined;

  constructor(capacity: number) {
    if (!(capacity >= 1)) throw new RangeError(`Expected a capacity of 1 or more but received ${capacity}`);
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    const payable = Math.min(cost, quota.burst);
    const admitted = bucket.take(payable, now_ms);
    return { admitted, rate: rateState(bucket, quota, now_ms, admitted ? undefined : payable) };
  }

  /** Takes over what another limiter decided and what it has left, and tells it as if it were its own decision. */
  follow(caller: string, quota: Quota, cost: number, now_ms: number, decided: Decision): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.follow(decided.tokens, now_ms);
    const refused_cost = decided.admitted ? undefined : Math.min(cost, quota.burst);
    return { admitted: decided.admitted, rate: rateState(bucket, quota, now_ms, refused_cost) };
  }

  #bucket(caller: string, quota: Quota, now_ms: number): TokenBucket {
    let bucket = this.#buckets.get(caller);
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#capacity) this.#evict(now_ms);
      bucket = new TokenBucket(quota, now_ms);
    } else {
      bucket.requota(quota, now_ms);
      if (caller === this.#latest) return bucket;
      this.#buckets.delete(caller);
    }
    this.#buckets.set(caller, bucket);
    this.#latest = caller;
    return bucket;
  }

  #evict(now_ms: number): void {
    let oldest: string | undefined;
    let scanned = 0;
    for (const [caller, bucket] of this.#buckets) {
      if (bucket.isFull(now_ms)) {
        this.#buckets.delete(caller);
        return;
      }
      oldest ??= caller;
      scanned += 1;
      if (scanned === evictionScan) break;
    }
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }
}
