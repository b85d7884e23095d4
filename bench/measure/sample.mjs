// What the generator and the floor have counted in one or more windows, as one sample.
import { latencies } from '../results/statistics.mjs';

const sum = (windows, name) => windows.reduce((total, window) => total + window[name], 0);

/** More than one window, each a sample of its own too: what is compared with another's of the same turn. */
const withTurns = (windows, sampleOf) => ({
  ...sampleOf(windows),
  ...(windows.length > 1 && { turns: windows.map((window) => sampleOf([window])) }),
});

/** Of windows as measure/loader.mjs answers them. Only statuses that are expected count as answers. */
export const loadSample = (all, expects) =>
  withTurns(all, (windows) => {
    const seconds = sum(windows, 'seconds');
    const answers = windows.flatMap((window) => window.answers);
    const counted = answers.filter(([status]) => expects.includes(status));
    const statuses = {};
    for (const [status] of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    return {
      seconds,
      answers: counted.length,
      statuses,
      errors: sum(windows, 'errors'),
      requests_per_second: counted.length / seconds,
      latency_ms: latencies(counted.map(([, ms]) => ms)),
      // Of all answers: a refusal costs as well.
      cpu_ms: sum(windows, 'server_ms') / answers.length,
      main_thread_cpu_ms: sum(windows, 'main_thread_ms') / answers.length,
      generator_cpu_ms: sum(windows, 'generator_ms') / answers.length,
      cores: sum(windows, 'server_ms') / (seconds * 1000),
      rss_mib: windows.at(-1).rss_mib,
      peak_rss_mib: windows.at(-1).peak_rss_mib,
    };
  });

/** Of what native/bench/floor.cpp prints, once a window. */
export const floorSample = (all) =>
  withTurns(all, (windows) => {
    const kinds = ['pipeline', 'nets', 'decode'].map((kind) => {
      const parts = windows.map((window) => window[kind]);
      const measured_pairs = sum(parts, 'measured_pairs');
      const cpu_ms = parts.reduce((total, part) => total + part.cpu_ms * part.measured_pairs, 0);
      const pairs_per_second = sum(parts, 'pairs_per_second') / parts.length;
      return [kind, { pairs_per_second, cpu_ms: cpu_ms / measured_pairs, measured_pairs }];
    });
    return { pairs: windows[0].pairs, slices: sum(windows, 'slices'), ...Object.fromEntries(kinds) };
  });
