import { setTimeout as pause } from 'node:timers/promises';
import { Gate, maxBuckets } from '../auth/gate.ts';
import { KeyStore } from '../auth/key-store.ts';
import { SharedLimiter } from '../auth/shared-limiter.ts';
import { type Config, uwsKeepAlive_s } from '../config/config.ts';
import type { Addon } from '../engine/addon.ts';
import { Engine } from '../engine/engine.ts';
import { type PackDraft, packDirectory, readDraft } from '../engine/manifest.ts';
import { Readiness } from '../http/admin.ts';
import { Uploads } from '../http/body/upload.ts';
import type { Services } from '../http/context.ts';
import { Dispatcher } from '../http/dispatch.ts';
import type { Listening } from '../http/listening.ts';
import { chooseTransport, type Transport } from '../http/transport.ts';
import { calibrationOf } from '../scoring/calibration.ts';
import { publications } from '../site/publications.ts';
import type { Log, Telemetry } from '../telemetry/telemetry.ts';
import { openAdmin, openCertificate, openConnections, openFront } from './listeners.ts';
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
  /** For an end without `close`: waits until the audit log is written, a second at most. */
  flush(): Promise<void>;
  /**
   * Refuses new requests, waits for running ones as long as the configuration allows, and frees everything. Resolves to
   * whether the workers have ended: process.exit() would wait for those that have not.
   */
  close(): Promise<boolean>;
}

/** What close() has to close, in this order. */
type Opened = { close(): void | Promise<void> }[];

/**
 * Config → pack → gate → listeners → workers. Listens before the workers are up, so that health checks get an answer
 * and requests get not_ready. Throws an Error with a message for people.
 */
export async function startServer(config: Config, log: Log): Promise<Server> {
  const opened: Opened = [];
  try {
    return await start(config, log, opened);
  } catch (error) {
    // Anything left open would keep the process alive.
    for (const thing of opened) void thing.close();
    throw error;
  }
}

async function start(config: Config, log: Log, opened: Opened): Promise<Server> {
  const opening = <T extends Opened[number] | undefined>(thing: T): T => {
    if (thing) opened.push(thing);
    return thing;
  };
  const transport = openTransport(config, log);
  const pack_directory = packDirectory(config.pack);
  const manifest = readDraft(pack_directory);
  const model = { pack: manifest.name, version: manifest.version };
  const keys = opening(KeyStore.open(config.keys_file, log.logger));
  const certificate = openCertificate(config, log);
  opening(certificate?.watch);
  const engine = openEngine(config, pack_directory, manifest, log);
  const uploads = openUploads(config, engine);
  const connections = openConnections(config, log);
  const readiness = new Readiness();
  const sources = {
    config,
    model,
    transport,
    engine,
    uploads,
    connections: connections.front,
    readiness,
    keys,
    certificate: certificate?.watch,
    limiter: () => limiter,
    unanswered: () => dispatcher.unanswered,
  };
  const { telemetry, audit } = openTelemetry(sources, log);
  const limiter = opening(openLimiter(config, log, telemetry));
  const gate = openGate(config, keys, limiter);
  const calibrations = {
    fast: calibrationOf(manifest.calibration?.fast),
    balance: calibrationOf(manifest.calibration?.balance),
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
    documents: publications(config),
  };
  const dispatcher = new Dispatcher(services);
  const front = opening(
    await openFront(transport, services, dispatcher, certificate, connections.front, log),
  );
  const admin = opening(await openAdmin(transport, services, connections.admin, log));
  // After the listeners: it records their last requests.
  opening(audit);
  const addresses = { address: front.url, admin_address: admin.url };
  const { name: http, uws } = transport;
  log.logger.info({ ...addresses, http, uws, workers: config.workers, pack: model.pack }, 'starting');
  if (manifest.calibration === undefined) {
    log.logger.warn({ pack: model.pack }, 'the pack is not calibrated: no answer passes 40 percent');
  }
  const ready = becomeReady(engine, readiness, log);
  return {
    address: front.url,
    adminAddress: admin.url,
    ready,
    reopenAuditLog: () => audit?.reopen(),
    flush: async () => void (await audit?.flush()),
    close: () => shutDown(services, dispatcher, front, opened, ready, log),
  };
}

