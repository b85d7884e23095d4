import { endpointIds } from '../config/config.ts';
import { accuracyModes, foundBy, stages } from '../engine/addon.ts';
import { errorGroups } from '../errors.ts';
import { liveReasons } from '../scoring/motion.ts';

/**
 * The metrics, from which docs/metrics.md is generated. The prefix `facematch_` is omitted. Label values never come
 * from a client.
 */
interface Row {
  help: string;
  /**
   * Values of each label, as a list or a description. If all values are listed, the series exist from startup,
   * because Prometheus sees no increase in a series that begins with 1.
   */
  labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram. */
  buckets?: readonly number[];
}

const routes = [...endpointIds, 'none'];
export const timedStages = ['queue', ...stages, 'total'] as const;

/** Bucket bounds in seconds, from a rejection without a body to a long deadline. */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Bucket bounds in seconds, from Redis on the same machine to the timeout of the Redis client. */
const roundTrips = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/** Counters and histograms, which are updated with each request. */
export const counters = {
  requests_total: {
    help: 'Requests; status 499 means that the client closed the connection',
    labels: { route: routes, status: 'HTTP status', code: 'error code, `ok`, or `client_left`' },
  },
  request_duration_seconds: {
    help: 'Time from the request headers to the response',
    labels: { route: routes },
    buckets: seconds,
  },
  stage_duration_seconds: {
    help: 'Time of each stage of a request; `queue` is the wait for a worker, also of requests rejected after the analysis',
    labels: { stage: timedStages },
    buckets: seconds,
  },
  request_bytes_total: { help: 'Bytes received in request bodies' },
  rejections_total: {
    help: 'Error responses; `reason` groups the codes',
    labels: {
      reason: errorGroups,
      code: 'error code',
    },
  },
  comparisons_total: {
    help: 'Completed comparisons of images, at the requested threshold',
    labels: { accuracy_mode: accuracyModes, result: ['match', 'no_match'] },
  },
  liveness_checks_total: {
    help: 'Completed liveness checks; `reason` is the first of `live_reasons`',
    labels: { result: ['live', 'not_live'], reason: ['none', ...liveReasons] },
  },
  confidence_percent: {
    help: '`confidence_percent` of completed comparisons of images',
    labels: { accuracy_mode: accuracyModes },
    buckets: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
  },
  images_total: {
    help: 'Analysed images by the detection pass that found the largest face; `none` if there is no face',
    labels: { found_by: [...foundBy, 'none'] },
  },
  faces_per_image: {
    help: 'Faces in each analysed image',
    buckets: [0, 1, 2, 3, 5, 10, 20],
  },
  key_requests_total: {
    help: 'Requests of a key that passed the scope and rate limit checks',
    labels: { key: 'name of the key' },
  },
  key_images_total: {
    help: 'Images analysed for a key',
    labels: { key: 'name of the key' },
  },
  key_comparisons_total: {
    help: 'Comparison results returned to a key, for images and embeddings',
    labels: { key: 'name of the key' },
  },
  limiter_fallbacks_total: {
    help: 'Requests whose rate limit was checked without Redis, because it was unreachable',
  },
  limiter_duration_seconds: {
    help: 'Round-trip time of rate limit checks in Redis',
    buckets: roundTrips,
  },
} as const satisfies Record<string, Row>;

/** Gauges, and counters that are read at each scrape. The value is the help text. */
export const gauges = {
  queue_depth: 'Matches of two images each that wait for a worker',
  queue_capacity: 'Maximum of `queue_depth`',
  workers: 'Worker threads',
  workers_busy: 'Worker threads that are running a job',
  workers_stuck:
    'Native calls that have not ended long after their job was cancelled; each occupies a thread',
  worker_busy_seconds_total: 'Busy time of all workers; its rate divided by `workers` is the utilisation',
  worker_replacements_total: 'Worker threads that died or got stuck and were replaced',
  upload_memory_bytes: 'Memory of the bodies of in-flight requests',
  upload_pool_bytes: 'Memory kept for later request bodies; released when idle',
  upload_memory_limit_bytes: 'Maximum of `upload_memory_bytes`; further requests get 503',
  response_backlog_bytes: 'Memory of responses that clients have not read yet',
  requests_in_flight: 'Requests in flight',
  connections: 'Open client connections',
  connections_rejected_total: 'Connections closed at once, because the limit of open files was reached',
  connections_without_request_total: 'Connections that ended without complete and valid request headers',
  embedding_cache_hits_total: 'Images found in the embedding cache',
  embedding_cache_misses_total: 'Images not found in the embedding cache',
  embedding_cache_images: 'Images in the embedding cache',
  limiter_up: '1 while rate limits are shared, 0 while Redis is unreachable; absent if rate limits are local',
  used_challenges: 'Used liveness challenges in memory; kept until they have expired',
  key_file_stale:
    '1 while the changed key file cannot be loaded, so that its changes, such as revocations, have no effect',
  tls_certificate_not_after_seconds:
    'Expiry of the certificate in use, in seconds since 1970; absent without a certificate',
  ready: '1 between startup and shutdown, otherwise 0',
  event_loop_active_seconds_total: 'Busy time of the main thread; its rate is the utilisation of one core',
  log_lines_dropped_total: 'Log lines dropped because standard error was not read fast enough',
  audit_lines_dropped_total:
    'Audit log lines lost, because the disk was full or too slow, or the server stopped before they were written',
  audit_lines_waiting: 'Audit log lines that are not written yet; absent without `FACEMATCH_AUDIT_LOG`',
  memory_limit_bytes: 'Memory limit of the process, or memory of the machine',
} as const;

/** A gauge with the value 1, whose labels contain the information. */
export const build = {
  build_info: {
    help: 'Versions in use',
    labels: {
      version: 'version of facematch',
      node: 'version of Node',
      http: 'HTTP server: `uws` or `node`',
      uws: 'version of µWebSockets.js; empty with `node`',
      pack: 'name of the model pack',
      pack_version: 'version of the model pack',
      providers: 'ONNX Runtime execution providers, separated by commas',
    },
  },
} as const satisfies Record<string, Row>;

export type Metric = Row & { type: 'counter' | 'gauge' | 'histogram' };

export const metricTable: Readonly<Record<string, Metric>> = Object.fromEntries(
  Object.entries<Row | string>({ ...counters, ...gauges, ...build }).map(([name, given]) => {
    const row = typeof given === 'string' ? { help: given } : given;
    const type = name.endsWith('_total') ? 'counter' : row.buckets ? 'histogram' : 'gauge';
    return [name, { ...row, type }];
  }),
);

export const metricName = (name: string) => `facematch_${name}`;
