// Pieces of PromQL that panels share.

/** What the dashboard's variables choose. */
export const chosen = 'job="$job", instance=~"$instance"';

export const read = (metric) => `${metric}{${chosen}}`;

export const rate = (metric, labels = '') =>
  `rate(${metric}{${chosen}${labels && `, ${labels}`}}[$__rate_interval])`;

export const quantile = (q, metric, labels = '', by = 'le') =>
  `histogram_quantile(${q}, sum by (${by}) (${rate(`${metric}_bucket`, labels)}))`;

/** Absent, and not NaN, while nothing happens. */
export const share = (part, whole) => `${part} / (${whole} > 0)`;
