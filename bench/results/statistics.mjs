// The arithmetic of the report.

/** The value that a share of all does not exceed (nearest rank). NaN of nothing. */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The middle one, or between the two in the middle. NaN of nothing. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Names of the quantiles of a latency, and how many answers one needs before it is more than its slowest. */
const quantiles = { p50: [0.5, 1], p90: [0.9, 10], p99: [0.99, 100], p99_9: [0.999, 1000], max: [1, 1] };

/** Quantiles of latencies in milliseconds; null where there are too few answers to tell. */
export function latencies(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return Object.fromEntries(
    Object.entries(quantiles).map(([name, [share, least]]) => [
      name,
      sorted.length < least ? null : sorted[Math.ceil(sorted.length * share) - 1],
    ]),
  );
}

/** Median, lowest and highest of a figure that was measured in every turn; undefined of nothing. */
export function spread(values) {
  const found = values.filter(Number.isFinite);
  if (found.length === 0) return undefined;
  return { median: median(found), low: Math.min(...found), high: Math.max(...found), turns: found.length };
}

/** `above[i] / below[i]` for the turns that have both. */
export function ratios(above, below) {
  return above.map((value, turn) => value / below[turn]).filter(Number.isFinite);
}
