export interface Quota {
  /** Tokens per second, above 0; may be a fraction. */
  readonly rate: number;
  /** Maximum number of tokens in the bucket, at least 1. */
  readonly burst: number;
}

/** Tolerance for rounding: a caller that waited exactly the requested time must be admitted. */
const epsilon = 1e-9;

/**
 * A token bucket. It starts full, fills at `rate`, and admits at most `burst + rate × t` tokens in any window of
 * t seconds. Cost that is known only after admission is taken afterwards and may make the bucket negative. When
 * the clock steps back, the bucket keeps its tokens and fills from the new time. Otherwise it would not fill
 * until the clock reaches the old time again.
 */
export class TokenBucket {
  #quota: Quota;
  #tokens: number;
  #updated_ms: number;

  constructor(quota: Quota, now_ms: number) {
    this.#quota = quota;
    this.#tokens = quota.burst;
    this.#updated_ms = now_ms;
  }

  /** Takes `cost` tokens if there are enough, and returns whether it did. A cost of 0 is always admitted. */
  take(cost: number, now_ms: number): boolean {
    const tokens = this.tokens(now_ms);
    if (cost <= 0) return true;
    if (tokens + epsilon < cost) return false;
    this.#tokens = Math.max(0, tokens - cost);
    return true;
  }

  /** Takes `cost` tokens without a check; a negative cost returns tokens. */
  settle(cost: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, this.tokens(now_ms) - cost);
  }

  /** Returns the current tokens, at most `burst`; negative after requests that cost more than the bucket held. */
  tokens(now_ms: number): number {
    const elapsed_ms = now_ms - this.#updated_ms;
    if (elapsed_ms > 0) {
      this.#tokens = Math.min(this.#quota.burst, this.#tokens + (elapsed_ms * this.#quota.rate) / 1000);
    }
    this.#updated_ms = now_ms;
    return this.#tokens;
  }

  /** Returns the seconds until the bucket holds `target` tokens; Infinity if `target` exceeds `burst`. */
  secondsUntil(target: number, now_ms: number): number {
    if (target > this.#quota.burst) return Number.POSITIVE_INFINITY;
    const missing = target - this.tokens(now_ms);
    return missing <= epsilon ? 0 : missing / this.#quota.rate;
  }

  isFull(now_ms: number): boolean {
    return this.secondsUntil(this.#quota.burst, now_ms) === 0;
  }

  /**
   * Returns the state for the client. `rejected_cost`: tokens that a rejected request needs when it is sent
   * again; undefined for an admitted request.
   */
  state(now_ms: number, rejected_cost?: number): RateState {
    const { rate, burst } = this.#quota;
    // Retry-After and RateLimit should give the same time (draft-ietf-httpapi-ratelimit-headers, "Server Behavior").
    const wait =
      rejected_cost === undefined
        ? this.secondsUntil(burst, now_ms)
        : Math.max(1, this.secondsUntil(rejected_cost, now_ms));
    return {
      limit: burst,
      remaining: Math.max(0, Math.floor(this.tokens(now_ms))),
      reset_seconds: Math.ceil(wait),
      window_seconds: Math.max(1, Math.ceil(burst / rate)),
    };
  }

  /** Sets the tokens to those of another bucket with the same quota. */
  follow(tokens: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, tokens);
    this.#updated_ms = now_ms;
  }

  /**
   * Changes the quota of a bucket in use. The change adds no tokens, and the time since the last call fills the
   * bucket at the slower rate. A quota that alternates, as with replicas that have different key files, therefore
   * adds no tokens.
   */
  requota(quota: Quota, now_ms: number): void {
    const { rate, burst } = this.#quota;
    if (quota.rate === rate && quota.burst === burst) return;
    this.#quota = { rate: Math.min(rate, quota.rate), burst };
    this.#tokens = Math.min(this.tokens(now_ms), quota.burst);
    this.#quota = quota;
  }
}

/** State of a bucket for the client, in whole tokens and whole seconds. */
export interface RateState {
  /** Tokens of a full bucket. */
  limit: number;
  remaining: number;
  /** Seconds until the bucket is full; after a rejection by this bucket, equal to Retry-After. */
  reset_seconds: number;
  /** Seconds to fill an empty bucket, rounded up to an integer. */
  window_seconds: number;
}

export interface Admission {
  admitted: boolean;
  rate: RateState;
}

export interface BucketDecision {
  admitted: boolean;
  /** Tokens left, at most `burst`. */
  tokens: number;
}

/** Interface of the gate's limiters. A local limiter returns a result, a shared one may return a promise. */
export interface RateLimiter {
  /**
   * `paid`: tokens that the request has taken before. A client that sends the request again needs both `paid` and
   * `cost`, so their sum determines the wait after a rejection.
   */
  take(
    caller: string,
    quota: Quota,
    cost: number,
    now_ms: number,
    paid?: number,
  ): Admission | Promise<Admission>;
  /**
   * Takes `cost` tokens without a check; a negative cost returns the tokens of a request that was not served.
   * Returns the state of the bucket as far as this process knows it.
   */
  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState;
}

/** Maximum number of buckets that an eviction checks, least recently used first. The limit keeps eviction O(1). */
const evictionScan = 16;

/**
 * One token bucket per caller, at most `capacity` in total. Prefers to evict a full bucket, because a new bucket
 * starts full too; otherwise evicts the least recently used bucket.
 */
export class Limiter implements RateLimiter {
  readonly #capacity: number;
  /** Least recently used first, because each use deletes the entry and inserts it again. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number, paid = 0): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    const admitted = bucket.take(cost, now_ms);
    return { admitted, rate: bucket.state(now_ms, admitted ? undefined : paid + cost) };
  }

  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.settle(cost, now_ms);
    return bucket.state(now_ms);
  }

  /** Applies a decision of another limiter to the local bucket, and returns it in the form of a local decision. */
  follow(
    caller: string,
    quota: Quota,
    requested_tokens: number,
    now_ms: number,
    { admitted, tokens }: BucketDecision,
  ): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.follow(tokens, now_ms);
    return { admitted, rate: bucket.state(now_ms, admitted ? undefined : requested_tokens) };
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
    let evicted: string | undefined;
    let scanned = 0;
    for (const [caller, bucket] of this.#buckets) {
      const full = bucket.isFull(now_ms);
      if (full || evicted === undefined) evicted = caller;
      if (full || ++scanned === evictionScan) break;
    }
    this.#buckets.delete(evicted!);
  }
}

/**
 * Returns the headers of draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` (§ 3) with the quota q and
 * its window w, and `RateLimit` (§ 4) with the remaining quota r and the effective window t. The policy name is
 * a quoted String (RFC 9651).
 */
export function rateHeaders(rate: RateState): [string, string][] {
  return [
    ['RateLimit-Policy', `"default";q=${rate.limit};w=${rate.window_seconds}`],
    ['RateLimit', `"default";r=${rate.remaining};t=${rate.reset_seconds}`],
  ];
}
