import { calibrationOf } from './calibration.ts';
import type { Config } from './config.ts';
import { type Addon, loadAddon } from './engine/addon.ts';
import { BodyMemory } from './engine/body-memory.ts';
import type { MatchJob, MatchOutcome } from './engine/messages.ts';
import { packDirectory, readManifest, verifyPack } from './engine/pack.ts';
import { Pool } from './engine/pool.ts';
import { JobQueue } from './engine/queue.ts';
import { Gate, mostBuckets } from './gate/gate.ts';
import { KeyStore } from './gate/keys.ts';
import { SharedLimiter } from './gate/shared-limiter.ts';
import { handleAdmin } from './http/admin.ts';
import { Dispatcher } from './http/dispatch.ts';
import type { ExchangeLimits } from './http/exchange.ts';
import { Listener, type ListenerOptions } from './http/listener.ts';
import { routes } from './http/routes.ts';
import type { Services } from './http/services.ts';
import { TlsListener } from './http/tls-listener.ts';
import { UploadBudget } from './http/upload.ts';
import { loadUws } from './http/uws.ts';
import { memoryLimit } from './memory.ts';
import { Readiness } from './readiness.ts';
import type { RedisAddress } from './redis-address.ts';
import type { Readings } from './telemetry/metrics.ts';
import type { Log } from './telemetry/telemetry.ts';
import { Telemetry } from './telemetry/telemetry.ts';
import { certificateFiles } from './tls/certificate.ts';
import { CertificateWatch } from './tls/certificate-watch.ts';
import { version } from './version.ts';

export interface Server {
  /** http://HOST:PORT with the port that was really taken. */
  readonly address: string;
  readonly adminAddress: string;
  /**
   * Resolves when the start is over: true when requests are served, false when a shutdown came first.
   * Rejects with a message for people when the models or the workers do not start.
   */
  readonly ready: Promise<boolean>;
  /**
   * Refuses new requests, waits for running ones as long as the configuration allows, and frees everything.
   * Resolves to the number of requests that had to be cut off.
   */
  close(): Promise<number>;
}

/** Memory of bodies that waits for the next ones: some of phones, or many of ordinary photos, and how long. */
const kept_bytes = 64 * 1024 * 1024;
const kept_ms = 1000;
/** Bodies up to here are those of small pictures: a job of milliseconds, like the way from worker to worker. */
const light_bytes = 256 * 1024;

/**
 * Config → pack → gate → listeners → workers. Listens before the workers are up, so that health can be asked for and
 * requests hear not_ready. Throws an Error with a message for people.
 */
export function startServer(config: Config, log: Log): Server {
  const opened: { close(): void }[] = [];
  try {
    return start(config, log, opened);
  } catch (error) {
    // What is open would keep the process alive.
    for (const thing of opened) thing.close();
    throw error;
  }
}

