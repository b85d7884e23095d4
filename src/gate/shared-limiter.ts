import { setTimeout as pause } from 'node:timers/promises';
import type { RedisAddress } from '../redis-address.ts';
import { type Admission, Limiter, type RateLimiter } from './limiter.ts';
import { RedisClient } from './redis-client.ts';
import type { Quota } from './token-bucket.ts';

interface SharedLimiterOptions {
  address: RedisAddress;
  /** Callers that are remembered here at most. */
  capacity: number;
  /** Redis decides from now on. */
  onUp(): void;
  /** This process decides alone from now on; `reason` is one line without a password. Once for each change. */
  onDown(reason: string): void;
  /** This process decided one request alone. */
  onFallback(): void;
  /** Redis decided one request, so long after it was asked. */
  onDecision(seconds: number): void;
}

/** Before a new connection is tried. Replicas lose Redis at one time, and need not come back at one time. */
const leastPause_ms = 100;
const longestPause_ms = 1000;

/**
 * Token buckets that several processes share, in Redis. Each has its mirror here, of what Redis last said of it:
 *
 * - The mirror fills as the shared bucket does, and others can only take from that: so whom it refuses, Redis would
 *   refuse. An eager caller is refused at once, and costs Redis nothing.
 * - When Redis is away the mirror decides, from where the shared bucket stood: there is no fresh burst in it. No request
 *   waits for a Redis that is known to be away; a new connection is tried in the background.
 */
export class SharedLimiter implements RateLimiter {
  readonly #options: SharedLimiterOptions;
  readonly #mirrors: Limiter;
  /** undefined while Redis is away. */
  #client: RedisClient | undefined;
  /** Told already, so that a long absence is told once. */
  #away = false;
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

  take(
    caller: string,
    quota: Quota,
    cost: number,
    now_ms: number,
    retry_cost = cost,
  ): Admission | Promise<Admission> {
    const mirrored = this.#mirrors.take(caller, quota, cost, now_ms, retry_cost);
    if (this.#client === undefined) {
      this.#options.onFallback();
      return mirrored;
    }
    if (!mirrored.admitted) return mirrored;
    const asked = performance.now();
    return this.#client.take(caller, quota, cost).then(
      (decision) => {
        this.#options.onDecision((performance.now() - asked) / 1000);
        // As of when it was asked: a mirror that runs a little ahead of the shared bucket refuses nobody wrongly.
        return this.#mirrors.follow(caller, quota, retry_cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  close(): void {
    this.#ended = true;
    this.#client?.close();
  }

  async #keepConnected(): Promise<void> {
    while (!this.#ended) {
      const reason = await this.#useConnection();
      if (this.#ended) return;
      if (!this.#away) this.#options.onDown(reason.message);
      this.#away = true;
      const pause_ms = leastPause_ms + Math.random() * (longestPause_ms - leastPause_ms);
      await pause(pause_ms, undefined, { ref: false });
    }
  }

  /** From one connection's start to its end, and why it ended. */
  async #useConnection(): Promise<Error> {
    try {
      const client = await RedisClient.open(this.#options.address);
      if (this.#ended) client.close();
      else {
        this.#client = client;
        this.#away = false;
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
