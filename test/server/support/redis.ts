import { spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { projectPath } from '../../../src/config/paths.ts';

const { freePorts, startProgram } = await import(projectPath('test/support/programs.mjs'));

/** A separate redis-server on a free port, without storage on disk. */

export const redisInstalled = spawnSync('redis-server', ['--version']).status === 0;
if (!redisInstalled) console.log('Skipped: redis-server is not installed (apt-get install redis-server)');

export class TestRedis {
  readonly port: number;
  #server: { pid: number; stop(signal: NodeJS.Signals): Promise<unknown> } | undefined;

  private constructor(port: number) {
    this.port = port;
  }

  static async start(...args: string[]): Promise<TestRedis> {
    const redis = new TestRedis((await freePorts(1))[0]);
    await redis.start(...args);
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts an empty Redis on the same port. `args`: settings such as `--requirepass`. */
  async start(...args: string[]): Promise<void> {
    const fixed = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
    // Redis prints this line before it loads its data.
    const ready = /Server initialized/;
    this.#server = await startProgram('redis-server', [...fixed, ...args], { ready });
  }

  async kill(): Promise<void> {
    await this.#server?.stop('SIGKILL');
    this.#server = undefined;
  }

  /** Suspends Redis: it keeps its connections, but does not reply until it is resumed. */
  pause(): void {
    process.kill(this.#server!.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.#server!.pid, 'SIGCONT');
  }

  connect(): Redis {
    return new Redis({ port: this.port, host: '127.0.0.1', protocol: 2, enableReadyCheck: false });
  }

  async asAdmin<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = this.connect();
    try {
      return await work(redis);
    } finally {
      redis.disconnect();
    }
  }
}
