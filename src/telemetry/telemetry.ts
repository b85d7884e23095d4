import type { Log } from './log.ts';
import type { foundBy } from './metric-table.ts';
import { type BuildInfo, Metrics, type Readings } from './metrics.ts';

/** All that is kept of a request. Never a picture, an embedding, a key, a path or an address. */
export interface RequestRecord {
  request_id: string;
  /** The id part of the key; it opens nothing. */
  key_id: string | undefined;
  /** Endpoint id, or 'none'. */
  route: string;
  status: number;
  /** Error code; undefined for an answer. */
  code: string | undefined;
  /** Of the body, as far as it arrived. */
  bytes: number;
  duration_ms: number;
  timings_ms: Readonly<Record<string, number>>;
  /** What went wrong on our side; goes to the log and nowhere else. */
  fault: string | undefined;
  /** For the metrics alone: a line of the log would tell of a person. */
  findings: Findings | undefined;
}

/** What a match saw, as far as it is counted. */
export interface Findings {
  /** Undefined where none was told: a picture had no face, or a poor one was not to be compared. */
  verdict: { accuracy_mode: string; match: boolean; confidence_percent: number } | undefined;
  /** The pictures of which it is known. */
  images: readonly { faces: number; found_by: (typeof foundBy)[number] }[];
}

/** One log line and one set of counts for each request. */
export class Telemetry {
  readonly #log: Log;
  readonly metrics: Metrics;

  constructor(log: Log, readings: Readings, info: BuildInfo) {
    this.#log = log;
    this.metrics = new Metrics(readings, info);
  }

  finished(record: RequestRecord): void {
    this.metrics.observe(record);
    // Tenths are enough here, and the metrics tell more. pino leaves out what is undefined.
    const duration_ms = Math.round(record.duration_ms * 10) / 10;
    const line = { ...record, duration_ms, findings: undefined };
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
