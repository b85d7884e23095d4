import { type Quota, TokenBucket } from './token-bucket.ts';

/** What a client is told about its bucket, in whole units and whole seconds. */
export interface RateState {
  /** Tokens of a full bucket. */
  limit: number;
  /** Whole tokens left. */
  remaining: number;
  /** After an admitted request: until the bucket is full again. After a refused one: the same as Retry-After. */
  reset_seconds: number;
  /** How long an empty bucket takes to fill; at least 1, because `w` knows no fractions. */
  window_seconds: number;
}

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
  /**
   * Charges `cost` to the bucket of `caller`. A cost above the burst could never be paid, so the whole burst pays it.
   * `retry_cost`: what the same request takes from its start, for how long to wait after a refusal.
   */
  take(
    caller: string,
    quota: Quota,
    cost: number,
    now_ms: number,
    retry_cost?: number,
  ): Admission | Promise<Admission>;
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

  constructor(capacity: number) {
    if (!(capacity >= 1)) throw new RangeError(`Expected a capacity of 1 or more but received ${capacity}`);
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#buckets.size;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number, retry_cost = cost): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    const admitted = bucket.take(Math.min(cost, quota.burst), now_ms);
    return { admitted, rate: rateState(bucket, quota, now_ms, admitted ? undefined : retry_cost) };
  }

  /** Takes over what another limiter decided and what it has left, and tells it as if it were its own decision. */
  follow(
    caller: string,
    quota: Quota,
    retry_cost: number,
    now_ms: number,
    { admitted, tokens }: Decision,
  ): Admission {
    const bucket = this.#bucket(caller, quota, now_ms);
    bucket.follow(tokens, now_ms);
    return { admitted, rate: rateState(bucket, quota, now_ms, admitted ? undefined : retry_cost) };
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

/** `refused_cost` is what a refused request has to find when it comes again; undefined for an admitted one. */
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
      : Math.max(1, bucket.secondsUntil(Math.min(refused_cost, quota.burst), now_ms));
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
