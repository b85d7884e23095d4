import { isIP } from 'node:net';
import type { Redis } from 'ioredis';
import type { RedisAddress } from '../redis-address.ts';
import type { Decision } from './limiter.ts';
import { bucketArguments, bucketKey, bucketScript, bucketScriptSha1, readDecision } from './redis-bucket.ts';
import type { Quota } from './token-bucket.ts';

/** Longest time until a connection is there, logged in, and has run the script once. */
const connectLimit_ms = 1000;
/** Longest time that a request waits for an answer. */
const answerLimit_ms = 200;

/** No key has this id: theirs are longer. */
const probeCaller = 'probe';

/**
 * One connection to Redis, from a proven start to its first fault. It never reconnects: whoever holds it opens a new
 * one, so that each is tried as a whole (login, writing, script) within one time limit.
 */
export class RedisClient {
  readonly #redis: Redis;
  readonly #password: string | undefined;
  #close: (fault: Error) => void = () => {};
  /** Resolves with the reason as soon as it is of no more use. */
  readonly closed = new Promise<Error>((resolve) => {
    this.#close = resolve;
  });

  private constructor(redis: Redis, password: string | undefined) {
    this.#redis = redis;
    this.#password = password;
    redis.on('error', (error: Error) => this.#fail(error));
    redis.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /**
   * Connects, logs in, and runs the script on a bucket of its own, which finds a Redis that is loading, read-only, full
   * or lets this user do less than it must. Rejects with an Error of one line that shows no password.
   */
  static async open(address: RedisAddress): Promise<RedisClient> {
    const { host, port, db, tls, username, password } = address;
    // Here, so that a server without a shared limiter does not load it.
    const { Redis } = await import('ioredis');
    const redis = new Redis({
      host,
      port,
      ...(tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {}),
      // What this class does itself: to log in, to try again, to wait until it is ready.
      lazyConnect: true,
      retryStrategy: null,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      disableClientInfo: true,
      connectTimeout: connectLimit_ms,
      // What requests of one turn of the event loop ask goes out in one write. Works with every version of Redis.
      enableAutoPipelining: true,
      protocol: 2,
    });
    const client = new RedisClient(redis, password);
    const start = async () => {
      await redis.connect();
      if (password !== undefined) await redis.call('AUTH', ...(username ? [username, password] : [password]));
      if (db !== 0) await redis.select(db);
      await client.#run(probeCaller, { rate: 1, burst: 1 }, 1);
    };
    try {
      await within(
        connectLimit_ms,
        Promise.race([start(), client.closed.then((fault) => Promise.reject(fault))]),
      );
      return client;
    } catch (error) {
      client.#fail(error as Error);
      throw await client.closed;
    }
  }

  /** Charges a caller. Rejects when Redis does not answer in time, or not as it should; the client is closed then. */
  async take(caller: string, quota: Quota, cost: number): Promise<Decision> {
    try {
      return await within(answerLimit_ms, this.#run(caller, quota, cost));
    } catch (error) {
      this.#fail(error as Error);
      throw await this.closed;
    }
  }

  /** Of the Redis behind it, such as "7.0.15"; undefined when it does not tell. */
  async version(): Promise<string | undefined> {
    try {
      const info = await within(answerLimit_ms, this.#redis.info('server'));
      return /^redis_version:(\S+)/m.exec(info)?.[1];
    } catch {
      return undefined;
    }
  }

  close(): void {
    this.#fail(new Error('it was closed'));
  }

  async #run(caller: string, quota: Quota, cost: number): Promise<Decision> {
    const key = bucketKey(caller);
    const values = bucketArguments(quota, cost);
    try {
      return readDecision(await this.#redis.evalsha(bucketScriptSha1, 1, key, ...values));
    } catch (error) {
      // A Redis that has started anew, or was told to forget its scripts.
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      return readDecision(await this.#redis.eval(bucketScript, 1, key, ...values));
    }
  }

  /** The first fault counts: those that follow are its consequences. */
  #fail({ message }: Error): void {
    this.#close(new Error(this.#presentable(message)));
    this.#redis.disconnect();
  }

  /** Redis repeats the arguments of commands that it does not know. */
  #presentable(message: string): string {
    const line = message.replaceAll(/\s+/g, ' ').slice(0, 200);
    return this.#password === undefined ? line : line.replaceAll(this.#password, '***');
  }
}

/** Into how many waits a limit is cut. */
const waits = 4;

/**
 * Rejects when `work` has not settled after `limit_ms` in which this process ran: a process that was kept from running
 * must not blame Redis for it, nor overlook an answer that came meanwhile. However long a standstill is, it counts as one
 * of several waits; and sockets are looked at once more before the end, for in a turn of the event loop they come between
 * timers and immediates.
 */
function within<T>(limit_ms: number, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let left = waits;
    const late = () => reject(new Error(`no answer within ${limit_ms} ms`));
    const wait = () => {
      left -= 1;
      if (left < 0) setImmediate(late);
      else timer = setTimeout(wait, limit_ms / waits);
    };
    let timer: NodeJS.Timeout | undefined;
    wait();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
