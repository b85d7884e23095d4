// redis-server, three replicas and nginx on free ports of this machine, in a folder of their own. The last CPU carries the
// generator, nginx and Redis, the others the replicas.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { form } from '../../test/support/load.mjs';
import { PATH } from '../../test/support/nginx.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import {
  allowedCpus,
  bindTo,
  freePorts,
  makeKey,
  startProgram,
  startServer,
} from '../../test/support/programs.mjs';

const replicas_count = 3;

/** One replica: the same ports and the same CPU whenever it is started. */
class Replica {
  #env;
  server;

  constructor(env, core) {
    this.#env = env;
    this.core = core;
    this.port = Number(env.FACEMATCH_PORT);
  }

  /** Resolves when it is ready. */
  async start() {
    this.server = await startServer({ env: this.#env, cores: this.core });
  }

  /** At once; its requests are lost to it. */
  kill() {
    return this.server.stop('SIGKILL');
  }

  /** As its manager does: SIGTERM, and a new one when it has ended. Resolves when that one is ready. */
  async replace() {
    await this.server.stop();
    await this.start();
  }

  /** Asks until the series has the value. */
  async becomes(series, value) {
    while ((await this.server.metric(series)) !== value) await setTimeout(10);
  }
}

export class Cluster {
  /** A form of two photos of one face each, of 640 pixels a side. */
  body;
  port;
  replicas = [];
  #folder = mkdtempSync(join(tmpdir(), 'facematch-replicas-'));
  #keysFile = join(this.#folder, 'keys.json');
  #redisPort;
  #redis;
  #nginx;

  static async start() {
    const cluster = new Cluster();
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async #start() {
    const cpus = allowedCpus();
    this.othersCore = cpus.at(-1);
    bindTo(this.othersCore);
    const cores = cpus.length > 1 ? cpus.slice(0, -1) : cpus;
    const [redisPort, nginxPort, ...ports] = await freePorts(2 + 2 * replicas_count);
    this.#redisPort = redisPort;
    this.port = nginxPort;
    await this.startRedis();
    // The first key makes the file that the replicas start with.
    makeKey(this.#keysFile);
    for (let index = 0; index < replicas_count; index++) {
      const env = {
        FACEMATCH_PORT: String(ports[2 * index]),
        FACEMATCH_ADMIN_PORT: String(ports[2 * index + 1]),
        FACEMATCH_KEYS_FILE: this.#keysFile,
        FACEMATCH_WORKERS: '1',
        FACEMATCH_LIMITER: `redis://127.0.0.1:${redisPort}`,
        FACEMATCH_TRUSTED_HOPS: '1',
      };
      this.replicas.push(new Replica(env, cores[index % cores.length]));
    }
    for (const replica of this.replicas) await replica.start();
    for (const replica of this.replicas) await replica.becomes('facematch_limiter_up', 1);
    const [one, two] = await portraits([{ width: 640, height: 640, format: 'jpeg' }]);
    this.body = form({ image1: one.bytes, image2: two.bytes });
    await this.#startNginx();
  }

  async startRedis() {
    const args = ['--port', String(this.#redisPort), '--bind', '127.0.0.1', '--save', ''];
    this.#redis = await startProgram('redis-server', args, { ready: /Ready to accept connections/ });
  }

  /** At once, with all that is in it. */
  killRedis() {
    return this.#redis.stop('SIGKILL');
  }

  /** Asks Redis by a connection that is closed again. */
  async tellRedis(ask) {
    const client = new Redis({ port: this.#redisPort, host: '127.0.0.1' });
    try {
      return await ask(client);
    } finally {
      client.disconnect();
    }
  }

  async #startNginx() {
    const folder = join(this.#folder, 'nginx');
    mkdirSync(folder);
    const servers = this.replicas.map(({ port }) => `    server 127.0.0.1:${port} max_fails=0;`).join('\n');
    const text = readFileSync(new URL('nginx.conf', import.meta.url), 'utf8')
      .replace('USER', process.getuid() === 0 ? 'user root;' : '')
      .replace('SERVERS', servers)
      .replace('PORT', String(this.port));
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, text);
    const args = ['-c', 'exec nginx "$@" 2>&1', 'sh', '-p', folder, '-c', file];
    const options = { ready: /start worker process /, env: { PATH } };
    this.#nginx = await startProgram('sh', [...args, '-g', 'daemon off; error_log stderr notice;'], options);
  }

  /** Processes of nginx and Redis. */
  get frontPids() {
    return [this.#nginx.pid, this.#redis.pid];
  }

  /** How many requests nginx has sent to a second replica so far. */
  sentAgain() {
    const lines = readFileSync(join(this.#folder, 'nginx/account.log'), 'utf8').split('\n');
    return lines.filter((line) => line.split('|')[2]?.includes(',')).length;
  }

  /** A new key, which every replica knows by the time it is returned. */
  async key(limits) {
    const key = makeKey(this.#keysFile, { scopes: 'match:basic', ...limits });
    for (const { port } of this.replicas) {
      // A key that may not do what is asked costs nothing: 403 instead of 401.
      const url = `http://127.0.0.1:${port}/API/v1.0/face/match/upload/advanced`;
      while ((await fetch(url, { method: 'POST', headers: { 'x-api-key': key } })).status !== 403)
        await setTimeout(50);
    }
    return key;
  }

  /** The sum of a series over all replicas. */
  async sum(series) {
    const values = await Promise.all(this.replicas.map(({ server }) => server.metric(series)));
    return values.reduce((total, value) => total + value, 0);
  }

  async stop() {
    await Promise.all([this.#nginx?.stop(), ...this.replicas.map(({ server }) => server?.stop())]);
    await this.#redis?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
