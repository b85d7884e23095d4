import type { Config } from '../config.ts';
import { Engine } from '../engine/engine.ts';
import { type PackManifest, packDirectory, readManifest } from '../engine/pack.ts';
import { uwsFolder } from '../environment.ts';
import { calibrationOf } from '../face/calibration.ts';
import { Gate, mostBuckets } from '../gate/gate.ts';
import { KeyStore } from '../gate/key-store.ts';
import { SharedLimiter } from '../gate/shared-limiter.ts';
import { Readiness } from '../http/admin.ts';
import type { Services } from '../http/context.ts';
import { Dispatcher } from '../http/dispatch.ts';
import { Uploads } from '../http/upload.ts';
import { loadUws, type Uws } from '../http/uws.ts';
import { publication } from '../site/publications.ts';
import type { Log, Telemetry } from '../telemetry/telemetry.ts';
import { openAdmin, openCertificate, openFront } from './listeners.ts';
import { openTelemetry } from './telemetry.ts';

export interface Server {
  /** http://HOST:PORT with the actual port. */
  readonly address: string;
  readonly adminAddress: string;
  /**
   * Resolves when the start is over: true when requests are served, false when a shutdown came first.
   * Rejects with a message for people when the models or the workers do not start.
   */
  readonly ready: Promise<boolean>;
  /** For log rotation: call it after the file has been moved away. */
  reopenAuditLog(): void;
  /**
   * Refuses new requests, waits for running ones as long as the configuration allows, and frees everything.
   * Resolves to the number of requests that had to be cut off.
   */
  close(): Promise<number>;
}

/** What close() has to close, in this order. */
type Opened = { close(): void }[];

/**
 * Config → pack → gate → listeners → workers. Listens before the workers are up, so that health checks get an answer
 * and requests get not_ready. Throws an Error with a message for people.
 */
export function startServer(config: Config, log: Log): Server {
  const opened: Opened = [];
  try {
    return start(config, log, opened);
  } catch (error) {
    // Anything left open would keep the process alive.
    for (const thing of opened) thing.close();
    throw error;
  }
}

function start(config: Config, log: Log, opened: Opened): Server {
  const opening = <T extends Opened[number] | undefined>(thing: T): T => {
    if (thing) opened.push(thing);
    return thing;
  };
  const uws = chosenUws(log);
  const pack_directory = packDirectory(config.pack);
  const manifest = readManifest(pack_directory);
  const model = { pack: manifest.name, version: manifest.version };
  const keys = opening(KeyStore.open(config.keys_file, log.logger));
  const certificate = openCertificate(config, log);
  opening(certificate?.watch);
  const engine = openEngine(config, pack_directory, manifest, log);
  const uploads = openUploads(config, engine);
  const readiness = new Readiness();
  const sources = {
    config,
    model,
    uws: uws.version,
    engine,
    uploads,
    readiness,
    certificate: certificate?.watch,
    limiter: () => limiter,
    unanswered: () => dispatcher.unanswered,
  };
  const { telemetry, audit } = openTelemetry(sources, log);
  const limiter = opening(openLimiter(config, log, telemetry));
  const gate = openGate(config, keys, limiter);
  const calibrations = {
    fast: calibrationOf(manifest.calibration.fast),
    balance: calibrationOf(manifest.calibration.balance),
  };
  const services: Services = {
    config,
    gate,
    manifest,
    model,
    calibrations,
    engine,
    uploads,
    readiness,
    telemetry,
    documents: (id) => publication(id, config),
  };
  const dispatcher = new Dispatcher(services);
  const front = opening(openFront(uws, services, dispatcher, certificate, log));
  const admin = opening(openAdmin(uws, services, log));
  // After the listeners: it records their last requests.
  opening(audit);
  const addresses = { address: front.url, admin_address: admin.url };
  log.logger.info({ ...addresses, uws: uws.version, workers: config.workers, pack: model.pack }, 'starting');
  const ready = becomeReady(engine, readiness, log);
  return {
    address: front.url,
    adminAddress: admin.url,
    ready,
    reopenAuditLog: () => audit?.reopen(),
    close: () => shutDown(services, dispatcher, opened, ready, log),
  };
}

/** Warns when FACEMATCH_UWS names a package that cannot be used. */
function chosenUws({ logger }: Log): Uws {
  const uws = loadUws();
  const [reason] = uws.passedOver;
  if (uwsFolder() !== undefined && reason !== undefined) logger.warn({ reason }, 'FACEMATCH_UWS is not used');
  return uws;
}

function openEngine(config: Config, pack_directory: string, manifest: PackManifest, { logger }: Log): Engine {
  return new Engine({
    config,
    pack_directory,
    manifest,
    onWorkerError: (error) => logger.error({ fault: error.message }, 'a worker died; it is replaced'),
  });
}

/** One key or address may have half of the memory, and at least one body. */
function openUploads({ max_upload_bytes, max_body_bytes }: Config, engine: Engine): Uploads {
  return new Uploads({
    limit_bytes: max_upload_bytes,
    share_bytes: Math.max(max_upload_bytes / 2, Math.min(max_upload_bytes, max_body_bytes)),
    discard: (bytes) => engine.discard(bytes),
  });
}

/** Rate limits in Redis. A change is logged once and shows in the metrics. Undefined when limits are local. */
function openLimiter(
  { limiter: address }: Config,
  { logger }: Log,
  { metrics }: Telemetry,
): SharedLimiter | undefined {
  if (address === 'local') return undefined;
  const redis = String(address);
  return new SharedLimiter({
    address,
    capacity: mostBuckets,
    onUp: () => logger.info({ redis }, 'rate limits are shared'),
    onDown: (reason) => logger.warn({ redis, reason }, 'rate limits are local: Redis is not reachable'),
    onFallback: () => metrics.limiterFallback(),
    onDecision: (seconds) => metrics.limiterDecision(seconds),
  });
}

function openGate(config: Config, keys: KeyStore, limiter: SharedLimiter | undefined): Gate {
  return new Gate({
    keys,
    failuresPerMinute: config.auth_failures_per_minute,
    failureBurst: config.auth_failure_burst,
    trustedHops: config.trusted_hops,
    callers: limiter,
  });
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
  // A start that failed has already reported it and ended its workers.
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
