import { createHash } from 'node:crypto';
import type { Decision } from './limiter.ts';
import type { Quota } from './token-bucket.ts';

/**
 * The token bucket of token-bucket.ts in Redis: the same steps on the same numbers, so that both decide alike to the
 * last bit. A bucket is one string, "tokens at_ms rate burst", each with the 17 digits that a double needs; Lua's own
 * tostring would cut a time in microseconds short.
 *
 * It expires when it would be full, since a bucket that is not there is full as well.
 */
export const bucketFunction = `
local grain = 1e-9

local function take(key, now_ms, rate, burst, cost)
  local tokens = burst
  local kept = redis.call('GET', key)
  if kept then
    local held, at_ms, old_rate, old_burst = kept:match('^(%S+) (%S+) (%S+) (%S+)$')
    held, at_ms, old_rate, old_burst = tonumber(held), tonumber(at_ms), tonumber(old_rate), tonumber(old_burst)
    tokens = held
    local elapsed_ms = now_ms - at_ms
    if elapsed_ms > 0 then tokens = math.min(old_burst, held + elapsed_ms * old_rate / 1000) end
    if rate ~= old_rate or burst ~= old_burst then tokens = math.max(0, burst - (old_burst - tokens)) end
  end
  local payable = math.min(cost, burst)
  local admitted = tokens + grain >= payable
  if admitted then tokens = math.max(0, tokens - payable) end
  local fill_ms = math.ceil((burst - tokens) * 1000 / rate)
  if fill_ms > 0 then
    redis.call('SET', key, string.format('%.17g %.17g %.17g %.17g', tokens, now_ms, rate, burst), 'PX', fill_ms)
  else
    redis.call('DEL', key)
  end
  return {admitted and 1 or 0, string.format('%.17g', tokens)}
end
`;

/**
 * By Redis's clock: those of the replicas differ, and a bucket that is filled by several would gain what they differ by.
 * One atomic step, because Redis runs nothing else meanwhile.
 */
export const bucketScript = `${bucketFunction}
local seconds, microseconds = unpack(redis.call('TIME'))
return take(KEYS[1], seconds * 1000 + microseconds / 1000, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))
`;

/** By which Redis knows the script once it has seen it. */
export const bucketScriptSha1 = createHash('sha1').update(bucketScript).digest('hex');

export function bucketKey(caller: string): string {
  return `facematch:bucket:${caller}`;
}

export function bucketArguments({ rate, burst }: Quota, cost: number): [string, string, string] {
  return [String(rate), String(burst), String(cost)];
}

/** Throws an Error for anything but an answer of the script. */
export function readDecision(reply: unknown): Decision {
  const [admitted, text] = Array.isArray(reply) ? reply : [];
  const tokens = typeof text === 'string' ? Number.parseFloat(text) : Number.NaN;
  if ((admitted !== 0 && admitted !== 1) || !Number.isFinite(tokens)) {
    throw new Error('Redis gave an answer that is not of the script');
  }
  return { admitted: admitted === 1, tokens };
}
