import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { Redis } from 'ioredis';
import type { RedisUrl } from '../config/redis-url.ts';
import type { BucketDecision, Quota } from './limiter.ts';

/**
 * TokenBucket of limiter.ts as a Redis script, with the same steps. A bucket is one string, "tokens at_ms rate
 * burst"; each number has the 17 digits that a double needs. A missing bucket counts as full, so a bucket is
 * kept until it is full. It is kept for at least a day, because a replica with another key file may use a larger
 * burst or a slower rate.
 */
export const bucketFunction = `
local epsilon = 1e-9
local day_ms = 86400000
local max_ms = 100 * 366 * day_ms

local function finite(text)
  local number = tonumber(text)
  return number and math.abs(number) < math.huge and number
end

-- If settles is true, takes the cost without a check; a negative cost returns tokens.
local function take(key, now_ms, rate, burst, cost, settles)
  local tokens = burst
  -- A malformed bucket counts as missing, because an error here would disable the shared limits of all keys.
  local kept = redis.pcall('GET', key)
  if type(kept) == 'string' then
    local held, at_ms, old_rate, old_burst = kept:match('^(%S+) (%S+) (%S+) (%S+)$')
    held, at_ms, old_rate, old_burst = finite(held), finite(at_ms), finite(old_rate), finite(old_burst)
    if held and at_ms and old_rate and old_burst and old_rate > 0 and held <= old_burst then
      local elapsed_ms = now_ms - at_ms
      if elapsed_ms > 0 then held = math.min(old_burst, held + elapsed_ms * math.min(old_rate, rate) / 1000) end
      tokens = math.min(held, burst)
    end
  end
  local admitted = settles or cost <= 0 or tokens + epsilon >= cost
  if settles then tokens = math.min(burst, tokens - cost)
  elseif admitted and cost > 0 then tokens = math.max(0, tokens - cost) end
  local kept_ms = math.min(max_ms, math.max(day_ms, math.ceil((burst - tokens) * 1000 / rate)))
  local bucket = string.format('%.17g %.17g %.17g %.17g', tokens, now_ms, rate, burst)
  redis.call('SET', key, bucket, 'PX', string.format('%.0f', kept_ms))
  return {admitted and 1 or 0, string.format('%.17g', tokens)}
end
`;

/** Uses the clock of Redis, because differences between the replicas' clocks would add tokens. */
export const bucketScript = `${bucketFunction}
local seconds, microseconds = unpack(redis.call('TIME'))
return take(KEYS[1], seconds * 1000 + microseconds / 1000, tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == 'settle')
`;

const scriptSha1 = createHash('sha1').update(bucketScript).digest('hex');

export const bucketKey = (caller: string): string => `facematch:bucket:${caller}`;

/** Name of the Redis entry that marks a liveness challenge as used. */
export const challengeKey = (id: string): string => `facematch:challenge:${id}`;

/** Maximum time to connect, log in and run the script once. */
export const connectLimit_ms = 1000;
/** Maximum time that a request waits for a reply. */
export const replyTimeout_ms = 200;

/** Cannot be the id of a key, because key ids are longer. */
const probeCaller = 'probe';

/** One connection to Redis, used until its first error. Its owner then opens a new connection. */
export class RedisClient {
  readonly #redis: Redis;
  readonly #password: string | undefined;
  /**
   * True if Redis or the network closed the connection. False if this process closed it, for example after an
   * error reply.
   */
  dropped = false;
  #closed = false;
  #close: (fault: Error) => void = () => {};
  /** Resolves with the reason when the connection can no longer be used. */
  readonly closed = new Promise<Error>((resolve) => {
    this.#close = resolve;
  });

