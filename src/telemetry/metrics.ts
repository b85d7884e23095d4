import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Decision, ImageCounts } from '../endpoints/endpoint.ts';
import { errorCodes, groupOf, isErrorCode } from '../errors.ts';
import { type build, counters, type gauges, type Metric, metricName, metricTable } from './metric-table.ts';

/** The data that is recorded about a request. It never contains an image, an embedding, a key or a path. */
export interface RequestRecord {
  request_id: string;
  /** Trace id from the client's traceparent. */
  trace_id: string | undefined;
  /** The client's IP address; only with FACEMATCH_LOG_CLIENT=on, and only for the log. */
  client: string | undefined;
  /** The id part of the key, which is public and grants no access. */
  key_id: string | undefined;
  route: string;
  status: number;
  /** Error code, or `client_left`; undefined for a successful response. */
  code: string | undefined;
  field: string | undefined;
  /** Reason for the rejection, in more detail than the client gets. */
  reason: string | undefined;
  request_bytes: number;
  duration_ms: number;
  timings_ms: Readonly<Record<string, number>>;
  /** An internal error of the server, for the log only. */
  error: string | undefined;
  tally: Tally;
}

/** Data for the metrics and the audit log. It is not logged, because the log would then describe individual people. */
interface Tally {
  /** Name of an admitted key. */
  key_name: string | undefined;
  /** Number of analysed images. */
  images: number;
  counts: readonly ImageCounts[];
  decisions: readonly Decision[];
}

/** Functions that return the values of the table `gauges` at each scrape, or undefined to omit the series. */
export type Gauges = Readonly<Record<keyof typeof gauges, () => number | undefined>>;

export type BuildInfo = Readonly<Record<keyof typeof build.build_info.labels, string>>;

/**
 * Sampling interval of the event loop delay. prom-client's default wakes an idle process a hundred times per
 * second.
 */
const loopSampling_ms = 200;

type Counters = typeof counters;

/** The metrics of the metric table, in a registry. */
export class Metrics {
  readonly registry = new Registry();
  readonly meters = Object.fromEntries(
    Object.keys(counters).map((name) => [name, this.#meter(name, metricTable[name]!)]),
  ) as { [Name in keyof Counters]: Counters[Name] extends { buckets: unknown } ? Histogram : Counter };

  constructor(info: BuildInfo) {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: loopSampling_ms });
    for (const code of errorCodes) {
      this.meters.rejections_total.inc({ reason: groupOf(code), code }, 0);
    }
    new Gauge(this.#options('build_info', metricTable.build_info!)).set(info, 1);
  }

  addGauges(values: Gauges): void {
    for (const [name, value] of Object.entries(values)) this.#addGauge(name, metricTable[name]!, value);
  }

  observe(record: RequestRecord): void {
    const { meters } = this;
    const { route, status, code = 'ok', request_bytes, duration_ms, timings_ms, tally } = record;
    meters.requests_total.inc({ route, status, code });
    if (code !== 'ok' && isErrorCode(code)) meters.rejections_total.inc({ reason: groupOf(code), code });
    meters.request_duration_seconds.observe({ route }, duration_ms / 1000);
    meters.request_bytes_total.inc(request_bytes);
    for (const stage in timings_ms) {
      meters.stage_duration_seconds.observe({ stage }, timings_ms[stage]! / 1000);
    }
    this.#observeKey(tally);
    for (const { faces, found_by } of tally.counts) {
      meters.images_total.inc({ found_by });
      meters.faces_per_image.observe(faces);
    }
    for (const { accuracy_mode, match, candidates, confidence_percent, live_reasons } of tally.decisions) {
      if (live_reasons !== undefined) {
        const result = live_reasons.length === 0 ? 'live' : 'not_live';
        meters.liveness_checks_total.inc({ result, reason: live_reasons[0] ?? 'none' });
      }
      if (match === undefined || candidates !== undefined) continue;
      meters.comparisons_total.inc({ accuracy_mode: accuracy_mode!, result: match ? 'match' : 'no_match' });
      meters.confidence_percent.observe({ accuracy_mode: accuracy_mode! }, confidence_percent!);
    }
  }

  /** Counts by the name of the key, which stays the same when the key is rotated. */
  #observeKey({ key_name: key, images, decisions }: Tally): void {
    if (key === undefined) return;
    this.meters.key_requests_total.inc({ key });
    this.meters.key_images_total.inc({ key }, images);
    for (const { candidates, match } of decisions) {
      // A match of embeddings has one decision for all candidates; other comparisons have one decision each.
      this.meters.key_comparisons_total.inc({ key }, candidates ?? (match === undefined ? 0 : 1));
    }
  }

  #meter(name: string, row: Metric): Counter | Histogram {
    const options = this.#options(name, row);
    const meter = row.type === 'histogram' ? new Histogram(options) : new Counter(options);
    for (const labels of closedLabels(row)) {
      if (meter instanceof Histogram) meter.zero(labels);
      else meter.inc(labels, 0);
    }
    return meter;
  }

  #addGauge(name: string, row: Metric, value: () => number | undefined): void {
    if (row.type === 'counter') {
      new Counter({
        ...this.#options(name, row),
        // `value` returns a count that never decreases.
        collect() {
          this.reset();
          this.inc(value() ?? 0);
        },
      });
      return;
    }
    new Gauge({
      ...this.#options(name, row),
      collect() {
        const now = value();
        if (now === undefined) this.remove();
        else this.set(now);
      },
    });
  }

  #options(name: string, { help, labels = {}, buckets }: Metric) {
    return {
      name: metricName(name),
      help,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      ...(buckets && { buckets: [...buckets] }),
    };
  }
}

/** Returns every combination of label values; empty if the table does not list the values of a label. */
function closedLabels({ labels = {} }: Metric): Record<string, string>[] {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    sets = sets.flatMap((set) => values.map((value) => ({ ...set, [label]: value })));
  }
  return sets;
}
