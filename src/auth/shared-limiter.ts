import { setTimeout as pause } from 'node:timers/promises';
import type { RedisAddress } from '../config/redis-address.ts';
import { type Admission, Limiter, type RateLimiter, type RateState } from './limiter.ts';
import { RedisClient } from './redis-client.ts';
import type { Quota } from './token-bucket.ts';

interface SharedLimiterOptions {
  address: RedisAddress;
  /** Most callers that are remembered here. */
  capacity: number;
  /** From now on Redis decides. */
  onUp(): void;
  /** From now on this process decides alone; `reason` is one line without a password. Called once for each change. */
  onDown(reason: string): void;
  /** This process decided one request alone. */
  onFallback(): void;
  /** Redis decided one request, in this time. */
  onDecision(seconds: number): void;
}

/** The pause before a new connection is random, so that replicas that lost Redis together do not reconnect together. */
const leastPause_ms = 100;
const longestPause_ms = 1000;

/**
 * Token buckets that several processes share in Redis. Each has a local mirror with the last state that Redis reported:
 *
 * - The mirror fills like the shared bucket, and other processes can only take tokens from that one. So what the mirror
 *   refuses, Redis would refuse too, and Redis is not asked.
 * - When Redis is not reachable, the mirror decides, starting from the last known state and not with a fresh burst. No
 *   request waits for it then; new connections are tried in the background.
 */
export class SharedLimiter implements RateLimiter {
  readonly #options: SharedLimiterOptions;
  readonly #mirrors: Limiter;
  /** undefined while Redis is not reachable. */
  #client: RedisClient | undefined;
  /** onDown was called, so that it is called once for each outage. */
  #down = false;
  #ended = false;

  /** Returns at once; the first connection is tried in the background. */
  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.#mirrors = new Limiter(options.capacity);
    void this.#keepConnected();
  }

  get up(): boolean {
    return this.#client !== undefined;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number, paid = 0): Admission | Promise<Admission> {
    const mirrored = this.#mirrors.take(caller, quota, cost, now_ms, paid);
    if (this.#client === undefined) {
      this.#options.onFallback();
      return mirrored;
    }
    if (!mirrored.admitted) return mirrored;
    const asked = performance.now();
    return this.#client.take(caller, quota, cost).then(
      (decision) => {
        this.#options.onDecision((performance.now() - asked) / 1000);
        // With the time of the question: a mirror slightly ahead of the shared bucket refuses nobody wrongly.
        return this.#mirrors.follow(caller, quota, paid + cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  giveBack(caller: string, quota: Quota, tokens: number, now_ms: number): RateState {
    // Nobody waits for Redis here. Without it the tokens are back in the mirror only.
    if (tokens > 0) this.#client?.take(caller, quota, -tokens).catch(() => {});
    return this.#mirrors.giveBack(caller, quota, tokens, now_ms);
  }

  close(): void {
    this.#ended = true;
    this.#client?.close();
  }

  async #keepConnected(): Promise<void> {
    while (!this.#ended) {
      const reason = await this.#useConnection();
      if (this.#ended) return;
      if (!this.#down) this.#options.onDown(reason.message);
      this.#down = true;
      const pause_ms = leastPause_ms + Math.random() * (longestPause_ms - leastPause_ms);
      await pause(pause_ms, undefined, { ref: false });
    }
  }

  /** Opens a connection and uses it until it ends. Resolves to the reason. */
  async #useConnection(): Promise<Error> {
    try {
      const client = await RedisClient.open(this.#options.address);
      if (this.#ended) client.close();
      else {
        this.#client = client;
        this.#down = false;
        this.#options.onUp();
      }
      return await client.closed;
    } catch (error) {
      return error as Error;
    } finally {
      this.#client = undefined;
    }
  }
}
