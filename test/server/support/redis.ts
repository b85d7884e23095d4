import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { RedisAddress } from '../../../src/redis-address.ts';

/** A redis-server of its own, on a free port, that keeps nothing on disk. */

export const redisInstalled = spawnSync('redis-server', ['--version']).status === 0;
if (!redisInstalled) console.log('Skipped: redis-server is not installed (apt-get install redis-server)');

export class TestRedis {
  readonly port: number;
  readonly #folder: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(port: number, args: readonly string[]) {
    this.port = port;
    this.#args = args;
    this.#folder = mkdtempSync(join(tmpdir(), 'facematch-redis-'));
  }

  /** `args` are settings such as `--requirepass`. */
  static async start(...args: string[]): Promise<TestRedis> {
    const redis = new TestRedis(await freePort(), args);
    await redis.restart();
    return redis;
  }

  /** Nothing listens there. */
  static async absent(): Promise<TestRedis> {
    return new TestRedis(await freePort(), []);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get address(): RedisAddress {
    return RedisAddress.parse(this.url)!;
  }

  /** On the same port, with nothing in it. */
  async restart(): Promise<void> {
    const fixed = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.#folder];
    const port = this.#args.includes('--tls-port') ? '0' : String(this.port);
    const args = this.#args.map((arg) => (arg === 'PORT' ? String(this.port) : arg));
    const child = spawn('redis-server', ['--port', port, ...fixed, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child = child;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (/Ready to accept connections/.test(line)) {
        child.stdout.resume();
        return;
      }
    }
    throw new Error(`redis-server ended:\n${lines.join('\n')}`);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  }

  /** It holds its connections, and answers nothing until it is resumed. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Runs commands as an operator would. */
  async tell<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis({ port: this.port, host: '127.0.0.1', protocol: 2 });
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }

  async stop(): Promise<void> {
    this.resume();
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
