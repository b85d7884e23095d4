// What it says to its callers.
import { chosen, rate, read, share } from '../promql.mjs';

export const answers = [
  {
    title: 'Refusals',
    panels: [
      {
        title: 'By reason',
        description:
          'What refusals have to do with: the request, its pictures, the key, its rate, load, a start or shutdown, a fault of ours.',
        unit: 'reqps',
        stacked: true,
        queries: { [`sum by (reason) (${rate('facematch_refusals_total')})`]: '{{reason}}' },
      },
      {
        title: 'By code',
        description: 'Codes that occur; docs/errors.md says what each means.',
        unit: 'reqps',
        queries: { [`sum by (code) (${rate('facematch_refusals_total')}) > 0`]: '{{code}}' },
      },
      {
        title: 'Rate limits in Redis',
        description:
          '1 while Redis answers; below, each replica keeps limits by itself. Empty without FACEMATCH_LIMITER. Alert FacematchLimiterLocal.',
        unit: 'none',
        max: 1,
        queries: { [read('facematch_limiter_up')]: '{{instance}}' },
      },
    ],
  },
  {
    title: 'Faces and scores',
    panels: [
      {
        title: 'Confidence',
        description:
          'How many matches got which percent. People of one trade look alike from week to week; a shift is worth a look.',
        type: 'heatmap',
        unit: 'none',
        queries: {
          [`sum by (le) (increase(facematch_confidence_percent_bucket{${chosen}}[$__rate_interval]))`]:
            '{{le}}',
        },
      },
      {
        title: 'Mean confidence, last hour',
        description: 'By accuracy mode. Alert FacematchConfidenceDrift at 10 points from the last week.',
        unit: 'percent',
        max: 100,
        queries: { 'job_mode:facematch_confidence_percent:mean_rate1h{job="$job"}': '{{accuracy_mode}}' },
      },
      {
        title: 'Share that matched',
        description: 'At whatever threshold each request asked for.',
        unit: 'percentunit',
        max: 1,
        queries: {
          [share(
            `sum by (accuracy_mode) (${rate('facematch_comparisons_total', 'result="match"')})`,
            `sum by (accuracy_mode) (${rate('facematch_comparisons_total')})`,
          )]: '{{accuracy_mode}}',
        },
      },
      {
        title: 'Pictures without a face',
        description:
          'Of all pictures that were looked at, in the last hour. Alert FacematchFacesMissing when it jumps.',
        unit: 'percentunit',
        queries: { 'job:facematch_images_faceless:ratio_rate1h{job="$job"}': 'without a face' },
      },
      {
        title: 'Pictures that needed the fallback',
        description:
          'By the look that found the largest face: tiled (small), rotated, padded (larger than the frame), enhanced (dark). Each costs several ordinary ones.',
        unit: 'percentunit',
        stacked: true,
        queries: {
          [`sum by (found_by) (${rate('facematch_images_total', 'found_by!~"primary|none"')}) / on () group_left () sum(${rate('facematch_images_total')})`]:
            '{{found_by}}',
        },
      },
      {
        title: 'Faces in a picture',
        description: 'Mean, and the share of pictures with more than one.',
        unit: 'none',
        queries: {
          [share(`sum(${rate('facematch_image_faces_sum')})`, `sum(${rate('facematch_image_faces_count')})`)]:
            'mean',
          [`1 - ${share(
            `sum(${rate('facematch_image_faces_bucket', 'le="1"')})`,
            `sum(${rate('facematch_image_faces_count')})`,
          )}`]: 'share with several',
        },
      },
    ],
  },
];
