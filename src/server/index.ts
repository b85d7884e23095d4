import { totalmem } from 'node:os';
import { publications } from './api/publications.ts';
import { type Config, uwsFolder } from './config.ts';
import { Engine } from './engine/engine.ts';
import { packDirectory, readManifest } from './engine/pack.ts';
import { Gate, mostBuckets } from './gate/gate.ts';
import { KeyStore } from './gate/key-store.ts';
import { SharedLimiter } from './gate/shared-limiter.ts';
import { handleAdmin, Readiness } from './http/admin.ts';
import { BodyMemory } from './http/body-memory.ts';
import type { Handlers, Services } from './http/context.ts';
import { Dispatcher } from './http/dispatch.ts';
import type { ExchangeLimits } from './http/exchange.ts';
import { matchEmbeddings } from './http/handlers/embeddings.ts';
import { detect, embed } from './http/handlers/faces.ts';
import { match, matchMany } from './http/handlers/match.ts';
import { models } from './http/handlers/models.ts';
import { Listener, type ListenerOptions } from './http/listener.ts';
import { published } from './http/responses.ts';
import { routes } from './http/routes.ts';
import { TlsListener } from './http/tls-listener.ts';
import { Uploads } from './http/upload.ts';
import { loadUws, type Uws } from './http/uws.ts';
import { calibrationOf } from './matching/calibration.ts';
import type { RedisAddress } from './redis-address.ts';
import { AuditLog } from './telemetry/audit.ts';
import type { Readings } from './telemetry/metrics.ts';
import { type Log, Telemetry } from './telemetry/telemetry.ts';
import { type CertificateFiles, CertificateWatch, certificateFiles } from './tls/certificate.ts';
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
  /** After its file has been moved away. */
  reopenAuditLog(): void;
  /**
   * Refuses new requests, waits for running ones as long as the configuration allows, and frees everything.
   * Resolves to the number of requests that had to be cut off.
   */
  close(): Promise<number>;
}

/** What the end has to close, in this order. */
type Opened = { close(): void }[];

/**
 * Config → pack → gate → listeners → workers. Listens before the workers are up, so that health can be asked for and
 * requests hear not_ready. Throws an Error with a message for people.
 */
export function startServer(config: Config, log: Log): Server {
  const opened: Opened = [];
  try {
    return start(config, log, opened);
  } catch (error) {
    // What is open would keep the process alive.
    for (const thing of opened) thing.close();
    throw error;
  }
}

function start(config: Config, log: Log, opened: Opened): Server {
  const { logger } = log;
  const uws = loadUws();
  const [reason] = uws.passedOver;
  if (uwsFolder() !== undefined && reason !== undefined) logger.warn({ reason }, 'FACEMATCH_UWS is not used');
  const pack_directory = packDirectory(config.pack);
  const manifest = readManifest(pack_directory);
  const keys = KeyStore.open(config.keys_file, logger);
  opened.push(keys);
  const certificate = openCertificate(config, log);
  if (certificate) opened.push(certificate.watch);
  const engine = new Engine({
    config,
    pack_directory,
    manifest,
    onWorkerError: (error) => logger.error({ fault: error.message }, 'a worker died; it is replaced'),
  });
  const uploads = openUploads(config, engine);
  const readiness = new Readiness();
  const memory_limit_bytes = memoryLimit();
  const readings: Readings = {
    ...engine.readings(),
    upload_bytes: () => uploads.used_bytes,
    upload_capacity_bytes: () => config.max_upload_bytes,
    requests_unanswered: () => dispatcher.unanswered,
    limiter_up: () => limiter && Number(limiter.up),
    tls_certificate_not_after_seconds: () => certificate?.watch.not_after_s,
    ready: () => Number(readiness.stage === 'ready'),
    event_loop_active_seconds_total: () => performance.eventLoopUtilization().active / 1000,
    memory_limit_bytes: () => memory_limit_bytes,
  };
  const model = { pack: manifest.name, version: manifest.version };
  const audit =
    config.audit_log === ''
      ? undefined
      : new AuditLog(config.audit_log, `${model.pack} ${model.version}`, logger);
  const info = {
    version: version(),
    node: process.versions.node,
    uws: uws.version,
    pack: manifest.name,
    pack_version: manifest.version,
  };
  const telemetry = new Telemetry(log, readings, info, audit);
  const limiter = config.limiter === 'local' ? undefined : shareLimits(config.limiter, log, telemetry);
  if (limiter) opened.push(limiter);
  const gate = new Gate({
    keys,
    failuresPerMinute: config.auth_failures_per_minute,
    failureBurst: config.auth_failure_burst,
    trustedHops: config.trusted_hops,
    callers: limiter,
  });
  const calibrations = {
    fast: calibrationOf(manifest.calibration.fast),
    balance: calibrationOf(manifest.calibration.balance),
  };
  const services = { config, gate, manifest, model, calibrations, engine, uploads, readiness, telemetry };
  const dispatcher = new Dispatcher(services, routes, handlersOf(config));
  const front = openFront(uws, services, dispatcher, certificate, log);
  opened.push(front);
  const admin = openAdmin(uws, services, log);
  opened.push(admin);
  // Behind the listeners, whose last requests it tells of.
  if (audit) opened.push(audit);
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
  const ready = becomeReady(engine, readiness, log);
  return {
    address: front.url,
    adminAddress: admin.url,
    ready,
    reopenAuditLog: () => audit?.reopen(),
    close: () => shutDown(services, dispatcher, opened, ready, log),
  };
}

