import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';
import { built, type Outcome, run } from './support/cli.ts';

/** The bench for a moment, with facematch alone: what it measures is of no interest here, only that it measures. */

interface Sample {
  block: string;
  contender: string;
  workers: number;
  loop: string;
  clients?: number;
  answers: number;
  errors: number;
  statuses: Record<string, number>;
  requests_per_second: number;
  latency_ms: { p50: number | null; max: number | null };
  cpu_ms: number;
  generator_cpu_ms: number;
  rss_mib: number;
}
interface Results {
  schema: number;
  environment: { commit: string; cpu: string; node: string; date: string };
  contenders: Record<string, { title: string }>;
  samples: Sample[];
  checks: { contender: string; asked: number; right: number; sensible: boolean }[];
  failures: object[];
  figures: { what: string; found?: { median: number }; reached: boolean | null }[];
}

const bench = projectPath('bench/compare.mjs');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'facematch-bench-test-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(!built)('a quick run', () => {
  let outcome: Outcome;
  let results: Results;
  beforeAll(async () => {
    const briefly = [
      '--quick',
      '--seconds',
      '0.2',
      '--contenders',
      'facematch',
      '--only',
      'small,refused-key',
    ];
    outcome = await run(bench, [...briefly, '--json', '--out', 'results.json'], folder);
    expect(outcome.code, outcome.stderr).toBe(0);
    results = JSON.parse(outcome.stdout) as Results;
  }, 120_000);

  test('writes to its file what it prints, with commit, CPU, Node and date', () => {
    expect(JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'))).toEqual(results);
    expect(results).toMatchObject({
      schema: 1,
      environment: {
        commit: expect.stringMatching(/^[0-9a-f]{7,}|^unknown/),
        cpu: expect.stringMatching(/^\d+ × ./),
        node: process.version,
        date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      },
      failures: [],
    });
  });

  test('has seen right answers before it counted any', () => {
    expect(results.checks.filter(({ asked }) => asked > 0).length).toBeGreaterThan(0);
    for (const { asked, right, sensible } of results.checks) expect([sensible, right]).toEqual([true, asked]);
  });

  test('has samples of every block, each with answers, latency, CPU and memory', () => {
    expect([...new Set(results.samples.map(({ block }) => block))]).toEqual([
      'small fast',
      'refused-key fast',
      'workers',
      'steady',
    ]);
    for (const sample of results.samples) {
      expect(sample).toMatchObject({ contender: 'facematch', errors: 0 });
      for (const value of [
        sample.answers,
        sample.requests_per_second,
        sample.latency_ms.p50,
        sample.cpu_ms,
        sample.generator_cpu_ms,
        sample.rss_mib,
      ]) {
        expect(value, JSON.stringify(sample)).toBeGreaterThan(0);
      }
    }
  });

  test('counts only the statuses that a scenario expects', () => {
    const statuses = (block: string) =>
      results.samples
        .filter((sample) => sample.block === block)
        .map((sample) => Object.keys(sample.statuses));
    expect(statuses('small fast')).toEqual([['200']]);
    expect(statuses('refused-key fast').flat()).toEqual(expect.arrayContaining(['401']));
    for (const { answers, statuses: by } of results.samples) {
      expect(answers).toBe(Object.values(by).reduce((sum, count) => sum + count, 0));
    }
  });

  test('tells the figures that it has measured, and of the others that it has not', () => {
    const found = results.figures.filter((figure) => figure.found !== undefined).map(({ what }) => what);
    expect(found).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/one request alone/),
        expect.stringMatching(/resident memory/),
      ]),
    );
    for (const { found: value, reached } of results.figures)
      expect(reached === null).toBe(value === undefined);
  });

  test('can be made into a page', async () => {
    const { pageText } = await import(projectPath('bench/results/page.mjs'));
    const { plots } = await import(projectPath('bench/results/plots.mjs'));
    const text = pageText(results, ['throughput.svg']);
    expect(text).toContain(`commit ${results.environment.commit}`);
    expect(text).toContain('](benchmarks/throughput.svg)');
    expect(text).not.toMatch(/undefined|NaN|\[object/);
    expect(plots['throughput.svg'](results)).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    // One number of clients makes no line.
    expect(plots['latency.svg'](results)).toBeUndefined();
  });
});

describe.each([
  ['an unknown contender', ['--contenders', 'nobody'], /--contenders: expected some of floor, facematch/],
  ['an unknown flag', ['--fast'], /--fast/],
  ['results that are not there', ['--report', 'nowhere.json'], /nowhere\.json/],
])('%s', (_, args, message) => {
  test('ends it with one line that says so', async () => {
    const { code, stdout, stderr } = await run(bench, args, folder);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