function start(config: Config, log: Log, opened: { close(): void }[]): Server {
  const { logger } = log;
  const uws = loadUws();
  const directory = packDirectory(config.pack);
  const manifest = readManifest(directory);
  const keys = KeyStore.open(config.keys_file, logger);
  opened.push(keys);
  const certificate = certificateFiles(config.tls_cert, config.tls_key);
  const certificateWatch = certificate && CertificateWatch.open(certificate, logger);
  if (certificateWatch) opened.push(certificateWatch);
  const readiness = new Readiness();
  const queue = new JobQueue<MatchJob, MatchOutcome>({
    workers: config.workers,
    capacity: config.queue,
    deadline_ms: config.deadline_ms,
    light: ({ body }) => body.length <= light_bytes,
    run: (job, worker, spare) => pool.run(job, worker, spare),
  });
  const uploads = new UploadBudget(config.max_upload_bytes);
  const bodies = new BodyMemory({
    capacity_bytes: kept_bytes,
    idle_ms: kept_ms,
    free: (memory) => addon?.release(new Uint8Array(memory)),
  });
  let workerReplacements = 0;
  const memoryLimit_bytes = memoryLimit();
  const readings: Readings = {
    queue_depth: () => queue.depth,
    queue_capacity: () => config.queue,
    workers: () => config.workers,
    workers_busy: () => queue.running,
    worker_busy_seconds_total: () => queue.busy_ms / 1000,
    worker_replacements_total: () => workerReplacements,
    upload_bytes: () => uploads.used_bytes,
    upload_capacity_bytes: () => config.max_upload_bytes,
    requests_unanswered: () => dispatcher.unanswered,
    embedding_cache_hits_total: () => addon?.embeddingCache().hits ?? 0,
    embedding_cache_misses_total: () => addon?.embeddingCache().misses ?? 0,
    embedding_cache_pictures: () => addon?.embeddingCache().pictures ?? 0,
    limiter_up: () => callers && Number(callers.up),
    tls_certificate_not_after_seconds: () => certificateWatch?.not_after_s,
    ready: () => Number(readiness.stage === 'ready'),
    event_loop_active_seconds_total: () => performance.eventLoopUtilization().active / 1000,
    memory_limit_bytes: () => memoryLimit_bytes,
  };
  const telemetry = new Telemetry(log, readings, {
    version: version(),
    node: process.versions.node,
    uws: uws.version,
    pack: manifest.name,
    pack_version: manifest.version,
  });
  const callers = config.limiter === 'local' ? undefined : shareLimits(config.limiter, log, telemetry);
  if (callers !== undefined) opened.push(callers);
  const services: Services = {
    config,
    gate: new Gate({
      keys,
      failuresPerMinute: config.auth_failures_per_minute,
      failureBurst: config.auth_failure_burst,
      trustedHops: config.trusted_hops,
      callers,
    }),
    manifest,
    calibrations: {
      fast: calibrationOf(manifest.calibration.fast),
      balance: calibrationOf(manifest.calibration.balance),
    },
    queue,
    uploads,
    bodies,
    readiness,
    telemetry,
  };
  const dispatcher = new Dispatcher(services, routes);
  const limits = exchangeLimits(config);
  const onFault = (error: unknown) => logger.error({ fault: String(error) }, 'unexpected');
  const frontOptions: ListenerOptions = {
    host: config.host,
    port: config.port,
    variables: 'FACEMATCH_HOST and FACEMATCH_PORT',
    limits,
    handle: (exchange) => dispatcher.handle(exchange),
    onFault,
  };
  const front = certificate
    ? TlsListener.open(uws, {
        ...frontOptions,
        certificate,
        preferNewest: (port) => void addon?.preferNewestListener(port),
      })
    : Listener.open(uws, frontOptions);
  opened.push(front);
  if (front instanceof TlsListener) certificateWatch?.onRenew(() => front.renew());
  const admin = Listener.open(uws, {
    host: config.admin_host,
    port: config.admin_port,
    variables: 'FACEMATCH_ADMIN_HOST and FACEMATCH_ADMIN_PORT',
    limits,
    handle: (exchange) => void handleAdmin(exchange, { readiness, telemetry }),
    onFault,
  });
  opened.push(admin);
  logger.info(
    {
      address: front.url,
      admin_address: admin.url,
      uws: uws.version,
      workers: config.workers,
      pack: manifest.name,
    },
    'starting',
  );

  let pool: Pool;
  let addon: Addon | undefined;
  const started = performance.now();
  const ready = (async () => {
    await verifyPack(directory, manifest);
    // Here once, for the whole process: the workers find the sessions made, and a fault is told once and clearly.
    addon = loadAddon();
    addon.loadPack(directory);
    addon.keepEmbeddings(config.embedding_cache);
    pool = await Pool.start({
      workers: config.workers,
      pack_directory: directory,
      embedding_cache: config.embedding_cache > 0,
      onMemory: (memory) => bodies.give(memory),
      onWorkerReplaced: () => {
        workerReplacements += 1;
      },
      onWorkerError: (error) => logger.error({ fault: error.message }, 'a worker died; it is replaced'),
    });
    readiness.ready();
    logger.info({ ready_ms: Math.round(performance.now() - started) }, 'ready');
    return readiness.stage === 'ready';
  })();

  return {
    address: front.url,
    adminAddress: admin.url,
    ready,
    async close() {
      readiness.drain();
      logger.info({ unanswered: dispatcher.unanswered }, 'shutting down');
      await within(config.shutdown_ms, dispatcher.idle());
      const cut = dispatcher.unanswered;
      for (const thing of opened.splice(0)) thing.close();
      // A start that failed has told so already, and has ended its workers.
      await within(
        config.shutdown_ms,
        ready.then(() => pool.close()).catch(() => {}),
      );
      logger.info({ cut }, 'stopped');
      return cut;
    },
  };
}

/** Rate limits in Redis, told of in the log once a change and in the metrics. */
function shareLimits(address: RedisAddress, { logger }: Log, { metrics }: Telemetry): SharedLimiter {
  const redis = String(address);
  return new SharedLimiter({
    address,
    capacity: mostBuckets,
    onUp: () => logger.info({ redis }, 'rate limits are shared'),
    onDown: (reason) => logger.warn({ redis, reason }, 'rate limits are local: Redis is away'),
    onFallback: () => metrics.limiterFallback(),
    onDecision: (seconds) => metrics.limiterDecision(seconds),
  });
}

function exchangeLimits(config: Config): ExchangeLimits {
  return {
    upload_timeout_ms: config.upload_timeout_ms,
    idle_ms: config.idle_timeout_s * 1000,
    // A client that goes on sending too large a body still hears why, up to twice what it might have sent.
    drain_bytes: 2 * config.max_body_bytes,
  };
}

/** Also keeps the process alive, which piscina's workers do not. */
function within(limit_ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit_ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
