import { type Quota, TokenBucket } from './token-bucket.ts';

/** The state of a bucket for the client, in whole tokens and whole seconds. */
export interface RateState {
  /** Tokens of a full bucket. */
  limit: number;
  /** Whole tokens left. */
  remaining: number;
  /** After an admitted request: until the bucket is full again. After a refused one: the same as Retry-After. */
  reset_seconds: number;
  /** How long an empty bucket takes to fill; at least 1, because `w` is an integer. */
  window_seconds: number;
}

export interface Admission {
  admitted: boolean;
  rate: RateState;
}

/** The answer of a bucket in Redis. */
export interface BucketDecision {
  admitted: boolean;
  /** Tokens left, 0..burst. */
  tokens: number;
}

/** What the gate asks: a local limiter answers at once, a shared one with a promise. */
export interface RateLimiter {
  /**
   * Charges `cost` to the bucket of `caller`. `paid`: what the same request has paid before; when it is sent again it pays
   * both, which decides the wait after a refusal. A price above the burst can never be paid: the gate refuses it.
   */
  take(
    caller: string,
    quota: Quota,
    cost: number,
    now_ms: number,
    paid?: number,
  ): Admission | Promise<Admission>;
  /** Returns tokens of a request that was not served; the state of the bucket as far as this process knows it. */
  giveBack(caller: string, quota: Quota, tokens: number, now_ms: number): RateState;
}

/** How many of the least recently used buckets are searched for a full one; keeps eviction O(1). */
const evictionScan = 16;

/**
 * One token bucket for each caller, at most `capacity` of them. Full buckets are evicted first: nothing is lost, because a new
 * one is full too. If none of the least recently used ones is full, the oldest is evicted.
 */
export class Limiter implements RateLimiter {
  readonly #capacity: number;
  /** Least recently used first: a Map iterates in the order of insertion. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(capacity: number) {
    if (!(capacity >= 1)) throw new RangeError(`Expected a capacity of 1 or more but received ${capacity}`);
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number, paid = 0): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    const admitted = bucket.take(cost, now_ms);
    return { admitted, rate: rateState(bucket, quota, now_ms, admitted ? undefined : paid + cost) };
  }

  giveBack(caller: string, quota: Quota, tokens: number, now_ms: number): RateState {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.giveBack(tokens, now_ms);
    return rateState(bucket, quota, now_ms, undefined);
  }

  /** Copies the decision and the remaining tokens of another limiter, and returns it like a decision of its own. */
  follow(
    caller: string,
    quota: Quota,
    price: number,
    now_ms: number,
    { admitted, tokens }: BucketDecision,
  ): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.follow(tokens, now_ms);
    return { admitted, rate: rateState(bucket, quota, now_ms, admitted ? undefined : price) };
  }

  #bucket(caller: string, quota: Quota, now_ms: number): TokenBucket {
    let bucket = this.#buckets.get(caller);
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#capacity) this.#evict(now_ms);
      bucket = new TokenBucket(quota, now_ms);
    } else {
      bucket.requota(quota, now_ms);
      this.#buckets.delete(caller);
    }
    this.#buckets.set(caller, bucket);
    return bucket;
  }

  #evict(now_ms: number): void {
    let chosen: string | undefined;
    let scanned = 0;
    for (const [caller, bucket] of this.#buckets) {
      chosen ??= caller;
      scanned += 1;
      const full = bucket.isFull(now_ms);
      if (full) chosen = caller;
      if (full || scanned === evictionScan) break;
    }
    if (chosen !== undefined) this.#buckets.delete(chosen);
  }
}

/** `refused_cost`: what a refused request needs when it is sent again; undefined for an admitted one. */
function rateState(
  bucket: TokenBucket,
  quota: Quota,
  now_ms: number,
  refused_cost: number | undefined,
): RateState {
  // If Retry-After and RateLimit both occur, they should name one moment (draft, "Server Behavior").
  const wait =
    refused_cost === undefined
      ? bucket.secondsUntil(quota.burst, now_ms)
      : Math.max(1, bucket.secondsUntil(refused_cost, now_ms));
  return {
    limit: quota.burst,
    remaining: Math.floor(bucket.tokens(now_ms)),
    reset_seconds: Math.ceil(wait),
    window_seconds: Math.max(1, Math.ceil(quota.burst / quota.rate)),
  };
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` (§ 3) with the quota q and its window w,
 * `RateLimit` (§ 4) with what remains r and the effective window t. Both are Lists of Strings with Integer parameters
 * (RFC 9651), hence the quotes around the policy's name.
 */
export function rateHeaders(rate: RateState): [string, string][] {
  return [
    ['RateLimit-Policy', `"default";q=${rate.limit};w=${rate.window_seconds}`],
    ['RateLimit', `"default";r=${rate.remaining};t=${rate.reset_seconds}`],
  ];
}
