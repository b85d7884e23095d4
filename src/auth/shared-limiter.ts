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
  /** Called when Redis decides again. */
  onUp(): void;
  /**
   * Called when this process starts to decide alone; `reason` is one line without a password. Called once for
   * each change.
   */
  onDown(reason: string): void;
  /** Called when this process decided one request alone. */
  onFallback(): void;
  onDecision(seconds: number): void;
}

/** A connection that was closed sooner is not reopened at once, because the server probably rejects it. */
const minLife_ms = 500;

/** The pause before a new connection is random, so that replicas that lost Redis together do not reconnect together. */
const minPause_ms = 100;
const maxPause_ms = 1000;

/**
 * Token buckets that several processes share in Redis. Each process mirrors the last state that Redis
 * reported. If the mirror rejects a request, Redis would reject it too, because other processes only take
 * tokens, so Redis is not asked. While Redis is unreachable, the mirror decides from its last state, without
 * a fresh burst. No request waits, and new connections are tried in the background.
 */
export class SharedLimiter implements RateLimiter {
  readonly #options: SharedLimiterOptions;
  readonly #mirrors: Limiter;
  /** undefined while Redis is unreachable or being reconnected. */
  #client: RedisClient | undefined;
  /**
   * Set while a connection that Redis closed, as it does with idle ones, is reopened: requests wait for it.
   */
  #reopening: Promise<RedisClient> | undefined;
  /** True after onDown was called, so that it is called once for each outage. */
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
        // Uses the time of the call: a mirror slightly ahead of the shared bucket rejects no request wrongly.
        return this.#mirrors.follow(caller, quota, paid + cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  /** Rejects when Redis does not reply. */
  async #ask(caller: string, quota: Quota, cost: number): Promise<BucketDecision> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.take(caller, quota, cost);
  }

  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState {
    // No request waits for Redis here. While it is unreachable, only the mirror is updated.
    if (cost !== 0) this.#client?.settle(caller, quota, cost).catch(() => {});
    return this.#mirrors.settle(caller, quota, cost, now_ms);
  }

  /**
   * Resolves to true for the first claim of a used challenge within `ttl_ms`. Rejects when Redis does not
   * reply.
   */
  async claim(id: string, ttl_ms: number): Promise<boolean> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.claim(id, ttl_ms);
  }

  /**
   * Forgets a claim. No request waits for Redis here; while it is unreachable, the claim stays until it
   * expires.
   */
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
      // The first connection after another may be short-lived.
      again = life_ms > (again ? minLife_ms : 0);
      if (again) continue;
      if (!this.#down) this.#options.onDown(reason.message);
      this.#down = true;
      const pause_ms = minPause_ms + Math.random() * (maxPause_ms - minPause_ms);
      await pause(pause_ms, undefined, { ref: false });
    }
  }

  /**
   * Opens a connection and uses it until it ends. Resolves to the reason, and to how long it worked before
   * Redis closed it; 0 if it ended otherwise. `again`: replaces a connection that Redis closed.
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
