// How the service does, as its callers see it. Limits are those of deploy/prometheus/alerts.yml where an alert has one.
import { chosen, quantile, rate, read } from '../promql.mjs';

export const service = [
  {
    title: 'Now',
    panels: [
      {
        title: 'Replicas that serve',
        description: 'Ready replicas, of those that Prometheus knows.',
        type: 'stat',
        unit: 'none',
        queries: { [`sum(${read('facematch_ready')})`]: 'ready', [`count(up{${chosen}})`]: 'known' },
      },
      {
        title: 'Requests that fail',
        description:
          'Answers 5xx by all requests, those of starts and shutdowns left out. Alert FacematchErrors at 2 %.',
        type: 'stat',
        unit: 'percentunit',
        limits: { orange: 0.005, red: 0.02 },
        queries: { 'job:facematch_requests_failed:ratio_rate5m{job="$job"}': 'failed' },
      },
      {
        title: 'What runs',
        description:
          'Version, model pack and number of replicas that have it; two lines while an update rolls out.',
        type: 'stat',
        unit: 'none',
        queries: {
          [`count by (version, pack, pack_version) (${read('facematch_build_info')})`]:
            '{{version}}, {{pack}} {{pack_version}}',
        },
      },
    ],
  },
  {
    title: 'Traffic',
    panels: [
      {
        title: 'Requests by endpoint',
        description:
          'Requests that were answered, or whose client left; `none` is a path that does not exist.',
        unit: 'reqps',
        stacked: true,
        queries: { [`sum by (route) (${rate('facematch_requests_total')})`]: '{{route}}' },
      },
      {
        title: 'Answers by status',
        description: '4xx is for callers to mend, 5xx for you; 499 is a client that did not wait.',
        unit: 'reqps',
        stacked: true,
        queries: { [`sum by (status) (${rate('facematch_requests_total')})`]: '{{status}}' },
      },
      {
        title: 'Uploads',
        description: 'Bytes of request bodies that arrive.',
        unit: 'Bps',
        queries: { [`sum(${rate('facematch_received_bytes_total')})`]: 'received' },
      },
    ],
  },
  {
    title: 'Latency',
    panels: [
      {
        title: 'Match, from its last byte to the answer',
        description:
          'Waiting and work; how fast a client sends is not in it. Alert FacematchSlow at p99 of 2.5 s.',
        unit: 's',
        limits: { red: 2.5 },
        queries: {
          [quantile(0.5, 'facematch_stage_duration_seconds', 'stage="total"')]: 'p50',
          [quantile(0.95, 'facematch_stage_duration_seconds', 'stage="total"')]: 'p95',
          [quantile(0.99, 'facematch_stage_duration_seconds', 'stage="total"')]: 'p99',
        },
      },
      {
        title: 'Request, p95 by endpoint',
        description: 'From the head of a request to its answer: uploads of slow clients are in it.',
        unit: 's',
        queries: {
          // What nobody asks for is NaN, and no number is at least 0.
          [`${quantile(0.95, 'facematch_request_duration_seconds', '', 'route, le')} >= 0`]: '{{route}}',
        },
      },
      {
        title: 'Mean time of a match by stage',
        description: 'Both pictures together. Where queue grows and the others do not, cores are too few.',
        unit: 's',
        stacked: true,
        queries: {
          [`sum by (stage) (${rate('facematch_stage_duration_seconds_sum', 'stage!="total"')}) / sum by (stage) (${rate('facematch_stage_duration_seconds_count', 'stage!="total"')})`]:
            '{{stage}}',
        },
      },
    ],
  },
];
