import { setTimeout as pause } from 'node:timers/promises';
import type { RedisUrl } from '../config/redis-url.ts';
import {
  type Admission,
  type BucketDecision,
  Limiter,
  type Quota,
  type RateLimiter,
  type RateState,
} from './limiter.ts';
import { connectLimit_ms, RedisClient, replyTimeout_ms } from './redis-client.ts';

interface SharedLimiterOptions {
  redisUrl: RedisUrl;
  /** Maximum number of callers that this process remembers. */
  capacity: number;
  /** Called when a connection to Redis works, at startup and after each outage. */
  onUp(): void;
  /** Called once per outage, when local decisions begin. `reason` is one line without a password. */
  onDown(reason: string): void;
  /** Called for each request that was decided locally because Redis was unreachable. */
  onFallback(): void;
  /** Called for each decision of Redis, with its duration. */
  onDecision(seconds: number): void;
}

/** If a reopened connection is closed before this age, the next attempt waits: Redis probably rejects connections. */
const minLife_ms = 500;

/** The pause before a new connection is random, so that replicas do not all reconnect at the same moment. */
const minPause_ms = 100;
const maxPause_ms = 1000;

/**
 * Token buckets that several processes share in Redis. Each process keeps a local copy of the last state that
 * Redis reported. If the copy rejects a request, Redis is not asked, because other processes rarely return more
 * tokens than they take. While Redis is unreachable, the copy decides from its last state, without a new burst.
 * Requests then do not wait, and new connections are tried in the background.
 */
export class SharedLimiter implements RateLimiter {
  readonly #options: SharedLimiterOptions;
  readonly #mirrors: Limiter;
  /** undefined while there is no open connection. */
  #client: RedisClient | undefined;
  /** Set while a dropped connection, for example an idle one, is reopened. Requests wait for it. */
  #reopening: Promise<RedisClient> | undefined;
  /** True from a call of onDown until the next connection, so that onDown is called once per outage. */
  #down = false;
  #ended = false;

  /** Returns at once and tries the first connection in the background. */
  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.#mirrors = new Limiter(options.capacity);
    void this.#keepConnected();
  }

  get up(): boolean {
    return (this.#client ?? this.#reopening) !== undefined;
  }

  take(caller: string, quota: Quota, cost: number, now_ms: number, paid = 0): Admission | Promise<Admission> {
    const mirrored = this.#mirrors.take(caller, quota, cost, now_ms, paid);
    if (!this.up) {
      this.#options.onFallback();
      return mirrored;
    }
    if (!mirrored.admitted) return mirrored;
    const asked = performance.now();
    return this.#ask(caller, quota, cost).then(
      (decision) => {
        this.#options.onDecision((performance.now() - asked) / 1000);
        // Uses the time before the call, so that the local bucket is slightly fuller than the shared one and rejects no
        // request that Redis would admit.
        return this.#mirrors.follow(caller, quota, paid + cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  /** Rejects if Redis is unreachable, does not reply in time, or replies with an error. */
  async #ask(caller: string, quota: Quota, cost: number): Promise<BucketDecision> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.take(caller, quota, cost);
  }

  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState {
    // No request waits for Redis here. While Redis is unreachable, only the mirror is updated.
    if (cost !== 0) this.#client?.settle(caller, quota, cost).catch(() => {});
    return this.#mirrors.settle(caller, quota, cost, now_ms);
  }

  /** Resolves to true if no one claimed the challenge within the last `ttl_ms`. Rejects like `#ask`. */
  async claim(id: string, ttl_ms: number): Promise<boolean> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.claim(id, ttl_ms);
  }

  /** Removes a claim in the background. While Redis is unreachable, the claim stays until it expires. */
  unclaim(id: string): void {
    this.#client?.unclaim(id).catch(() => {});
  }

  close(): void {
    this.#ended = true;
    this.#client?.close();
  }

  async #keepConnected(): Promise<void> {
    let again = false;
    while (!this.#ended) {
      const { reason, life_ms } = await this.#useConnection(again);
      if (this.#ended) return;
      // A dropped connection is reopened at once; a reopened one only if it lasted longer than minLife_ms.
      again = life_ms > (again ? minLife_ms : 0);
      if (again) continue;
      if (!this.#down) this.#options.onDown(reason.message);
      this.#down = true;
      const pause_ms = minPause_ms + Math.random() * (maxPause_ms - minPause_ms);
      await pause(pause_ms, undefined, { ref: false });
    }
  }

  /**
   * Opens a connection and uses it until it ends. Resolves to the reason for its end and to its lifetime, which is 0
   * unless Redis closed it. `again`: true if it replaces a connection that Redis closed.
   */
  async #useConnection(again: boolean): Promise<{ reason: Error; life_ms: number }> {
    try {
      const opening = RedisClient.open(this.#options.redisUrl, again ? replyTimeout_ms : connectLimit_ms);
      if (again) this.#reopening = opening;
      const client = await opening;
      const opened = performance.now();
      if (this.#ended) client.close();
      else {
        this.#client = client;
        this.#down = false;
        if (!again) this.#options.onUp();
      }
      const reason = await client.closed;
      return { reason, life_ms: client.dropped ? performance.now() - opened : 0 };
    } catch (error) {
      return { reason: error as Error, life_ms: 0 };
    } finally {
      this.#client = undefined;
      this.#reopening = undefined;
    }
  }
}