/** Memory of bodies that is kept for the next ones: some of phones, or many of ordinary photos, and how long. */
const kept_bytes = 64 * 1024 * 1024;
const kept_ms = 1000;

/** One key or address may have half of the memory, and at least one body. */
function openUploads({ max_upload_bytes, max_body_bytes }: Config, engine: Engine): Uploads {
  return new Uploads({
    limit_bytes: max_upload_bytes,
    share_bytes: Math.max(max_upload_bytes / 2, Math.min(max_upload_bytes, max_body_bytes)),
    memory: new BodyMemory({
      capacity_bytes: kept_bytes,
      idle_ms: kept_ms,
      discard: (bytes) => engine.discard(bytes),
    }),
  });
}

/** What answers each endpoint of the route table. */
function handlersOf(config: Config): Handlers {
  const documents = publications(routes, config);
  return {
    match: (context) => match(context, 'match'),
    match_advanced: (context) => match(context, 'match_advanced'),
    match_many: matchMany,
    detect,
    embed,
    match_embeddings: matchEmbeddings,
    models,
    openapi: (context) => published(context, documents.openapi()),
    docs: (context) => published(context, documents.docs()),
    demo: (context) => published(context, documents.demo()),
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

interface OpenCertificate {
  files: CertificateFiles;
  watch: CertificateWatch;
}

/** Undefined when the service speaks plain HTTP. */
function openCertificate({ tls_cert, tls_key }: Config, { logger }: Log): OpenCertificate | undefined {
  const files = certificateFiles(tls_cert, tls_key);
  return files && { files, watch: new CertificateWatch(files, logger) };
}

function openFront(
  uws: Uws,
  { config, engine }: Services,
  dispatcher: Dispatcher,
  certificate: OpenCertificate | undefined,
  log: Log,
): Listener | TlsListener {
  const options: ListenerOptions = {
    host: config.host,
    port: config.port,
    variables: 'FACEMATCH_HOST and FACEMATCH_PORT',
    limits: exchangeLimits(config),
    handle: (exchange) => dispatcher.handle(exchange),
    onFault: faultLog(log),
  };
  if (certificate === undefined) return Listener.open(uws, options);
  const listener = TlsListener.open(uws, {
    ...options,
    certificate: certificate.files,
    preferNewest: (port) => engine.preferNewestListener(port),
  });
  certificate.watch.onRenew(() => listener.renew());
  return listener;
}

function openAdmin(uws: Uws, services: Services, log: Log): Listener {
  const { config } = services;
  return Listener.open(uws, {
    host: config.admin_host,
    port: config.admin_port,
    variables: 'FACEMATCH_ADMIN_HOST and FACEMATCH_ADMIN_PORT',
    limits: exchangeLimits(config),
    handle: (exchange) => void handleAdmin(exchange, services),
    onFault: faultLog(log),
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

function faultLog({ logger }: Log): (error: unknown) => void {
  return (error) => logger.error({ fault: String(error) }, 'unexpected');
}

async function becomeReady(engine: Engine, readiness: Readiness, { logger }: Log): Promise<boolean> {
  const started = performance.now();
  await engine.start();
  readiness.ready();
  logger.info({ ready_ms: Math.round(performance.now() - started) }, 'ready');
  return readiness.stage === 'ready';
}

async function shutDown(
  { config, engine, readiness }: Services,
  dispatcher: Dispatcher,
  opened: Opened,
  ready: Promise<boolean>,
  { logger }: Log,
): Promise<number> {
  readiness.drain();
  logger.info({ unanswered: dispatcher.unanswered }, 'shutting down');
  await within(config.shutdown_ms, dispatcher.idle());
  const cut = dispatcher.unanswered;
  for (const thing of opened.splice(0)) thing.close();
  // A start that failed has told so already, and has ended its workers.
  await within(
    config.shutdown_ms,
    ready.then(() => engine.close()).catch(() => {}),
  );
  logger.info({ cut }, 'stopped');
  return cut;
}

/** Also keeps the process alive, which piscina's workers do not. */
function within(limit_ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit_ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

/** Bytes of memory that the process may use: its control group's limit, or else what the machine has. */
function memoryLimit(): number {
  // 0 where it is not known, nearly 2^64 where there is none.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
