import type { RedisAddress } from '../redis-address.ts';
import { type Admission, Limiter, type RateLimiter } from './limiter.ts';
import { RedisClient } from './redis-client.ts';
import type { Quota } from './token-bucket.ts';

export interface SharedLimiterOptions {
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

const firstPause_ms = 100;
const longestPause_ms = 1000;
/** A connection that lived this long was a good one: pauses begin anew after it. */
const steady_ms = 10_000;

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
  #pause: NodeJS.Timeout | undefined;
  #resume: () => void = () => {};

  /** Returns at once; the first connection is tried in the background. */
  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.#mirrors = new Limiter(options.capacity);
    void this.#keepConnected();
  }

  get up(): boolean {
    return this.#client !== undefined;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number): Admission | Promise<Admission> {
    const mirrored = this.#mirrors.take(caller, quota, cost, now_ms);
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
        return this.#mirrors.follow(caller, quota, cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  close(): void {
    this.#ended = true;
    clearTimeout(this.#pause);
    this.#resume();
    this.#client?.close();
  }

  async #keepConnected(): Promise<void> {
    let pause_ms = 0;
    while (!this.#ended) {
      const since = performance.now();
      const reason = await this.#serve();
      if (this.#ended) return;
      if (!this.#away) this.#options.onDown(reason.message);
      this.#away = true;
      const steady = performance.now() - since > steady_ms;
      pause_ms = steady ? firstPause_ms : Math.min(Math.max(2 * pause_ms, firstPause_ms), longestPause_ms);
      // Replicas lose Redis at one time, and need not come back at one time.
      await this.#wait(pause_ms * (0.75 + Math.random() / 2));
    }
  }

  /** From one connection's start to its end, and why it ended. */
  async #serve(): Promise<Error> {
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

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
      this.#pause = setTimeout(resolve, ms);
    });
  }
}
