import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type ErrorCode, errorCodes, errorTable } from '../errors.ts';
import { build, counted, type Metric, metricName, read, type stages } from './metric-table.ts';
import type { RequestRecord } from './record.ts';

/** Where the metrics of the table `read` get their values at each scrape; undefined for no series. */
export type Readings = Readonly<Record<keyof typeof read, () => number | undefined>>;

export type BuildInfo = Readonly<Record<keyof typeof build.build_info.labels, string>>;

/**
 * How often the event loop's delay is sampled. prom-client's default of 10 ms would wake an idle process a hundred times a
 * second. Node includes the period in every delay.
 */
const loopSampling_ms = 200;

/** The registry, filled from the metric table. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = this.#counter('requests_total');
  readonly #durations = this.#histogram('request_duration_seconds');
  readonly #stages = this.#histogram('stage_duration_seconds');
  readonly #received = this.#counter('received_bytes_total');
  readonly #refusals = this.#counter('refusals_total');
  readonly #comparisons = this.#counter('comparisons_total');
  readonly #confidences = this.#histogram('confidence_percent');
  readonly #images = this.#counter('images_total');
  readonly #faces = this.#histogram('image_faces');
  readonly #limiterFallbacks = this.#counter('limiter_fallbacks_total');
  readonly #limiterDurations = this.#histogram('limiter_duration_seconds');
  readonly #keyRequests = this.#counter('key_requests_total');
  readonly #keyPictures = this.#counter('key_pictures_total');
  readonly #keyComparisons = this.#counter('key_comparisons_total');

  constructor(readings: Readings, info: BuildInfo) {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: loopSampling_ms });
    for (const code of errorCodes) this.#refusals.inc({ reason: errorTable[code].group, code }, 0);
    for (const [name, row] of Object.entries<Metric>(read)) {
      this.#reading(name, row, readings[name as keyof Readings]);
    }
    new Gauge(this.#options('build_info', build.build_info)).set(info, 1);
  }

  observe(record: RequestRecord): void {
    const { route, status, code = 'ok', bytes, duration_ms, timings_ms, counts } = record;
    this.#requests.inc({ route, status, code });
    if (isErrorCode(code)) this.#refusals.inc({ reason: errorTable[code].group, code });
    this.#durations.observe({ route }, duration_ms / 1000);
    this.#received.inc(bytes);
    for (const stage in timings_ms) {
      this.#stages.observe({ stage }, timings_ms[stage as (typeof stages)[number]]! / 1000);
    }
    this.#observeKey(record);
    if (counts === undefined) return;
    for (const { faces, found_by } of counts.images) {
      this.#images.inc({ found_by });
      this.#faces.observe(faces);
    }
    for (const { accuracy_mode, match, confidence_percent } of counts.comparisons) {
      this.#comparisons.inc({ accuracy_mode, result: match ? 'match' : 'no_match' });
      this.#confidences.observe({ accuracy_mode }, confidence_percent);
    }
  }

  /** A key that was rotated keeps its name, and so its counts. */
  #observeKey({ key_name: key, pictures, decisions }: RequestRecord): void {
    if (key === undefined) return;
    this.#keyRequests.inc({ key });
    this.#keyPictures.inc({ key }, pictures);
    // On the candidates of a match of embeddings, or on two images.
    const verdicts = decisions.map(({ candidates, match }) => candidates ?? (match === undefined ? 0 : 1));
    this.#keyComparisons.inc(
      { key },
      verdicts.reduce((sum, count) => sum + count, 0),
    );
  }

  /** Redis decided about one request, in this time. */
  limiterDecision(seconds: number): void {
    this.#limiterDurations.observe(seconds);
  }

  /** This process decided about one request alone. */
  limiterFallback(): void {
    this.#limiterFallbacks.inc();
  }

  #counter(name: keyof typeof counted): Counter {
    const counter = new Counter(this.#options(name, counted[name]));
    for (const labels of closedLabels(counted[name])) counter.inc(labels, 0);
    return counter;
  }

  #histogram(name: keyof typeof counted): Histogram {
    const histogram = new Histogram(this.#options(name, counted[name]));
    for (const labels of closedLabels(counted[name])) histogram.zero(labels);
    return histogram;
  }

  #reading(name: string, row: Metric, value: () => number | undefined): void {
    if (row.type === 'counter') {
      new Counter({
        ...this.#options(name, row),
        // Counted elsewhere; it only rises.
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

/** False for `ok` and `client_left`. */
function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorTable, code);
}

/** Every combination of label values; empty when the table does not list the values of a label. */
function closedLabels({ labels = {} }: Metric): Record<string, string>[] {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    sets = sets.flatMap((set) => values.map((value) => ({ ...set, [label]: value })));
  }
  return sets;
}
