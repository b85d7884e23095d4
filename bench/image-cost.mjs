// Measures the CPU time for the most expensive files within the limits, and compares it with the budget of an image
// (FACEMATCH_IMAGE_TIMEOUT_MS). Takes a few minutes on a quiet machine.
//   node bench/image-cost.mjs [--budget 2000] [--bytes 20971520] [--pixels 64000000] [--json]
// Each file repeats a small unit of its format (a chunk, a segment, a scan) up to --bytes, or has the maximum number of
// pixels in few bytes. native/test/repeated.cpp lists the units.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../test/support/programs.mjs';
import { claim, flags, report, round1 } from '../test/support/report.mjs';
import { buildNative } from './lib/setup.mjs';

/** Tolerated multiple of the budget, because an analysis checks its budget in steps. */
const tolerance = 1.1;

const { json, ...limits } = flags({ budget: 2000, bytes: 20 * 1024 * 1024, pixels: 64_000_000, json: false });
await buildNative();
const options = Object.entries(limits).flatMap(([name, value]) => [`--${name}`, `${value}`]);
const program = join(root, 'build/bench/native/bench/facematch_cost');
const files = JSON.parse(
  execFileSync(program, options, {
    maxBuffer: 16 * 1024 * 1024,
  }),
);
const slowest = files.toSorted((a, b) => b.cpu_ms - a.cpu_ms).slice(0, 12);
const limit = limits.budget * tolerance;
report({
  title: `CPU time of ${files.length} files at the limits, with a budget of ${limits.budget} ms`,
  json,
  facts: Object.fromEntries(slowest.map(({ name, ...rest }) => [name, rest])),
  claims: ['jpeg', 'png', 'webp'].map((format) => {
    const own = files.filter(({ name }) => name.startsWith(format));
    const worst = own.reduce((max, one) => (one.cpu_ms > max.cpu_ms ? one : max));
    const found = `${round1(worst.cpu_ms)} ms (${worst.name})`;
    return claim(
      `${format}: no analysis exceeds its budget`,
      found,
      `at most ${limit} ms`,
      worst.cpu_ms <= limit,
    );
  }),
});
