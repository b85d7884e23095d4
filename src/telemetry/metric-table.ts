import { endpointIds } from '../config/config.ts';
import { accuracyModes, foundBy, stages } from '../engine/addon.ts';
import { errorGroups } from '../errors.ts';
import { liveReasons } from '../scoring/motion.ts';

/** Names without `facematch_`. Label values come from tables, never from a client. docs/monitoring.md is generated from it. */
interface Row {
  help: string;
  /**
   * Label name → all of its values, or a description of them. With all listed, the series exist from the start: Prometheus sees no increase
   * in a series that begins with 1.
   */
  labels?: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram. */
  buckets?: readonly number[];
}

const routes = [...endpointIds, 'none'];
export const timedStages = ['queue', ...stages, 'total'] as const;

/** Bucket bounds in seconds: from a refusal without a body to the longest deadline. */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Bucket bounds in seconds: from a Redis on the same machine to the longest wait for one. */
const roundTrips = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25];

/** Updated with each request. */
export const counters = {
  requests_total: {
    help: 'Requests by endpoint, status and code; status 499: the client closed the connection',
    labels: { route: routes, status: 'the HTTP status', code: 'an error code, `ok`, or `client_left`' },
  },
  request_duration_seconds: {
    help: 'From the head of a request to its answer',
    labels: { route: routes },
    buckets: seconds,
  },
  stage_duration_seconds: {
    help: 'Time of each stage of a match; the stage queue is the wait for a worker, also of refused images',
    labels: { stage: timedStages },
    buckets: seconds,
  },
  request_bytes_total: { help: 'Bytes of request bodies' },
  rejections_total: {
    help: 'Requests that got a problem instead of a result, by code; reason groups the codes',
    labels: {
      reason: errorGroups,
      code: 'an error code',
    },
  },
  comparisons_total: {
    help: 'Answered matches by result, at the requested threshold',
    labels: { accuracy_mode: accuracyModes, result: ['match', 'no_match'] },
  },
  liveness_total: {
    help: 'Answered liveness checks by result; reason is the first of `live_reasons`, or `none`',
    labels: { result: ['live', 'not_live'], reason: ['none', ...liveReasons] },
  },
  confidence_percent: {
    help: 'Confidence of answered matches',
    labels: { accuracy_mode: accuracyModes },
    buckets: [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
  },
  images_total: {
    help: 'Images of answered matches, and images without a face, by the detection step that found the largest face',
    labels: { found_by: [...foundBy, 'none'] },
  },
  image_faces: {
    help: 'Faces in each of these images',
    buckets: [0, 1, 2, 3, 5, 10, 20],
  },
  key_requests_total: {
    help: 'Requests of a key whose scope and rate were right, whatever came of them',
    labels: { key: "a key's name" },
  },
  key_images_total: {
    help: 'Images that were analysed for a key',
    labels: { key: "a key's name" },
  },
  key_comparisons_total: {
    help: 'Verdicts that a key got: on two images, or on two embeddings',
    labels: { key: "a key's name" },
  },
  limiter_fallbacks_total: {
    help: 'Requests whose rate limit this process decided alone because Redis was not reachable',
  },
  limiter_duration_seconds: {
    help: 'Time that Redis took to answer a rate limit query',
    buckets: roundTrips,
  },
} as const satisfies Record<string, Row>;

/** Read at each scrape; with their help. */
export const gauges = {
  queue_depth: 'Matches, of two images each, that wait for a worker',
  queue_capacity: 'Matches, of two images each, that may wait for a worker',
  workers: 'Worker threads',
  workers_busy: 'Worker threads that are busy',
  workers_stuck: 'Native calls that have not ended long after their job was cancelled; each keeps a thread',
  worker_busy_seconds_total:
    'Busy time of all workers together: its rate divided by workers is the share that is busy',
  worker_replacements_total: 'Worker threads that died or are stuck; each was replaced',
  upload_bytes: 'Memory that bodies of unanswered requests take',
  upload_pool_bytes:
    'Memory that is kept for later request bodies; it makes way for them, and is given back when idle',
  upload_capacity_bytes: 'Most memory that these bodies may take; more is refused as overloaded',
  response_backlog_bytes: 'Memory that answers take which their clients have not read yet',
  requests_in_flight: 'Requests that wait for their answer',
  connections: 'Connections of clients',
  connections_refused_total:
    'Connections that were closed at once, because the limit of open files left no room for more',
  connections_silent_total:
    'Connections that ended before a request of theirs was read: the head was malformed, was dropped, or did not come',
  embedding_cache_hits_total: 'Images that were found in the embedding cache',
  embedding_cache_misses_total: 'Images that were not in the embedding cache',
  embedding_cache_images: 'Images in the embedding cache',
  limiter_up:
    '1 when rate limits are shared, 0 while Redis is not reachable and this process counts alone; absent without `FACEMATCH_LIMITER`',
  challenges_used: 'Used liveness challenges in memory, kept until they have expired',
  keys_stale:
    '1 when the key file cannot be taken over as it is: a revocation in it is not in force; 0 otherwise',
  tls_certificate_not_after_seconds:
    'When the certificate in use expires, in seconds since 1970; absent without `FACEMATCH_TLS_CERT`',
  ready: '1 when requests are served, 0 while starting and draining',
  event_loop_active_seconds_total: 'Busy time of the main thread: its rate is the share of one core',
  log_lines_dropped_total: 'Log lines that were dropped because nothing read standard error fast enough',
  audit_lines_dropped_total:
    'Lines of the audit log that were dropped because the disk was full or too slow, or lost at shutdown',
  audit_lines_waiting:
    'Lines of the audit log that wait to be written: they are lost if the process ends before; absent without `FACEMATCH_AUDIT_LOG`',
  memory_limit_bytes: "The process's memory limit, or else the machine's memory",
} as const;

/** Always 1; the information is in its labels. */
export const build = {
  build_info: {
    help: 'Versions of what runs',
    labels: {
      version: 'of facematch',
      node: 'of Node',
      http: 'what speaks HTTP: `uws` or `node`',
      uws: 'of µWebSockets.js; empty where `node` speaks HTTP',
      pack: "the model pack's name",
      pack_version: 'its version',
      provider: 'execution providers of ONNX Runtime, with commas between',
    },
  },
} as const satisfies Record<string, Row>;

export type Metric = Row & { type: 'counter' | 'gauge' | 'histogram' };

export const metricTable: Readonly<Record<string, Metric>> = Object.fromEntries(
  Object.entries<Row | string>({ ...counters, ...gauges, ...build }).map(([name, told]) => {
    const row = typeof told === 'string' ? { help: told } : told;
    const type = name.endsWith('_total') ? 'counter' : row.buckets ? 'histogram' : 'gauge';
    return [name, { ...row, type }];
  }),
);

export const metricName = (name: string) => `facematch_${name}`;
