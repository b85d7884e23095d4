import { setTimeout as pause } from 'node:timers/promises';
import type { RedisAddress } from '../config/redis-address.ts';
import {
  type Admission,
  type BucketDecision,
  Limiter,
  type Quota,
  type RateLimiter,
  type RateState,
} from './limiter.ts';
import { answerLimit_ms, connectLimit_ms, RedisClient } from './redis-client.ts';

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
  onDecision(seconds: number): void;
}

/** A connection that was closed sooner is not opened again at once: something refuses it. */
const minLife_ms = 500;

/** The pause before a new connection is random, so that replicas that lost Redis together do not reconnect together. */
const minPause_ms = 100;
const maxPause_ms = 1000;

/**
 * Token buckets that several processes share in Redis. Each has a local mirror with the last state that Redis reported. What the mirror
 * refuses, Redis would refuse too: others only take tokens. So it is not asked. When it is not reachable, the mirror decides from its
 * last state, not with a fresh burst; no request waits, and new connections are tried in the background.
 */
export class SharedLimiter implements RateLimiter {
  readonly #options: SharedLimiterOptions;
  readonly #mirrors: Limiter;
  /** undefined while Redis is not reachable, or is reached anew. */
  #client: RedisClient | undefined;
  /** Set while a connection that Redis closed, as it does with idle ones, is opened again: requests wait for it. */
  #reopening: Promise<RedisClient> | undefined;
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
        // The time is that of the question: a mirror slightly ahead of the shared bucket refuses nobody wrongly.
        return this.#mirrors.follow(caller, quota, paid + cost, now_ms, decision);
      },
      () => {
        this.#options.onFallback();
        return mirrored;
      },
    );
  }

  /** Rejects when Redis does not answer. */
  async #ask(caller: string, quota: Quota, cost: number): Promise<BucketDecision> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.take(caller, quota, cost);
  }

  settle(caller: string, quota: Quota, cost: number, now_ms: number): RateState {
    // Nobody waits for Redis here. Without it the mirror alone knows.
    if (cost !== 0) this.#client?.settle(caller, quota, cost).catch(() => {});
    return this.#mirrors.settle(caller, quota, cost, now_ms);
  }

  /** True for the first claim of a used challenge within `ttl_ms`. Rejects when Redis does not answer. */
  async claim(id: string, ttl_ms: number): Promise<boolean> {
    const client = this.#client ?? (await this.#reopening);
    if (client === undefined) throw new Error('Redis is not reachable');
    return client.claim(id, ttl_ms);
  }

  /** Forgets a claim. Nobody waits for Redis here; without it the claim stays until it ends. */
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
      // The first one after another is allowed a short life.
      again = life_ms > (again ? minLife_ms : 0);
      if (again) continue;
      if (!this.#down) this.#options.onDown(reason.message);
      this.#down = true;
      const pause_ms = minPause_ms + Math.random() * (maxPause_ms - minPause_ms);
      await pause(pause_ms, undefined, { ref: false });
    }
  }

  /**
   * Opens a connection and uses it until it ends. Resolves to the reason, and to how long it worked until Redis closed it; 0 where
   * it ended otherwise. `again`: in place of one that Redis closed.
   */
  async #useConnection(again: boolean): Promise<{ reason: Error; life_ms: number }> {
    try {
      const opening = RedisClient.open(this.#options.address, again ? answerLimit_ms : connectLimit_ms);
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