  private constructor(redis: Redis, password: string | undefined) {
    this.#redis = redis;
    this.#password = password;
    redis.on('error', (error: Error) => this.#fail(error, true));
    redis.on('close', () => this.#fail(new Error('the connection was closed'), true));
  }

  /**
   * Connects, logs in, and runs the script on a test bucket. The script fails if Redis is loading, read-only or
   * full, or if the user lacks rights. Rejects with an Error whose message is one line without the password.
   */
  static async open(redisUrl: RedisUrl, limit_ms = connectLimit_ms): Promise<RedisClient> {
    const { host, port, db, tls, username, password } = redisUrl;
    // Imported here so that a server without a shared limiter does not load ioredis.
    const { Redis } = await import('ioredis');
    const redis = new Redis({
      host,
      port,
      ...(tls ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {}),
      // This class logs in and checks Redis itself, and its owner reconnects, so these features are turned off.
      lazyConnect: true,
      retryStrategy: null,
      enableOfflineQueue: false,
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      disableClientInfo: true,
      // Sends the commands of one turn of the event loop in one write. RESP2 works with every version of Redis.
      enableAutoPipelining: true,
      protocol: 2,
    });
    const client = new RedisClient(redis, password);
    const start = async () => {
      await redis.connect();
      if (password !== undefined) await redis.call('AUTH', ...(username ? [username, password] : [password]));
      if (db !== 0) await redis.select(db);
      await client.#run(probeCaller, { rate: 1, burst: 1 }, 1, 'take');
      return client;
    };
    const failed = client.closed.then((fault) => Promise.reject(fault));
    return client.#within(limit_ms, Promise.race([start(), failed]));
  }

  /** Rejects, and closes the client, if Redis does not reply in time or replies with an error. */
  take(caller: string, quota: Quota, cost: number): Promise<BucketDecision> {
    return this.#within(replyTimeout_ms, this.#run(caller, quota, cost, 'take'));
  }

  /** Takes the cost without a check; a negative cost returns tokens. Rejects like `take`. */
  settle(caller: string, quota: Quota, cost: number): Promise<BucketDecision> {
    return this.#within(replyTimeout_ms, this.#run(caller, quota, cost, 'settle'));
  }

  /** Resolves to true if no one claimed the identifier within the last `ttl_ms`. Rejects like `take`. */
  async claim(id: string, ttl_ms: number): Promise<boolean> {
    const claimed = this.#redis.set(challengeKey(id), '1', 'PX', ttl_ms, 'NX');
    return (await this.#within(replyTimeout_ms, claimed)) === 'OK';
  }

  /**
   * Removes a claim by SET with a short expiry, so that the Redis user needs no right to delete. Rejects like
   * `take`.
   */
  async unclaim(id: string): Promise<void> {
    await this.#within(replyTimeout_ms, this.#redis.set(challengeKey(id), '0', 'PX', 1));
  }

  /** Returns the version of Redis, such as "7.0.15", or undefined if it is not reported. */
  async version(): Promise<string | undefined> {
    const info = await this.#redis.info('server').catch(() => '');
    return /^redis_version:(\S+)/m.exec(info)?.[1];
  }

  close(): void {
    this.#fail(new Error('it was closed'));
  }

  async #run(
    caller: string,
    { rate, burst }: Quota,
    cost: number,
    how: 'take' | 'settle',
  ): Promise<BucketDecision> {
    const values = [bucketKey(caller), rate, burst, cost, how] as const;
    const reply = await this.#redis.evalsha(scriptSha1, 1, ...values).catch((error: Error) => {
      // NOSCRIPT: Redis was restarted or its scripts were flushed, so the script is sent again.
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return this.#redis.eval(bucketScript, 1, ...values);
    });
    const [admitted, text] = Array.isArray(reply) ? reply : [];
    const tokens = typeof text === 'string' ? Number.parseFloat(text) : Number.NaN;
    if ((admitted !== 0 && admitted !== 1) || !Number.isFinite(tokens)) {
      throw new Error('unexpected reply from Redis');
    }
    return { admitted: admitted === 1, tokens };
  }

  /** Limits the time of `work`. An error closes the client. Rejects with the first error of the client. */
  async #within<T>(limit_ms: number, work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const fault = new Error(`no response within ${limit_ms} ms`);
      // If this process was suspended, a reply may have arrived that is not read yet. The event loop reads sockets
      // between timers and immediates, so setImmediate lets the reply win.
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

  /** Only the first error counts, because later errors are its consequences. */
  #fail({ message }: Error, dropped = false): void {
    if (!this.#closed) this.dropped = dropped || this.#redis.status !== 'ready';
    this.#closed = true;
    this.#close(new Error(this.#presentable(message)));
    // ioredis listens only for the first error of its socket. Without a listener, a later error from TLS would
    // crash the process.
    this.#redis.stream?.on('error', () => {});
    this.#redis.disconnect();
  }

  /** Returns one line without the password, because Redis quotes the arguments of unknown commands in its errors. */
  #presentable(message: string): string {
    const line = message.replaceAll(/\s+/g, ' ').slice(0, 200);
    return this.#password === undefined ? line : line.replaceAll(this.#password, '***');
  }
}
