// Measures the CPU time for the most expensive files that the limits allow, and compares it with the limit of an image (FACEMATCH_IMAGE_TIMEOUT_MS):
//   node bench/image-cost.mjs [--budget 2000] [--bytes 20971520] [--pixels 64000000] [--json]
// Each file has one small unit of its format (a chunk, a segment, a scan) repeated up to --bytes, or as many pixels as are
// allowed in as few bytes as possible; native/test/repeated.cpp lists the units. Takes some minutes on a quiet machine.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../test/support/programs.mjs';
import { claim, flags, report, round1 } from '../test/support/report.mjs';
import { buildNative } from './lib/setup.mjs';

/** Maximum excess of an analysis over its budget, which is checked in steps. */
const slack = 1.1;

const { json, ...limits } = flags({ budget: 2000, bytes: 20 * 1024 * 1024, pixels: 64_000_000, json: false });
await buildNative();
const options = Object.entries(limits).flatMap(([name, value]) => [`--${name}`, `${value}`]);
const program = join(root, 'build/bench/native/bench/facematch_cost');
const files = JSON.parse(
  execFileSync(program, options, {
    maxBuffer: 16 * 1024 * 1024,
  }),
);
const dearest = files.toSorted((a, b) => b.cpu_ms - a.cpu_ms).slice(0, 12);
const limit = limits.budget * slack;
report({
  title: `CPU time of ${files.length} files at the limits, with a budget of ${limits.budget} ms`,
  json,
  facts: Object.fromEntries(dearest.map(({ name, ...rest }) => [name, rest])),
  claims: ['jpeg', 'png', 'webp'].map((format) => {
    const own = files.filter(({ name }) => name.startsWith(format));
    const worst = own.reduce((most, one) => (one.cpu_ms > most.cpu_ms ? one : most));
    const found = `${round1(worst.cpu_ms)} ms (${worst.name})`;
    return claim(
      `${format}: no analysis exceeds its budget`,
      found,
      `at most ${limit} ms`,
      worst.cpu_ms <= limit,
    );
  }),
});