/** Warns when it is not what the operator wants or would want. Throws an Error for people. */
function openTransport({ http, keep_alive_s }: Config, { logger }: Log): Transport {
  const transport = chooseTransport(http);
  const { name, reason } = transport;
  if (reason !== undefined) {
    if (name === 'uws') logger.warn({ reason }, 'FACEMATCH_UWS is not used');
    else logger.warn({ reason }, 'HTTP is served by node:http, because no µWebSockets.js loads');
  }
  if (name === 'uws' && keep_alive_s !== uwsKeepAlive_s) {
    throw new Error(
      `FACEMATCH_KEEP_ALIVE_S: µWebSockets.js keeps connections for ${uwsKeepAlive_s} s and cannot be told otherwise. ` +
        'Unset it, or set FACEMATCH_HTTP=node.',
    );
  }
  return transport;
}

const jobFaults = {
  failed: 'a worker failed at these pictures',
  overdue: 'these pictures were not done at the deadline',
  wedged: 'a worker hangs at these pictures',
};

function openEngine(config: Config, pack_directory: string, manifest: PackDraft, { logger }: Log): Engine {
  return new Engine({
    config,
    pack_directory,
    manifest,
    onWorkerError: (error) => logger.error({ fault: error.message }, 'a worker died; it is replaced'),
    // The line of the request itself tells a fault only where the answer is late enough for it.
    onJobFault: ({ kind, request_id, pictures, reason }) => {
      const fault = reason === undefined ? undefined : String(reason);
      if (kind === 'overdue') logger.warn({ request_id, pictures }, jobFaults[kind]);
      else logger.error({ request_id, pictures, fault }, jobFaults[kind]);
    },
  });
}

/** One key or address may have half of the memory, and at least one body. */
function openUploads({ max_upload_bytes, max_body_bytes }: Config, engine: Engine): Uploads {
  return new Uploads({
    limit_bytes: max_upload_bytes,
    share_bytes: Math.max(max_upload_bytes / 2, Math.min(max_upload_bytes, max_body_bytes)),
    memory: engine.addon,
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
    capacity: maxBuckets,
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

/** What is left of the time of a shutdown for the workers, at least: they end within milliseconds, or not at all. */
const minForWorkers_ms = 1000;

async function shutDown(
  { config, engine, readiness }: Services,
  dispatcher: Dispatcher,
  front: Listening,
  opened: Opened,
  ready: Promise<boolean>,
  { logger }: Log,
): Promise<boolean> {
  const end = performance.now() + config.shutdown_ms;
  readiness.drain();
  logger.info({ unanswered: dispatcher.unanswered }, 'shutting down');
  await within(config.shutdown_ms, drain(front, engine.addon, dispatcher));
  const cut = dispatcher.unanswered;
  const closing = opened.splice(0).map((thing) => thing.close());
  // A start that failed has already reported it and ended its workers.
  const ended = await within(
    Math.max(minForWorkers_ms, end - performance.now()),
    ready.then(() => engine.close()).catch(() => {}),
  );
  await Promise.all(closing);
  if (!ended) logger.warn('a worker did not end in time');
  logger.info({ cut }, 'stopped');
  return ended;
}

/** How long handshakes that have begun may take: a round trip to the other side of the world. */
const handshake_ms = 250;

/** Kept connections are closed when no request has come on any of them for so long: clients that are in use send sooner. */
const quiet_ms = 500;

const check_ms = 25;

/**
 * Ends the connections of a listener without a reset. New ones are not accepted any more, but those whose handshake has begun are.
 * Requests under way are answered, those that come on kept connections are refused with `Connection: close`. Resolves when no
 * connection is left, or when no client seems to use one. The readiness has to say `draining` before.
 */
export async function drain(
  front: Listening,
  addon: Pick<Addon, 'dropNewConnections'>,
  dispatcher: Pick<Dispatcher, 'quiet_ms'>,
): Promise<void> {
  addon.dropNewConnections(front.port);
  await pause(handshake_ms);
  front.stopListening();
  const since = performance.now();
  const isQuiet = () => Math.min(dispatcher.quiet_ms, performance.now() - since + handshake_ms) >= quiet_ms;
  while (front.connections.open > 0 && !isQuiet()) await pause(check_ms);
}

/** Whether `work` ended in time. Also keeps the process alive, which piscina's workers do not. */
export function within(limit_ms: number, work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limit_ms);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}
