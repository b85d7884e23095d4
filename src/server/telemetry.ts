import { totalmem } from 'node:os';
import type { KeyStore } from '../auth/key-store.ts';
import type { SharedLimiter } from '../auth/shared-limiter.ts';
import type { Config } from '../config/config.ts';
import { version } from '../config/paths.ts';
import type { Engine } from '../engine/engine.ts';
import type { Readiness } from '../http/admin.ts';
import type { Uploads } from '../http/body/upload.ts';
import type { Connections } from '../http/listening.ts';
import type { Transport } from '../http/transport.ts';
import { AuditLog } from '../telemetry/audit.ts';
import type { Readings } from '../telemetry/metrics.ts';
import { type Log, Telemetry } from '../telemetry/telemetry.ts';
import type { CertificateWatch } from './certificate.ts';

/** What the metrics are read from. */
interface Sources {
  config: Config;
  model: { pack: string; version: string };
  transport: Transport;
  engine: Engine;
  uploads: Uploads;
  connections: Connections;
  readiness: Readiness;
  keys: KeyStore;
  certificate: CertificateWatch | undefined;
  /** Functions, because these two are made later and need the telemetry. */
  limiter(): SharedLimiter | undefined;
  unanswered(): number;
}

/** Log, metrics and, where it is configured, the audit log. Throws an Error with a message for people. */
export function openTelemetry(
  sources: Sources,
  log: Log,
): { telemetry: Telemetry; audit: AuditLog | undefined } {
  const { config, model, transport } = sources;
  const pack = `${model.pack} ${model.version}`;
  const audit = config.audit_log === '' ? undefined : new AuditLog(config.audit_log, pack, log.logger);
  const info = {
    version: version(),
    node: process.versions.node,
    http: transport.name,
    uws: transport.uws ?? '',
    pack: model.pack,
    pack_version: model.version,
    provider: config.provider.join(','),
  };
  const readings = {
    ...readingsOf(sources),
    log_lines_dropped_total: () => log.dropped,
    audit_lines_dropped_total: () => audit?.dropped ?? 0,
  };
  return { telemetry: new Telemetry(log, readings, info, audit), audit };
}

function readingsOf(sources: Sources): Omit<Readings, `${'log' | 'audit'}_lines_dropped_total`> {
  const { config, engine, uploads, connections, readiness, keys, certificate, limiter, unanswered } = sources;
  const memory_limit_bytes = memoryLimit();
  return {
    ...engine.readings(),
    upload_bytes: () => uploads.used_bytes,
    upload_kept_bytes: () => uploads.kept_bytes,
    upload_capacity_bytes: () => config.max_upload_bytes,
    requests_unanswered: unanswered,
    connections: () => connections.open,
    connections_refused_total: () => connections.refused,
    connections_silent_total: () => connections.silent,
    limiter_up: () => {
      const shared = limiter();
      return shared && Number(shared.up);
    },
    keys_stale: () => Number(keys.stale),
    tls_certificate_not_after_seconds: () => certificate?.not_after_s,
    ready: () => Number(readiness.stage === 'ready'),
    event_loop_active_seconds_total: () => performance.eventLoopUtilization().active / 1000,
    memory_limit_bytes: () => memory_limit_bytes,
  };
}

/** Bytes of memory that the process may use: its control group's limit, or else what the machine has. */
function memoryLimit(): number {
  // 0 where it is not known, nearly 2^64 where there is none.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
