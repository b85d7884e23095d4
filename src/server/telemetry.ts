import { totalmem } from 'node:os';
import type { SharedLimiter } from '../auth/shared-limiter.ts';
import type { Connections } from '../http/connections.ts';
import type { Services } from '../http/context.ts';
import type { Pipeline } from '../http/pipeline.ts';
import type { CertificateInUse } from './listeners.ts';

/** Where the metrics are read from, by their names. */
export function gaugesOf(
  { config, engine, gate, uploads, unread, readiness }: Services,
  pipeline: Pipeline,
  connections: Connections,
  certificate: CertificateInUse | undefined,
  limiter: SharedLimiter | undefined,
) {
  // The limit of its control group: 0 where it is not known, nearly 2^64 where there is none.
  const limit = process.constrainedMemory();
  const memory_limit_bytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return {
    ...engine.gauges(),
    upload_bytes: () => uploads.used_bytes,
    upload_kept_bytes: () => uploads.kept_bytes,
    answers_unread_bytes: () => unread.held_bytes,
    upload_capacity_bytes: () => config.max_upload_bytes,
    requests_unanswered: () => pipeline.unanswered,
    connections: () => connections.open,
    connections_refused_total: () => connections.refused,
    connections_silent_total: () => connections.silent,
    limiter_up: () => limiter && Number(limiter.up),
    keys_stale: () => Number(gate.keys.stale),
    tls_certificate_not_after_seconds: () => certificate?.not_after_s,
    ready: () => Number(readiness.stage === 'ready'),
    event_loop_active_seconds_total: () => performance.eventLoopUtilization().active / 1000,
    memory_limit_bytes: () => memory_limit_bytes,
  };
}
