// Runs the tests, after the setup of missing parts. The last line has the number of passed, failed and skipped tests.
//   node scripts/test.mjs          npm test: lint, types, C++ tests, and the TypeScript tests except the slow ones
//   node scripts/test.mjs --full   npm run test:full: all tests, with native code under sanitizers
//   node scripts/test.mjs NAME…    only these checks (lint, types, native, vitest), or the test files with NAME in their path.
//                                  "native view" runs only the suite native/test/view_test.cpp. Uses sanitizers.
// FACEMATCH_NO_SKIPS=1 counts skipped tests as failed.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { seconds } from './lib/run.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));
const jobs = String(availableParallelism());
const counted = { passed: 0, failed: 0 };
/** Skipped tests, with the reason if it is known. */
const skipped = [];

/** The checks, in order. */
const checks = {
  lint: script('lint'),
  types: script('typecheck'),
  native,
  vitest,
};

const words = process.argv.slice(2);
const full = words.includes('--full');
const chosenChecks = words.filter((word) => word in checks);
const names = words.filter((word) => word !== '--full' && !(word in checks));
const hasName = (file, name) => file.includes(name);
const chosen = (folder, ending) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith(ending) && names.some((name) => hasName(file, name)));
const suites = chosen('native/test', '_test.cpp');
const files = [...chosen('test', '.test.ts'), ...chosen('lab/test', '.test.ts')];

function isChosen(check) {
  if (chosenChecks.length > 0 && !chosenChecks.includes(check)) return false;
  if (names.length === 0) return true;
  return (check === 'native' && suites.length > 0) || (check === 'vitest' && files.length > 0);
}

/** Runs a command and shows its output. Returns true on success. */
function show(command, ...args) {
  const ok = spawnSync(command, args, { stdio: 'inherit' }).status === 0;
  if (!ok) process.stderr.write(`✗ ${command} ${args.join(' ')}\n`);
  return ok;
}

/** Counts a check without single tests as one passed or failed test. */
function countOne(ok) {
  counted[ok ? 'passed' : 'failed'] += 1;
}

/** Returns a check that runs a script of package.json. */
function script(name) {
  return () => countOne(show('npm', 'run', '--silent', name));
}

/**
 * If true, builds the C++ tests, and the addon that test/slow/native and test/slow/fuzz load, with AddressSanitizer and
 * UBSan. `npm test` uses the release build of the core instead, which saves two thirds of the compilation.
 */
const isSanitized = full || words.length > 0;
const tree = isSanitized ? 'build/asan' : 'build/addon';

function build(target) {
  return configure() && show('cmake', '--build', tree, '--parallel', jobs, '--target', target);
}

function configure() {
  if (!isSanitized) return show('cmake', '-DFACEMATCH_TESTS=ON', '--log-level=WARNING', tree);
  if (existsSync(`${tree}/build.ninja`) || existsSync(`${tree}/Makefile`)) return true;
  const options = ['--CDFACEMATCH_TESTS=ON', '--CDFACEMATCH_SANITIZE=ON'];
  const first = ['configure', '--out', tree, '--log-level', 'warn', ...options];
  return show(process.execPath, 'node_modules/cmake-js/bin/cmake-js', ...first);
}

function native() {
  const built = build('facematch_tests');
  countOne(built);
  if (!built) return;
  const report = `${tree}/ctest.xml`;
  rmSync(report, { force: true });
  const suiteNames = suites.map((file) => basename(file, '_test.cpp'));
  const tier = isSanitized ? [] : ['--label-exclude', 'slow'];
  const only = names.length === 0 ? tier : ['-R', `^(${suiteNames.join('|')})$`];
  const output = ['--output-on-failure', '--output-junit', 'ctest.xml', '--test-output-size-passed', '99999'];
  const ok = show('ctest', '--test-dir', tree, '--parallel', jobs, ...output, ...only);
  // ctest runs the test program once per suite. The program prints the number of its cases.
  const text = existsSync(report) ? readFileSync(report, 'utf8') : '';
  const cases = [...text.matchAll(/test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed/g)];
  const sum = (column) => cases.reduce((total, match) => total + Number(match[column]), 0);
  const skips = [...text.matchAll(/skipped, for .*/g)].map(([why]) => `a C++ test case: ${why}`);
  skipped.push(...skips);
  counted.passed += sum(1) - skips.length;
  // A suite that crashed or leaked memory has no failed case, but counts as one failure.
  counted.failed += sum(2) + (ok || sum(2) > 0 ? 0 : 1);
}

function vitest() {
  const loadsSanitized = /^test\/slow\/(?:native|fuzz)\//;
  if (full || files.some((file) => loadsSanitized.test(file))) countOne(build('facematch'));
  const report = 'build/vitest.json';
  rmSync(report, { force: true });
  mkdirSync('build', { recursive: true });
  const tier = names.length > 0 || full ? [] : ['--project', 'fast*', '--project', 'unit'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
  const program = ['node_modules/vitest/vitest.mjs', 'run', ...reporters];
  const ok = show(process.execPath, ...program, ...tier, ...files);
  const { testResults = [] } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : {};
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed').length;
  const passed = tests.filter(({ status }) => status === 'passed').length;
  counted.passed += passed;
  // A file that failed to load has no failed test, but counts as one failure.
  counted.failed += failed + (ok || failed > 0 ? 0 : 1);
  const others = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  skipped.push(...others.map(({ fullName }) => fullName));
}

const unknown = names.find((name) => ![...suites, ...files].some((file) => hasName(file, name)));
if (unknown !== undefined) {
  const known = Object.keys(checks).join(', ');
  process.stderr.write(`"${unknown}" is not a check (${known}), and no test file has it in its path.\n`);
  process.exit(2);
}

const isSlow = full || files.some((file) => file.startsWith('test/slow/'));
// Only vitest needs the release addon.
const steps = isChosen('vitest') ? [] : ['--only', 'debian,npm,program,pack'];
if (!show(process.execPath, 'scripts/setup.mjs', isSlow ? '--full' : '--dev', ...steps)) process.exit(1);
for (const [name, check] of Object.entries(checks)) {
  if (!isChosen(name)) continue;
  const start = performance.now();
  process.stderr.write(`\n— ${name}\n`);
  check();
  process.stderr.write(`— ${name}: ${seconds(start)}\n`);
}
const noSkips = process.env.FACEMATCH_NO_SKIPS === '1';
for (const what of skipped) process.stderr.write(`Skipped: ${what}\n`);
const failed = counted.failed + (noSkips ? skipped.length : 0);
const shown = noSkips || skipped.length === 0 ? '' : `, ${skipped.length} skipped`;
console.log(`\n${counted.passed} passed, ${failed} failed${shown}`);
process.exitCode = failed > 0 || counted.passed === 0 ? 1 : 0;
