/** What a bucket is filled by. */
export interface Quota {
  /** Tokens that flow in per second, > 0; fractions are fine. */
  readonly rate: number;
  /** Most tokens that it holds, >= 1. */
  readonly burst: number;
}

/** Throws RangeError for a quota that would let all or nothing through. */
export function checkQuota({ rate, burst }: Quota): void {
  if (!(Number.isFinite(rate) && rate > 0))
    throw new RangeError(`Expected a rate above 0 but received ${rate}`);
  if (!(Number.isFinite(burst) && burst >= 1)) {
    throw new RangeError(`Expected a burst of 1 or more but received ${burst}`);
  }
}

/**
 * Sums of fractions drift in the last digits. Without this grain a caller that waited exactly as long as it was told
 * could find a bucket that is 1e-16 short, and be refused once more.
 */
const grain = 1e-9;

/**
 * A token bucket: it starts full, fills at `rate`, and never lets more than `burst + rate × t` through in any window of
 * t seconds. Pure arithmetic on the clock it is handed, O(1), no timers.
 *
 * A clock that steps back adds nothing and takes nothing: the bucket counts on from the new time. Clinging to the
 * latest time ever seen would instead lock every caller out until the clock has caught up.
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

  /** Takes `cost` tokens when there are as many, and tells whether it did. A cost of 0 always passes. */
  take(cost: number, now_ms: number): boolean {
    if (!(cost >= 0)) throw new RangeError(`Expected a cost of 0 or more but received ${cost}`);
    const tokens = this.tokens(now_ms);
    if (tokens + grain < cost) return false;
    this.#tokens = Math.max(0, tokens - cost);
    return true;
  }

  /** Tokens at this moment, 0..burst. */
  tokens(now_ms: number): number {
    const elapsed_ms = now_ms - this.#updated_ms;
    if (elapsed_ms > 0) {
      this.#tokens = Math.min(this.#quota.burst, this.#tokens + (elapsed_ms * this.#quota.rate) / 1000);
    }
    this.#updated_ms = now_ms;
    return this.#tokens;
  }

  /** Seconds until there are `target` tokens, 0 when there are already; Infinity when there never will be. */
  secondsUntil(target: number, now_ms: number): number {
    if (target > this.#quota.burst) return Number.POSITIVE_INFINITY;
    const missing = target - this.tokens(now_ms);
    return missing <= grain ? 0 : missing / this.#quota.rate;
  }

  isFull(now_ms: number): boolean {
    return this.secondsUntil(this.#quota.burst, now_ms) === 0;
  }

  /** Takes over what another bucket of the same quota held at that moment. */
  follow(tokens: number, now_ms: number): void {
    this.#tokens = Math.min(this.#quota.burst, Math.max(0, tokens));
    this.#updated_ms = now_ms;
  }

  /** Changes the quota of a running bucket: what was spent stays spent, and a smaller burst caps what is left. */
  requota(quota: Quota, now_ms: number): void {
    if (quota.rate === this.#quota.rate && quota.burst === this.#quota.burst) return;
    checkQuota(quota);
    const spent = this.#quota.burst - this.tokens(now_ms);
    this.#quota = quota;
    this.#tokens = Math.max(0, quota.burst - spent);
  }
}
