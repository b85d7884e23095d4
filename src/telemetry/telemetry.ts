import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config.ts';
import type { AuditLog } from './audit.ts';
import { type BuildInfo, Metrics, type Readings } from './metrics.ts';
import type { RequestRecord } from './record.ts';

/** JSON lines on standard error, written by a libuv thread, so that a slow terminal or pipe never blocks the main thread. */
export interface Log {
  readonly logger: Logger;
  /**
   * For the end of the process: waits until everything is written. Resolves to false when that takes longer than a
   * second, because nothing reads standard error.
   */
  flush(): Promise<boolean>;
}

const flush_ms = 1000;

export function openLog(level: LogLevel): Log {
  // With a minLength of 0 the destination's flush() would not wait for the write in progress.
  const destination = pino.destination({ dest: 2, sync: false, minLength: 1 }) as DestinationStream & {
    flush(done?: () => void): void;
    on(event: 'error', listener: () => void): void;
  };
  // Standard error is closed, and there is nowhere else to report that.
  let broken = false;
  destination.on('error', () => {
    broken = true;
  });
  return {
    logger: pino({ level, base: null, timestamp: stdTimeFunctions.isoTime }, destination),
    flush() {
      if (broken) return Promise.resolve(true);
      return new Promise((resolve) => {
        const late = setTimeout(() => resolve(broken), flush_ms);
        destination.flush(() => {
          clearTimeout(late);
          resolve(true);
        });
      });
    },
  };
}

/** One log line and one set of counts for each request. */
export class Telemetry {
  readonly #log: Log;
  readonly #audit: AuditLog | undefined;
  readonly metrics: Metrics;

  constructor(log: Log, readings: Readings, info: BuildInfo, audit: AuditLog | undefined) {
    this.#log = log;
    this.#audit = audit;
    this.metrics = new Metrics(readings, info);
  }

  /** Never throws: the request has already been answered. */
  finished(record: RequestRecord): void {
    try {
      this.#record(record);
    } catch (error) {
      this.#log.logger.error({ request_id: record.request_id, fault: String(error) }, 'not counted');
    }
  }

  #record(record: RequestRecord): void {
    this.metrics.observe(record);
    this.#audit?.write(record);
    // pino leaves out members that are undefined.
    const duration_ms = Math.round(record.duration_ms * 10) / 10;
    const line = { ...record, duration_ms, counts: undefined, decisions: undefined };
    if (record.fault === undefined) this.#log.logger.info(line, 'request');
    else this.#log.logger.error(line, 'request');
  }

  /** Prometheus text. */
  exposition(): Promise<string> {
    return this.metrics.registry.metrics();
  }

  get expositionType(): string {
    return this.metrics.registry.contentType;
  }
}
