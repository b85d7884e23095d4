// Everything that must be true, each check once; sets up what is missing first. The last line counts.
//   node scripts/test.mjs [CHECK…]      only these checks: lint, types, native, vitest
//   node scripts/test.mjs vitest FILE…  only these test files

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seconds } from './lib/progress.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const counted = { passed: 0, failed: 0, skipped: 0 };

/** Runs with the output shown. Answers whether it ended well. */
function show(command, args, env = {}) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  return status === 0;
}

/** A check that is one command each: it passed or it failed. */
function all(...commands) {
  for (const [command, ...args] of commands) {
    const ok = show(command, args);
    if (!ok) process.stderr.write(`✗ ${command} ${args.join(' ')}\n`);
    counted[ok ? 'passed' : 'failed'] += 1;
    if (!ok) return;
  }
}

function sourcesOfCpp() {
  const below = (folder) =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && /\.(cpp|h)$/.test(entry.name))
      .map((entry) => `${entry.parentPath}/${entry.name}`);
  return below('native');
}

const bin = (path) => [process.execPath, `node_modules/${path}`];
const jobs = String(cpus().length);

/** In order. */
const checks = {
  lint: () =>
    all(
      [...bin('@biomejs/biome/bin/biome'), 'ci', '--colors=off', '--error-on-warnings', '.'],
      ['clang-format-19', '--dry-run', '-Werror', ...sourcesOfCpp()],
    ),
  types: () =>
    all(
      [...bin('typescript/bin/tsc'), '--noEmit', '-p', 'test'],
      // What runs in a browser, by its libraries.
      [...bin('typescript/bin/tsc'), '-p', 'src/demo/browser'],
      [...bin('typescript/bin/tsc'), '--noEmit', '-p', 'test/browser'],
    ),
  // The core without Node, and the addon that test/native loads, both under AddressSanitizer and UBSan.
  native: () => {
    all(
      ['cmake', '--preset', 'asan'],
      ['cmake', '--build', '--preset', 'asan', '--parallel', jobs],
      [
        ...bin('cmake-js/bin/cmake-js'),
        'compile',
        '--out',
        'build/asan-addon',
        '--CDFACEMATCH_SANITIZE=ON',
        '--log-level',
        'warn',
      ],
    );
    const report = 'build/asan/ctest.xml';
    rmSync(report, { force: true });
    const ok = show('ctest', [
      '--test-dir',
      'build/asan',
      '--output-on-failure',
      '--output-junit',
      `../../${report}`,
    ]);
    // Each subject is a run of the one test program, which counts its own cases.
    const junit = existsSync(report) ? readFileSync(report, 'utf8') : '';
    const cases = [...junit.matchAll(/test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed/g)];
    const sum = (column) => cases.reduce((total, match) => total + Number(match[column]), 0);
    counted.passed += sum(1);
    // A subject that crashed has no count of its own.
    counted.failed += sum(2) + (ok || sum(2) > 0 ? 0 : 1);
  },
  vitest: (files) => {
    const report = 'build/vitest.json';
    rmSync(report, { force: true });
    mkdirSync('build', { recursive: true });
    const ok = show(process.execPath, [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile=${report}`,
      ...files,
    ]);
    const {
      numPassedTests = 0,
      numFailedTests = 0,
      numPendingTests = 0,
    } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
    counted.passed += numPassedTests;
    counted.skipped += numPendingTests;
    // A file that did not even load has no failed test of its own.
    counted.failed += numFailedTests + (ok || numFailedTests > 0 ? 0 : 1);
  },
};

const words = process.argv.slice(2);
const unknown = words.find((word) => !(word in checks) && !word.includes('/'));
if (unknown !== undefined) {
  process.stderr.write(`There is no check "${unknown}"; there are ${Object.keys(checks).join(', ')}.\n`);
  process.exit(2);
}
const files = words.filter((word) => !(word in checks));
const chosen = words.filter((word) => word in checks);

if (!show(process.execPath, ['scripts/setup.mjs', '--dev'])) process.exit(1);
for (const [name, check] of Object.entries(checks)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  const start = performance.now();
  process.stderr.write(`\n— ${name}\n`);
  check(files);
  process.stderr.write(`— ${name}: ${seconds(start)}\n`);
}
const { passed, failed, skipped } = counted;
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
