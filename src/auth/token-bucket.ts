/** How a bucket fills. */
export interface Quota {
  /** Tokens per second, > 0; may be a fraction. */
  readonly rate: number;
  /** Most tokens in the bucket, >= 1. */
  readonly burst: number;
}

/** Throws RangeError for a quota out of range. */
export function checkQuota({ rate, burst }: Quota): void {
  if (!(Number.isFinite(rate) && rate > 0))
    throw new RangeError(`Expected a rate above 0 but received ${rate}`);
  if (!(Number.isFinite(burst) && burst >= 1)) {
    throw new RangeError(`Expected a burst of 1 or more but received ${burst}`);
  }
}

/**
 * Tolerance for rounding: without it, a caller that waited exactly as long as it was told could still be refused, because the
 * bucket is 1e-16 short.
 */
const epsilon = 1e-9;

/**
 * A token bucket: it starts full, fills at `rate`, and admits at most `burst + rate × t` tokens in any window of t seconds.
 * Arithmetic on the given time only: O(1), no timers.
 *
 * When the clock steps back, the bucket keeps its tokens and counts on from the new time. Keeping the latest time seen would
 * lock callers out until the clock catches up.
 */
export class TokenBucket {
  #quota: Quota;
  #tokens: number;
  #updated_ms: number;

  /** Throws RangeError for a quota out of range. */
  constructor(quota: Quota, now_ms: number) {
    checkQuota(quota);
    this.#quota = quota;
    this.#tokens = quota.burst;
    this.#updated_ms = now_ms;
  }

  /** Takes `cost` tokens if there are enough, and returns whether it did. A cost of 0 always passes. */
  take(cost: number, now_ms: number): boolean {
    if (!(cost >= 0)) throw new RangeError(`Expected a cost of 0 or more but received ${cost}`);
    const tokens = this.tokens(now_ms);
    if (tokens + epsilon < cost) return false;
    this.#tokens = Math.max(0, tokens - cost);
    return true;
  }

  /** Returns tokens that were taken for nothing. */
  giveBack(tokens: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, this.tokens(now_ms) + tokens);
  }

  /** Tokens now, 0..burst. */
  tokens(now_ms: number): number {
    const elapsed_ms = now_ms - this.#updated_ms;
    if (elapsed_ms > 0) {
      this.#tokens = Math.min(this.#quota.burst, this.#tokens + (elapsed_ms * this.#quota.rate) / 1000);
    }
    this.#updated_ms = now_ms;
    return this.#tokens;
  }

  /** Seconds until there are `target` tokens; 0 when there are, Infinity when there never will be. */
  secondsUntil(target: number, now_ms: number): number {
    if (target > this.#quota.burst) return Number.POSITIVE_INFINITY;
    const missing = target - this.tokens(now_ms);
    return missing <= epsilon ? 0 : missing / this.#quota.rate;
  }

  isFull(now_ms: number): boolean {
    return this.secondsUntil(this.#quota.burst, now_ms) === 0;
  }

  /** Sets the tokens to those of another bucket of the same quota at that time. */
  follow(tokens: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, Math.max(0, tokens));
    this.#updated_ms = now_ms;
  }

  /**
   * Changes the quota of a bucket in use. Its tokens never grow by that, and the time since it was last asked counts at the slower
   * rate: whoever makes the quota flip, as replicas with different key files do, gains by neither.
   */
  requota(quota: Quota, now_ms: number): void {
    const { rate, burst } = this.#quota;
    if (quota.rate === rate && quota.burst === burst) return;
    checkQuota(quota);
    this.#quota = { rate: Math.min(rate, quota.rate), burst };
    this.#tokens = Math.min(this.tokens(now_ms), quota.burst);
    this.#quota = quota;
  }
}
