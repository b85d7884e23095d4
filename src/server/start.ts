import { totalmem } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Challenges, randomSecrets, type Secrets } from '../auth/challenges.ts';
import { Gate, maxBuckets } from '../auth/gate.ts';
import { KeyStore } from '../auth/key-store.ts';
import { SecretFile } from '../auth/secret-file.ts';
import { SharedLimiter } from '../auth/shared-limiter.ts';
import type { Config } from '../config/config.ts';
import { version } from '../config/paths.ts';
import { type WorkerJobs, workerProgram } from '../endpoints/worker-jobs.ts';
import type { Addon } from '../engine/addon.ts';
import { Engine } from '../engine/engine.ts';
import { type Manifest, packDirectory, readManifest } from '../engine/manifest.ts';
import { Uploads } from '../http/body/upload.ts';
import type { Services } from '../http/context.ts';
import type { Connections, Listening } from '../http/listening.ts';
import { Pipeline } from '../http/pipeline.ts';
import { UnreadResponses } from '../http/unread.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import { documents } from '../site/documents.ts';
import { AuditLog } from '../telemetry/audit.ts';
import { type Log, Telemetry } from '../telemetry/telemetry.ts';
import type { Certificate } from './certificate.ts';
import {
  openAdmin,
  openCertificate,
  openConnections,
  openFront,
  openTransport,
  type Transport,
} from './listeners.ts';

export interface Server {
  /** Base URL with the port in use. */
  readonly url: string;
  readonly adminUrl: string;
  /**
   * Resolves to true when requests are served, or to false if a shutdown began first. Rejects with an Error whose
   * message is meant for the user.
   */
  readonly ready: Promise<boolean>;
  /** The audit log, which SIGHUP reopens. */
  readonly audit: AuditLog | undefined;
  /**
   * Rejects new requests, waits for requests in flight up to FACEMATCH_SHUTDOWN_TIMEOUT_MS, and frees all resources.
   * Resolves to true if all workers have ended, and to false if process.exit() would have to wait for one.
   */
  close(): Promise<boolean>;
}

/** Resources in the order in which they are closed. */
type Opened = { close(): void | Promise<void> }[];

/**
 * Starts a server. It listens before the workers are up, so that health checks get a response. Throws an Error whose
 * message is meant for the user.
 */
export async function startServer(config: Config, log: Log): Promise<Server> {
  const opened: Opened = [];
  return start(config, log, opened).catch((error: unknown) => {
    // Open resources would keep the process alive.
    for (const resource of opened) void resource.close();
    throw error;
  });
}

async function start(config: Config, log: Log, opened: Opened): Promise<Server> {
  const transport = openTransport(config, log);
  const pack_directory = packDirectory(config.pack);
  const services = openServices(config, readManifest(pack_directory), transport, log, opened);
  const { audit } = services.telemetry;
  const certificate = openCertificate(config, log);
  const connections = openConnections(config, log);
  const pipeline = new Pipeline(services);
  services.telemetry.metrics.addGauges({
    ...gaugesOf(services, pipeline, connections.front, certificate),
    log_lines_dropped_total: () => log.lines.dropped,
    audit_lines_dropped_total: () => audit?.lines.dropped ?? 0,
    audit_lines_waiting: () => audit?.lines.waiting,
  });
  const front = await openFront(transport, services, pipeline, certificate, connections.front, log);
  opened.push(front);
  const admin = await openAdmin(transport, services, connections.admin, log);
  opened.push(admin);
  // The audit log closes after the listeners, because it records the last requests.
  if (audit !== undefined) opened.push(audit);
  const urls = { url: front.url, admin_url: admin.url };
  const { name: http, uws } = transport;
  const { pack } = services.model;
  log.logger.info({ ...urls, http, uws, workers: config.workers, pack }, 'starting');
  const ready = becomeReady(services, pack_directory, log);
  return {
    url: front.url,
    adminUrl: admin.url,
    ready,
    audit,
    close: () => shutDown(services, pipeline, front, opened, ready, log),
  };
}

/** Creates the objects that requests share. Throws an Error whose message is meant for the user. */
function openServices(
  config: Config,
  manifest: Manifest,
  transport: Transport,
  log: Log,
  opened: Opened,
): Services {
  const model = { pack: manifest.name, version: manifest.version };
  if (manifest.calibration === undefined) {
    log.logger.warn(
      { pack: model.pack },
      'the model pack is not calibrated; confidence_percent is capped at 40',
    );
  }
  const keys = new KeyStore(config.keys_file, log.logger);
  opened.push(keys);
  const engine = new Engine<WorkerJobs>(config, workerProgram, log.logger);
  const telemetry = openTelemetry(config, model, transport, log);
  const limiter = openLimiter(config, log, telemetry);
  if (limiter !== undefined) opened.push(limiter);
  const secrets = openSecrets(config, log, opened);
  return {
    config,
    gate: new Gate(keys, config, limiter),
    challenges: new Challenges({
      steps: config.challenge_steps,
      lifetime_s: config.challenge_seconds,
      secrets,
      shared: limiter,
    }),
    manifest,
    model,
    calibrations: {
      fast: calibrationOf(manifest.calibration?.fast),
      balance: calibrationOf(manifest.calibration?.balance),
    },
    engine,
    uploads: new Uploads(config, engine.addon),
    unread: new UnreadResponses(),
    readiness: { stage: 'starting' },
    telemetry,
    documents: documents(config),
  };
}

/** Opens the secrets for challenges. Throws an Error whose message is meant for the user. */
function openSecrets({ challenge_secret_file: file }: Config, { logger }: Log, opened: Opened): Secrets {
  if (file === '') return randomSecrets();
  const secrets = new SecretFile(file, logger);
  opened.push(secrets);
  return secrets;
}

