import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config/config.ts';
import type { AuditLog } from './audit.ts';
import { LineWriter } from './line-writer.ts';
import type { RequestRecord } from './metrics.ts';
import { type BuildInfo, Metrics } from './metrics.ts';

/** The log: lines of JSON on standard error. */
export interface Log {
  readonly logger: Logger;
  readonly lines: LineWriter;
}

export function openLog(level: LogLevel): Log {
  const lines = new LineWriter({
    dest: 2,
    gather_ms: 50,
    onDropped: (dropped) =>
      logger.warn({ dropped }, 'log lines were dropped: standard error was not read fast enough'),
  });
  const formatters = { level: (word: string) => ({ level: word }) };
  const logger = pino({ level, base: null, timestamp: stdTimeFunctions.isoTime, formatters }, lines);
  return { logger, lines };
}

/** Records each request in the log, the metrics and the audit log. */
export class Telemetry {
  readonly #log: Log;
  readonly audit: AuditLog | undefined;
  readonly metrics: Metrics;

  constructor(log: Log, info: BuildInfo, audit: AuditLog | undefined) {
    this.#log = log;
    this.audit = audit;
    this.metrics = new Metrics(info);
  }

  /** Records a request. Never throws, because the response has already been sent. */
  finished(record: RequestRecord): void {
    try {
      this.metrics.observe(record);
      this.audit?.write(record);
      // pino omits members that are undefined.
      const duration_ms = Math.round(record.duration_ms * 10) / 10;
      const line = { ...record, duration_ms, tally: undefined };
      if (record.error === undefined) this.#log.logger.info(line, 'request');
      else this.#log.logger.error(line, 'request');
    } catch (error) {
      this.#log.logger.error(
        { request_id: record.request_id, error: String(error) },
        'failed to record request metrics',
      );
    }
  }
}
