// Verifies the claims of docs/replicas.md under load, with three replicas of the server, redis-server and nginx.
// Checks that every request gets exactly one response, by request id.
//   node deploy/replicas/prove.mjs [--seconds 20] [--json]
// --seconds  duration of each phase
// Needs a build (npm run setup), redis-server and nginx (apt-get install redis-server nginx).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { form, Load, lasting } from '../../test/support/load.mjs';
import { PATH } from '../../test/support/nginx.mjs';
import { portraits } from '../../test/support/portraits.mjs';
import { endOnSignals, freePorts, makeKey, startProgram, startServer } from '../../test/support/programs.mjs';
import { claim, flags, progress, report } from '../../test/support/report.mjs';

const limiterUp = 'facematch_limiter_up';
const fallbacks = 'facematch_limiter_fallbacks_total';

const { seconds, json } = flags({ seconds: 20, json: false });
endOnSignals();
const folder = mkdtempSync(join(tmpdir(), 'facematch-replicas-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

// ---- redis-server, three replicas and nginx on free ports of this machine

const keysFile = join(folder, 'keys.json');
const [redisPort, nginxPort, ...ports] = await freePorts(8);

function startRedis() {
  const args = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''];
  return startProgram('redis-server', args, { ready: /Ready to accept connections/ });
}

/** One replica. It uses the same ports after a restart. */
class Replica {
  server;

  constructor(port, adminPort) {
    this.port = port;
    this.adminPort = adminPort;
  }

  /** Starts the server, and resolves when it is ready. */
  async start() {
    const env = {
      FACEMATCH_PORT: String(this.port),
      FACEMATCH_ADMIN_PORT: String(this.adminPort),
      FACEMATCH_KEYS_FILE: keysFile,
      FACEMATCH_WORKERS: '1',
      FACEMATCH_LIMITER: `redis://127.0.0.1:${redisPort}`,
      FACEMATCH_TRUSTED_HOPS: '1',
    };
    this.server = await startServer({ env });
  }

  /**
   * Stops the server with SIGTERM, like a process manager, or with SIGKILL, which drops requests in flight. Then
   * starts a new server, and resolves when it is ready.
   */
  async restart(signal) {
    await this.server.stop(signal);
    await this.start();
  }

  /** Polls until the metric has the value. */
  async waitForMetric(series, value) {
    while ((await this.server.metric(series)) !== value) await setTimeout(10);
  }
}

function startNginx() {
  const servers = replicas.map(({ port }) => `    server 127.0.0.1:${port} max_fails=0;`).join('\n');
  const text = readFileSync(new URL('nginx.conf', import.meta.url), 'utf8')
    .replace('USER', process.getuid() === 0 ? 'user root;' : '')
    .replace('SERVERS', servers)
    .replace('PORT', String(nginxPort));
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, text);
  const args = ['-c', 'exec nginx "$@" 2>&1', 'sh', '-p', folder, '-c', file];
  const options = { ready: /start worker process /, env: { PATH } };
  return startProgram('sh', [...args, '-g', 'daemon off; error_log stderr notice;'], options);
}

let redis = await startRedis();
// The first key creates the file with which the replicas start.
makeKey(keysFile);
const replicas = [0, 2, 4].map((at) => new Replica(ports[at], ports[at + 1]));
for (const replica of replicas) await replica.start();
const waitForLimiters = (up) => Promise.all(replicas.map((replica) => replica.waitForMetric(limiterUp, up)));
await waitForLimiters(1);
const nginx = await startNginx();

/** Creates a key, and waits until every replica has loaded it. */
async function newKey(limits) {
  const key = makeKey(keysFile, { scopes: 'match:basic', ...limits });
  for (const { port } of replicas) {
    // The key lacks the scope of this endpoint: a replica that has loaded it returns 403 instead of 401, and takes
    // no tokens from its bucket.
    const url = `http://127.0.0.1:${port}/API/v1.0/face/match/upload/advanced`;
    while ((await fetch(url, { method: 'POST', headers: { 'x-api-key': key } })).status !== 403)
      await setTimeout(50);
  }
  return key;
}

/** Returns how many requests the replicas admitted or rejected without Redis. */
async function countFallbacks() {
  const values = await Promise.all(replicas.map(({ server }) => server.metric(fallbacks)));
  return values.reduce((total, value) => total + value, 0);
}

const claims = [];

// ---- A key's rate and burst hold across all replicas.

const limits = { rate: 100, burst: 50 };