/** Opens the metrics and, if configured, the audit log. Throws an Error whose message is meant for the user. */
function openTelemetry(
  config: Config,
  { pack, version: pack_version }: Services['model'],
  transport: Transport,
  log: Log,
) {
  const { audit_log, execution_providers } = config;
  const audit = audit_log === '' ? undefined : new AuditLog(audit_log, { pack, pack_version }, log.logger);
  const info = {
    version: version(),
    node: process.versions.node,
    http: transport.name,
    uws: transport.uws ?? '',
    pack,
    pack_version,
    providers: execution_providers.join(','),
  };
  return new Telemetry(log, info, audit);
}

/** Opens the shared limiter in Redis, and logs each change of its state once. Returns undefined if limits are local. */
function openLimiter(
  { limiter: redisUrl }: Config,
  { logger }: Log,
  { metrics }: Telemetry,
): SharedLimiter | undefined {
  if (redisUrl === 'local') return undefined;
  const redis = String(redisUrl);
  return new SharedLimiter({
    redisUrl,
    capacity: maxBuckets,
    onUp: () => logger.info({ redis }, 'connected to Redis; rate limits are shared'),
    onDown: (reason) => logger.warn({ redis, reason }, 'Redis is not reachable; rate limits are local'),
    onFallback: () => metrics.meters.limiter_fallbacks_total.inc(),
    onDecision: (seconds) => metrics.meters.limiter_duration_seconds.observe(seconds),
  });
}

/** Returns the functions that provide the values of the gauges, by name. */
function gaugesOf(
  { config, engine, gate, challenges, uploads, unread, readiness }: Services,
  pipeline: Pipeline,
  connections: Connections,
  certificate: Certificate | undefined,
) {
  // Memory limit of the cgroup: 0 if unknown, nearly 2^64 without a limit.
  const limit = process.constrainedMemory();
  const memory_limit_bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return {
    ...engine.gauges(),
    upload_memory_bytes: () => uploads.used_bytes,
    upload_pool_bytes: () => uploads.buffers.kept_bytes,
    response_backlog_bytes: () => unread.held_bytes,
    upload_memory_limit_bytes: () => config.upload_memory_bytes,
    requests_in_flight: () => pipeline.inFlight,
    connections: () => connections.open,
    connections_rejected_total: () => connections.rejected,
    connections_without_request_total: () => connections.silent,
    limiter_up: () => (gate.callers instanceof SharedLimiter ? Number(gate.callers.up) : undefined),
    used_challenges: () => challenges.used,
    key_file_stale: () => Number(gate.keys.stale),
    tls_certificate_not_after_seconds: () => certificate?.not_after_s,
    ready: () => Number(readiness.stage === 'ready'),
    event_loop_active_seconds_total: () => performance.eventLoopUtilization().active / 1000,
    memory_limit_bytes: () => memory_limit_bytes,
  };
}

async function becomeReady(
  { engine, manifest, readiness }: Services,
  pack_directory: string,
  { logger }: Log,
): Promise<boolean> {
  const started = performance.now();
  await engine.start(pack_directory, manifest);
  // A shutdown may have begun during startup.
  if (readiness.stage === 'starting') readiness.stage = 'ready';
  logger.info({ ready_ms: Math.round(performance.now() - started) }, 'ready');
  return readiness.stage === 'ready';
}

/** Minimum time for the workers to end, even after the shutdown timeout. They usually end within milliseconds. */
const minForWorkers_ms = 1000;

async function shutDown(
  { config, engine, readiness, telemetry }: Services,
  pipeline: Pipeline,
  front: Listening,
  opened: Opened,
  ready: Promise<boolean>,
  { logger }: Log,
): Promise<boolean> {
  const end = performance.now() + config.shutdown_timeout_ms;
  readiness.stage = 'draining';
  logger.info({ requests_in_flight: pipeline.inFlight }, 'shutting down');
  await within(config.shutdown_timeout_ms, drain(front, engine.addon, pipeline));
  const cut = pipeline.inFlight;
  const closing = opened.splice(0).map((resource) => resource.close());
  // A failed startup has already reported the error and ended its workers.
  const ended = await within(
    Math.max(minForWorkers_ms, end - performance.now()),
    ready.then(() => engine.close()).catch(() => {}),
  );
  await Promise.all(closing);
  if (!ended) logger.warn('worker did not exit in time');
  // Logs the final counts, because no later scrape reports them.
  const audit_lines_lost = telemetry.audit?.lines.dropped;
  logger[audit_lines_lost ? 'error' : 'info']({ requests_cut: cut, audit_lines_lost }, 'stopped');
  return ended;
}

/** Time for pending handshakes to complete: about one intercontinental round trip. */
const handshake_ms = 250;

/** Time without a request on any connection after which all keep-alive connections count as idle. */
const quiet_ms = 500;

const check_ms = 25;

/**
 * Stops a listener so that no connection in use is reset: completes pending handshakes and requests in flight. Call
 * it after readiness reports `draining`. Resolves when no connection is left, or when all seem idle.
 */
export async function drain(
  front: Listening,
  addon: Pick<Addon, 'dropNewConnections'>,
  pipeline: Pick<Pipeline, 'quiet_ms'>,
): Promise<void> {
  addon.dropNewConnections(front.port);
  await pause(handshake_ms);
  front.stopListening();
  const since = performance.now();
  const isQuiet = () => Math.min(pipeline.quiet_ms, performance.now() - since + handshake_ms) >= quiet_ms;
  while (front.connections.open > 0 && !isQuiet()) await pause(check_ms);
}

/** Resolves to true if `work` ended in time. The timer keeps the process alive, because piscina's workers do not. */
export function within(limit_ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limit_ms);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}
