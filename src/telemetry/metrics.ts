import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RequestRecord } from './telemetry.ts';

/** What the gauges, and the counters of native code, read when they are scraped. */
export interface Gauges {
  queue_depth(): number;
  workers(): number;
  workers_busy(): number;
  upload_bytes(): number;
  requests_unanswered(): number;
  ready(): boolean;
  embedding_cache(): { hits: number; misses: number; pictures: number };
}

/** From a refusal without a body to the longest deadline, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Label values are endpoint ids, statuses, codes and stages: all from tables, never from a client. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter<'route' | 'status' | 'code'>;
  readonly #durations: Histogram<'route'>;
  readonly #stages: Histogram<'stage'>;
  readonly #received: Counter;
  readonly #refusals: Counter<'code'>;

  constructor(gauges: Gauges) {
    const registers = [this.registry];
    // Its default would wake an idle process a hundred times a second, and a busy one between any two requests.
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 200 });
    this.#requests = new Counter({
      name: 'facematch_requests_total',
      help: 'Requests by endpoint, status and code; status 499 is a client that left',
      labelNames: ['route', 'status', 'code'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'facematch_request_duration_seconds',
      help: 'From the head of a request to its answer',
      labelNames: ['route'],
      buckets,
      registers,
    });
    this.#stages = new Histogram({
      name: 'facematch_stage_duration_seconds',
      help: 'Time of each stage of a match; the stage queue is the wait for a worker',
      labelNames: ['stage'],
      buckets,
      registers,
    });
    this.#received = new Counter({
      name: 'facematch_received_bytes_total',
      help: 'Bytes of request bodies',
      registers,
    });
    this.#refusals = new Counter({
      name: 'facematch_refusals_total',
      help: 'Requests refused because of load: rate limit, full queue, deadline, not ready, shutting down',
      labelNames: ['code'],
      registers,
    });
    for (const [name, help, read] of gaugeTable(gauges)) {
      new Gauge({
        name: `facematch_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    }
    for (const [name, help, read] of counterTable(gauges)) {
      new Counter({
        name: `facematch_${name}`,
        help,
        registers,
        // Counted where it happens, in native code; it only ever rises.
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    }
  }

  observe({ route, status, code = 'ok', bytes, duration_ms, timings_ms }: RequestRecord): void {
    this.#requests.inc({ route, status, code });
    this.#durations.observe({ route }, duration_ms / 1000);
    this.#received.inc(bytes);
    if (loadRefusals.has(code)) this.#refusals.inc({ code });
    for (const [stage, ms] of Object.entries(timings_ms)) this.#stages.observe({ stage }, ms / 1000);
  }
}

const loadRefusals: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'overloaded',
  'deadline_exceeded',
  'not_ready',
  'shutting_down',
]);

type Readings = [name: string, help: string, read: () => number][];

function counterTable({ embedding_cache }: Gauges): Readings {
  return [
    ['embedding_cache_hits_total', 'Pictures that were known from before', () => embedding_cache().hits],
    [
      'embedding_cache_misses_total',
      'Pictures that the embedding cache was asked for in vain',
      () => embedding_cache().misses,
    ],
  ];
}

function gaugeTable(gauges: Gauges): Readings {
  return [
    ['queue_depth', 'Requests that wait for a worker', gauges.queue_depth],
    ['workers', 'Worker threads', gauges.workers],
    ['workers_busy', 'Worker threads at work', gauges.workers_busy],
    ['upload_bytes', 'Memory that bodies of unanswered requests may take', gauges.upload_bytes],
    ['requests_unanswered', 'Requests that wait for their answer', gauges.requests_unanswered],
    [
      'embedding_cache_pictures',
      'Pictures whose embeddings are in memory',
      () => gauges.embedding_cache().pictures,
    ],
    ['ready', '1 when requests are served, 0 while starting and draining', () => Number(gauges.ready())],
  ];
}