const [a, b, c] = replicas.map(({ port }) => port);
/** Each scenario lists the ports to which successive requests of one key are sent, in turn. */
const scenarios = {
  'through nginx': [nginxPort],
  '18 of 20 to one replica': [...Array(18).fill(a), b, c],
  '50 to one replica, then 50 to the next': [a, b, c].flatMap((port) => Array(50).fill(port)),
};

/**
 * Sends forms without images from 30 concurrent clients. Each form costs a token, and gets 400 without using a
 * worker.
 */
async function verifyLimit([scenario, turns]) {
  const key = await newKey(limits);
  const body = form({ a: 'b' });
  const loads = new Map(turns.map((port) => [port, new Load({ port, key }, [body])]));
  const before = await countFallbacks();
  const start = performance.now();
  const isRunning = lasting(seconds);
  let sent = 0;
  const client = async () => {
    while (isRunning()) await loads.get(turns[sent++ % turns.length]).one();
  };
  await Promise.all(Array.from({ length: 30 }, client));
  const lasted_s = (performance.now() - start) / 1000;
  const statuses = [...loads.values()].flatMap(({ responses }) => responses.map(({ status }) => status));
  for (const load of loads.values()) load.close();
  const admitted = statuses.filter((status) => status === 400).length;
  const others = sent - admitted - statuses.filter((status) => status === 429).length;
  // A replica that cannot reach Redis uses a bucket of its own.
  const fallbackCount = (await countFallbacks()) - before;
  const allowed = limits.rate * lasted_s + limits.burst;
  claims.push(
    claim(
      `forms ${scenario}, key with ${limits.rate}/s and burst ${limits.burst}: limit holds, every form gets 400 or 429`,
      `${admitted} of ${sent} admitted in ${lasted_s.toFixed(2)} s, limit ${allowed.toFixed(1)}; ${fallbackCount} of them without Redis; ${others} with another result`,
      'at most the limit; 0 with another result',
      // The bucket tolerates rounding errors.
      admitted - fallbackCount <= allowed + 1e-6 && admitted > fallbackCount && others === 0,
    ),
  );
}

// ---- No request is lost when a replica or Redis is killed.

const [one, two] = await portraits([{ width: 640, height: 640, format: 'jpeg' }]);
const photos = form({ image1: one.bytes, image2: two.bytes });
/** Two replicas can queue the requests of six clients, so none is rejected for overload. */
const clients = 6;
const loadKey = await newKey();

/** Runs a closed loop for at least `seconds`, and executes the steps at equal intervals. */
async function under(what, steps) {
  const load = new Load({ port: nginxPort, key: loadKey }, [photos]);
  let over = false;
  const running = load.closedLoop(clients, () => !over);
  for (const step of [...steps, () => {}]) {
    await setTimeout((seconds * 1000) / (steps.length + 1));
    await step();
  }
  over = true;
  await running;
  load.close();
  const { sent, lost, stray, responses } = load;
  const failed = responses.filter(({ status }) => status !== 200).map(({ status }) => status);
  const statuses = failed.length === 0 ? '' : ` (${[...new Set(failed)].join(', ')})`;
  claims.push(
    claim(
      `requests lost while ${what}`,
      `${sent - responses.length} of ${sent} without a response, ${failed.length} with a status other than 200${statuses}, ${stray} with the wrong request id`,
      '0, 0 and 0',
      sent > 0 && sent === responses.length && lost === 0 && failed.length === 0 && stray === 0,
    ),
  );
}

for (const scenario of Object.entries(scenarios)) {
  progress(scenario[0]);
  await verifyLimit(scenario);
}
progress('killing replicas and Redis');
await under('one replica is killed', [() => replicas[0].restart('SIGKILL')]);
const before = await countFallbacks();
const killRedis = async () => {
  await redis.stop('SIGKILL');
  await waitForLimiters(0);
  while ((await countFallbacks()) === before) await setTimeout(10);
};
const restartRedis = async () => {
  redis = await startRedis();
  await waitForLimiters(1);
};
await under('Redis is killed and restarted', [killRedis, restartRedis]);
const fallbackCount = (await countFallbacks()) - before;
const what = 'rate limit decisions without Redis in that phase, by the metric';
claims.push(claim(what, fallbackCount, 'more than 0', fallbackCount > 0));
// nginx keeps sending requests to a replica that is restarting.
const restarts = replicas.map((replica) => () => replica.restart());
await under('all three are replaced, one after another', restarts);
progress('');
await Promise.all([nginx, ...replicas.map(({ server }) => server), redis].map((program) => program.stop()));
report({ title: 'Three replicas behind nginx, limits in Redis', facts: { seconds }, claims, json });
