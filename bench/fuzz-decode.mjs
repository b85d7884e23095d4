// Fuzzes decode() with libFuzzer (native/fuzz), which mutates images of each format and keeps inputs that reach new
// code.
//   node bench/fuzz-decode.mjs [--seconds 60] [--json]
// --seconds  total time for all formats
// Inputs that cause a fault are kept in build/fuzz/findings. To repeat one, run
// build/fuzz/native/fuzz/facematch_fuzz_decode FILE
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { run } from '../scripts/lib/run.mjs';
import { endOnSignals, launch, root } from '../test/support/programs.mjs';
import { claim, flags, progress, report } from '../test/support/report.mjs';
import { without } from '../test/support/without.mjs';
import { sharedData } from './lib/setup.mjs';

const signatures = {
  jpeg: (bytes) => bytes.subarray(0, 2).equals(Buffer.from([0xff, 0xd8])),
  png: (bytes) => bytes.subarray(1, 4).equals(Buffer.from('PNG')),
  webp: (bytes) => bytes.subarray(8, 12).equals(Buffer.from('WEBP')),
};
/**
 * Maximum size of an input, in bytes. 1 MiB has room for tens of thousands of chunks. 320 KB of chunks once blocked a
 * decoder for 5 s.
 */
const max_bytes = 1024 * 1024;
/**
 * Maximum time of an input. A decoder that takes longer ignores its CPU budget of one second.
 */
const max_seconds = 20;
/** Maximum memory of the process, and of one allocation. */
const max_mib = 1024;

const options = flags({ seconds: 60, json: false });
const formats = Object.keys(signatures);
const findings = join(root, 'build/fuzz/findings');
const program = join(root, 'build/fuzz/native/fuzz/facematch_fuzz_decode');

async function build() {
  const how = {
    cwd: root,
    advice: 'The fuzzer could not be built. The build needs clang-19 and libclang-rt-19-dev.',
  };
  await run('cmake', ['--preset', 'fuzz', '--log-level=ERROR'], how);
  await run('cmake', ['--build', '--preset', 'fuzz', '--parallel', '2'], how);
}

/** Returns the images of the C++ tests, and the damaged images in ../shared if they exist. */
function seeds(scratch) {
  const generated = join(scratch, 'generated');
  mkdirSync(generated);
  execFileSync(program, { env: { ...process.env, FACEMATCH_SEEDS: generated } });
  const folders = [generated, sharedData('corrupt')].filter((folder) => folder !== undefined);
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  );
}

/** Returns the last number after `name` in libFuzzer's output; NaN if there is none. */
const figure = (output, name) =>
  Number(output.match(new RegExp(`.*${name}:\\s*(\\d+)`, 's'))?.[1] ?? Number.NaN);

async function fuzz(format, files, scratch) {
  const corpus = join(scratch, format);
  mkdirSync(corpus);
  for (const file of files.filter((bytes) => bytes.length <= max_bytes && signatures[format](bytes)))
    writeFileSync(join(corpus, createHash('sha1').update(file).digest('hex')), file);
  const how = [
    `-max_total_time=${Math.max(1, Math.round(options.seconds / formats.length))}`,
    ...[`-max_len=${max_bytes}`, '-len_control=0', `-timeout=${max_seconds}`, `-rss_limit_mb=${max_mib}`],
    ...['-report_slow_units=2', '-print_final_stats=1'],
    ...[`-dict=${join(root, `native/fuzz/${format}.dict`)}`, `-artifact_prefix=${findings}/${format}-`],
  ];
  const { child, ended } = launch(program, [corpus, ...how], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, UBSAN_OPTIONS: 'print_stacktrace=1' },
  });
  const lines = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    if (line.startsWith('#')) progress(`${format}: ${line.slice(0, 70)}`);
  }
  const { code, signal } = await ended;
  progress('');
  const output = lines.join('\n');
  const finding = lines.findIndex((line) => /ERROR: |runtime error: |violates a guarantee/.test(line));
  return {
    format,
    ended: signal ?? code,
    fault:
      finding < 0
        ? `the fuzzer exited with ${signal ?? code}`
        : lines.slice(finding, finding + 12).join('\n'),
    seeds: files.filter(signatures[format]).length,
    executions: figure(output, 'number_of_executed_units'),
    edges: figure(output, ' cov'),
  };
}

endOnSignals();
await build();
mkdirSync(findings, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), 'facematch-fuzz-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const files = seeds(scratch);
const results = [];
for (const format of formats) results.push(await fuzz(format, files, scratch));
report({
  title: `Fuzz of decode(): ${options.seconds} s under ASan and UBSan`,
  json: options.json,
  facts: Object.fromEntries(results.map((one) => [one.format, without(one, 'format', 'fault')])),
  claims: results.map(({ format, ended, fault, executions }) =>
    claim(
      `${format}: any input returns an error or a valid image`,
      ended === 0 ? `${executions} executions without a finding` : `${fault}\nkept in ${findings}`,
      'no finding',
      ended === 0 && executions > 0,
    ),
  ),
});
