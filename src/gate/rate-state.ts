import type { Quota, TokenBucket } from './token-bucket.ts';

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

/** `refused_cost` is what a refused request would have cost; leave it out for an admitted one. */
export function rateState(
  bucket: TokenBucket,
  quota: Quota,
  now_ms: number,
  refused_cost?: number,
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
