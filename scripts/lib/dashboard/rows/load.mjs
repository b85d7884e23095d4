// What it has left. Limits are those of deploy/prometheus/alerts.yml where an alert has one.
import { chosen, quantile, rate, read } from '../promql.mjs';

export const load = [
  {
    title: 'Saturation',
    panels: [
      {
        title: 'Busy share of the workers',
        description: 'Of each replica. Alert FacematchSaturated at 90 % when requests wait as well.',
        unit: 'percentunit',
        max: 1,
        limits: { orange: 0.7, red: 0.9 },
        queries: {
          'instance:facematch_worker_busy:ratio_rate5m{job="$job", instance=~"$instance"}': '{{instance}}',
        },
      },
      {
        title: 'Queue',
        description: 'Requests that wait for a worker, and how many may: one more is refused as overloaded.',
        unit: 'none',
        queries: {
          [read('facematch_queue_depth')]: '{{instance}}',
          [`max(${read('facematch_queue_capacity')})`]: 'most',
        },
      },
      {
        title: 'Wait for a worker',
        description: 'Of requests that got one. The deadline (10 s unless set) ends longer ones.',
        unit: 's',
        limits: { red: 0.25 },
        queries: {
          [quantile(0.5, 'facematch_stage_duration_seconds', 'stage="queue"')]: 'p50',
          [quantile(0.95, 'facematch_stage_duration_seconds', 'stage="queue"')]: 'p95',
        },
      },
      {
        title: 'Memory of uploads',
        description: 'What bodies of unanswered requests may take, by the most that they may.',
        unit: 'percentunit',
        max: 1,
        limits: { orange: 0.7, red: 0.9 },
        queries: {
          [`${read('facematch_upload_bytes')} / ${read('facematch_upload_capacity_bytes')}`]: '{{instance}}',
        },
      },
      {
        title: 'Unanswered requests',
        description: 'Uploading, waiting or running.',
        unit: 'none',
        queries: { [read('facematch_requests_unanswered')]: '{{instance}}' },
      },
      {
        title: 'Refused for want of capacity',
        description: 'overloaded and deadline_exceeded by all requests. Alert FacematchOverloaded at 1 %.',
        unit: 'percentunit',
        limits: { red: 0.01 },
        queries: { 'job:facematch_refusals_load:ratio_rate5m{job="$job"}': 'refused' },
      },
    ],
  },
  {
    title: 'Process',
    panels: [
      {
        title: 'CPU',
        description: 'Cores in use: workers and main thread together.',
        unit: 'none',
        queries: { [rate('process_cpu_seconds_total')]: '{{instance}}' },
      },
      {
        title: 'Memory by its limit',
        description: 'Flat after the first some thousand requests. Alert FacematchMemoryNearLimit at 85 %.',
        unit: 'percentunit',
        max: 1,
        limits: { red: 0.85 },
        queries: {
          [`${read('process_resident_memory_bytes')} / ${read('facematch_memory_limit_bytes')}`]:
            '{{instance}}',
        },
      },
      {
        title: 'Main thread at work',
        description: 'Share of one core. Alert FacematchEventLoopBlocked at 80 %.',
        unit: 'percentunit',
        max: 1,
        limits: { red: 0.8 },
        queries: { [rate('facematch_event_loop_active_seconds_total')]: '{{instance}}' },
      },
      {
        title: 'Lag of the event loop, p99',
        description:
          'How late the main thread comes to what is due. Alert FacematchEventLoopBlocked at 50 ms.',
        unit: 's',
        limits: { red: 0.05 },
        queries: {
          'instance:facematch_event_loop_lag_seconds:p99{job="$job", instance=~"$instance"}': '{{instance}}',
        },
      },
      {
        title: 'Workers that died',
        description: 'Each costs its request an internal_error. Alert FacematchWorkerDied.',
        unit: 'none',
        limits: { red: 1 },
        queries: { [`increase(facematch_worker_replacements_total{${chosen}}[1h])`]: '{{instance}}' },
      },
      {
        title: 'Certificate, time left',
        description: 'Empty without TLS of its own. Alert FacematchCertificateExpires at 14 days.',
        unit: 's',
        queries: { [`${read('facematch_tls_certificate_not_after_seconds')} - time()`]: '{{instance}}' },
      },
    ],
  },
];
