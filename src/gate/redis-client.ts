import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Redis } from 'ioredis';
import type { RedisAddress } from '../redis-address.ts';
import type { Decision } from './limiter.ts';
import type { Quota } from './token-bucket.ts';

/**
 * The token bucket of token-bucket.ts in Redis: the same steps on the same numbers, so that both decide alike to the
 * last bit. A bucket is one string, "tokens at_ms rate burst", each with the 17 digits that a double needs; Lua's own
 * tostring would cut a time in microseconds short. It expires when it would be full, since a bucket that is not there
 * is full as well.
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
const scriptSha1 = createHash('sha1').update(bucketScript).digest('hex');

export function bucketKey(caller: string): string {
  return `facematch:bucket:${caller}`;
}

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
      return client;
    };
    const failed = client.closed.then((fault) => Promise.reject(fault));
    return client.#within(connectLimit_ms, Promise.race([start(), failed]));
  }

  /** Charges a caller. Rejects when Redis does not answer in time, or not as it should; the client is closed then. */
  take(caller: string, quota: Quota, cost: number): Promise<Decision> {
    return this.#within(answerLimit_ms, this.#run(caller, quota, cost));
  }

  /** Of the Redis behind it, such as "7.0.15"; undefined when it does not tell. */
  async version(): Promise<string | undefined> {
    const info = await this.#redis.info('server').catch(() => '');
    return /^redis_version:(\S+)/m.exec(info)?.[1];
  }

  close(): void {
    this.#fail(new Error('it was closed'));
  }

  async #run(caller: string, { rate, burst }: Quota, cost: number): Promise<Decision> {
    const values = [bucketKey(caller), rate, burst, cost] as const;
    const reply = await this.#redis.evalsha(scriptSha1, 1, ...values).catch((error: Error) => {
      // A Redis that has started anew, or was told to forget its scripts.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.#redis.eval(bucketScript, 1, ...values);
    });
    return readDecision(reply);
  }

  /** Rejects with the first fault of this client, which is closed then: that it took too long, if nothing came before. */
  async #within<T>(limit_ms: number, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const fault = new Error(`no answer within ${limit_ms} ms`);
      // A process that was kept from running must not blame Redis for it: sockets are read between timers and immediates.
      timer = setTimeout(() => setImmediate(reject, fault), limit_ms);
    });
    try {
      return await Promise.race([work, late]);
    } catch (error) {
      this.#fail(error as Error);
      throw await this.closed;
    } finally {
      clearTimeout(timer);
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

/** Throws an Error for anything but an answer of the script. */
function readDecision(reply: unknown): Decision {
  const [admitted, text] = Array.isArray(reply) ? reply : [];
  const tokens = typeof text === 'string' ? Number.parseFloat(text) : Number.NaN;
  if ((admitted !== 0 && admitted !== 1) || !Number.isFinite(tokens)) {
    throw new Error('Redis gave an answer that is not of the script');
  }
  return { admitted: admitted === 1, tokens };
}
