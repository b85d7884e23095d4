// redis-server, three replicas and nginx on free ports of this machine, in a folder of their own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { form } from '../../bench/lib/form.mjs';
import { portraits } from '../../bench/lib/portraits.mjs';
import { startServer } from '../../bench/lib/server.mjs';
import { pinned, placement } from './cores.mjs';
import { Nginx } from './nginx.mjs';
import { freePorts } from './ports.mjs';
import { RedisServer } from './redis.mjs';

const replicas_count = 3;
const size = { width: 640, height: 640, format: 'jpeg' };

/** One replica: the same ports whenever it is started. */
class Replica {
  #env;
  #core;
  server;

  constructor(env, core) {
    this.#env = env;
    this.#core = core;
  }

  get port() {
    return Number(this.#env.FACEMATCH_PORT);
  }

  get pid() {
    return this.server.pid;
  }

  /** Resolves when it is ready. */
  async start() {
    this.server = await startServer({ env: this.#env, before: pinned(this.#core) });
  }

  /** At once; its requests are lost to it. */
  async kill() {
    process.kill(this.pid, 'SIGKILL');
    await this.server.ended;
  }

  /** As its manager does: SIGTERM, and a new one when it has ended. Resolves when that one is ready. */
  async replace() {
    await this.server.stop();
    await this.start();
  }

  metric(series) {
    return this.server.metric(series);
  }

  /** Asks until the series has the value. */
  async becomes(series, value) {
    while ((await this.metric(series)) !== value) await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export class Cluster {
  folder = mkdtempSync(join(tmpdir(), 'facematch-replicas-'));
  /** A form of two photos of one face each, of 640 pixels a side. */
  body;
  redis;
  nginx;
  replicas = [];
  /** As of cores.mjs. */
  placement;
  #ports;

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
    // Before this process is bound to one CPU itself.
    this.placement = placement(replicas_count);
    const { servers, others } = this.placement;
    pinned.self(others);
    const [redisPort, nginxPort, ...ports] = await freePorts(2 + 2 * replicas_count);
    this.#ports = ports;
    this.redis = new RedisServer(redisPort, this.folder);
    await this.redis.start();
    // The first key makes the file that the replicas start with.
    await this.key({ rate: 1, burst: 1 });
    this.replicas = servers.map((core, index) => new Replica(this.#env(index), core));
    for (const replica of this.replicas) await replica.start();
    for (const replica of this.replicas) await replica.becomes('facematch_limiter_up', 1);
    const [replica] = this.replicas;
    const key = await this.key({ rate: 100, burst: 100 });
    const [one, two] = await portraits({ address: replica.server.address, key }, [size]);
    ({ body: this.body } = form({ image1: one.bytes, image2: two.bytes }));
    this.nginx = new Nginx({
      port: nginxPort,
      folder: this.folder,
      upstreams: this.replicas.map(({ port }) => port),
    });
    await this.nginx.start();
  }

  #env(index) {
    const [port, admin] = this.#ports.slice(2 * index);
    return {
      FACEMATCH_PORT: String(port),
      FACEMATCH_ADMIN_PORT: String(admin),
      FACEMATCH_KEYS_FILE: this.#keysFile,
      FACEMATCH_WORKERS: '1',
      FACEMATCH_LIMITER: this.redis.url,
      FACEMATCH_TRUSTED_HOPS: '1',
    };
  }

  get #keysFile() {
    return join(this.folder, 'keys.json');
  }

  /** A new key, which every running replica knows by the time it is returned. */
  async key({ rate, burst }) {
    const { create } = await import('../../dist/src/gate/key-edits.js');
    const { editKeyFile } = await import('../../dist/src/gate/key-file.js');
    const settings = { name: 'proof', scopes: ['match:basic'], rate, burst };
    const { key } = editKeyFile(this.#keysFile, (records) => create(records, settings, Date.now()));
    for (const { port } of this.replicas) await known(port, key);
    return key;
  }

  /** Of a series, over all replicas. */
  async sum(series) {
    const values = await Promise.all(this.replicas.map((replica) => replica.metric(series)));
    return values.reduce((total, value) => total + value, 0);
  }

  async stop() {
    await this.nginx?.stop();
    await Promise.all(this.replicas.map(({ server }) => server?.stop()));
    await this.redis?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A replica reads the key file again when it changes. A key that may not do what is asked costs nothing: 403, not 401. */
async function known(port, key) {
  const url = `http://127.0.0.1:${port}/API/v1.0/face/match/upload/advanced`;
  for (;;) {
    const { status, body } = await fetch(url, { method: 'POST', headers: { 'x-api-key': key } });
    await body?.cancel();
    if (status === 403) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
