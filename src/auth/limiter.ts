export interface Quota {
  /** Tokens per second, above 0; may be a fraction. */
  readonly rate: number;
  /** Maximum number of tokens in the bucket, at least 1. */
  readonly burst: number;
}

/** Tolerance for rounding: a caller that waited exactly the requested time must be admitted. */
const epsilon = 1e-9;

/**
 * A token bucket: it starts full, fills at `rate`, and admits at most `burst + rate × t` tokens in any window
 * of t seconds. Cost beyond the admission price is taken afterwards and may make the bucket negative. When
 * the clock steps back, the bucket keeps its tokens and continues from there, because waiting for the latest
 * time seen would lock callers out.
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

  /** Returns the current tokens, at most `burst`; negative after requests that cost more than there was. */
  tokens(now_ms: number): number {
    const elapsed_ms = now_ms - this.#updated_ms;
    if (elapsed_ms > 0) {
      this.#tokens = Math.min(this.#quota.burst, this.#tokens + (elapsed_ms * this.#quota.rate) / 1000);
    }
    this.#updated_ms = now_ms;
    return this.#tokens;
  }

  /** Returns the seconds until there are `target` tokens: 0 if there are, Infinity if there never will be. */
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
   * again; undefined for an admitted one.
   */
  state(now_ms: number, rejected_cost?: number): RateState {
    const { rate, burst } = this.#quota;
    // Retry-After and RateLimit should name the same moment (draft, "Server Behavior").
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

  /** Sets the tokens to those that another bucket of the same quota has at that time. */
  follow(tokens: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, tokens);
    this.#updated_ms = now_ms;
  }

  /**
   * Changes the quota of a bucket in use. Its tokens never grow, and the time since the last call counts at
   * the slower rate, so that a flipping quota, as with replicas that have different key files, gives no
   * advantage.
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
  /** Seconds until the bucket is full; after a rejected request the same as Retry-After. */
  reset_seconds: number;
  /** Seconds that an empty bucket takes to fill, at least 1, because `w` is an integer. */
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

/** Interface of the gate's limiters: a local one returns a result, a shared one a promise. */
export interface RateLimiter {
  /**
   * `paid`: tokens that the request has paid before. A client that sends it again pays both, so both
   * determine the wait after a rejection.
   */
  take(
    caller: string,
    quota: Quota,
    cost: number,
    now_ms: number,
    paid?: number,
  ): Admission | Promise<Admission>;
  /**
   * Takes cost beyond the admission price without a check, or returns (negative) the tokens of a request that
   * was not served. Returns the state of the bucket as far as this process knows it.
   */
  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState;
}

/**
 * Maximum number of least recently used buckets that are searched for a full one, which keeps eviction O(1).
 */
const evictionScan = 16;

/**
 * One token bucket per caller, at most `capacity` of them. Evicts a full one, which loses nothing, or else
 * the oldest.
 */
export class Limiter implements RateLimiter {
  readonly #capacity: number;
  /** A Map iterates in the order of insertion, so the least recently used comes first. */
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

  /**
   * Applies the decision and the remaining tokens of another limiter, and returns it like a local decision.
   */
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
    let chosen: string | undefined;
    let scanned = 0;
    for (const [caller, bucket] of this.#buckets) {
      const full = bucket.isFull(now_ms);
      if (full || chosen === undefined) chosen = caller;
      if (full || ++scanned === evictionScan) break;
    }
    this.#buckets.delete(chosen!);
  }
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` (§ 3) with the quota q and its window w, `RateLimit` (§ 4)
 * with what remains r and the effective window t. The policy's name is a String of RFC 9651, hence the quotes.
 */
export function rateHeaders(rate: RateState): [string, string][] {
  return [
    ['RateLimit-Policy', `"default";q=${rate.limit};w=${rate.window_seconds}`],
    ['RateLimit', `"default";r=${rate.remaining};t=${rate.reset_seconds}`],
  ];
}
