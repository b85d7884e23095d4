import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { capacity, coresFor, costOf, scalingText } = await import(projectPath('bench/results/scaling.mjs'));
const { pageText } = await import(projectPath('bench/results/page.mjs'));
const { plots } = await import(projectPath('bench/results/plots.mjs'));

const sample = (more: object) => ({
  round: 0,
  block: 'photo balance',
  contender: 'facematch',
  workers: 2,
  loop: 'closed',
  clients: 8,
  requests_per_second: 40,
  cpu_ms: 50,
  main_thread_cpu_ms: 2,
  rss_mib: 200,
  ...more,
});

describe('the sums of docs/scaling.md', () => {
  const samples = [
    sample({}),
    sample({ round: 1, cpu_ms: 52, main_thread_cpu_ms: 3 }),
    sample({ clients: 128, cpu_ms: 999 }),
    sample({ contender: 'hello', cpu_ms: 1 }),
  ];
  const cost = costOf(samples, 'photo', 'balance');

  test('take the medians of facematch with both workers busy', () => {
    expect(cost).toEqual({ all: 51, front: 2.5, ceiling: 400 });
  });

  test('let a process grow with its cores until its main thread is full', () => {
    expect(capacity(cost, 2)).toBeCloseTo(2000 / 51);
    expect(capacity(cost, 1000)).toBe(400);
  });

  test('need cores for the busiest hour, run at 70 %', () => {
    // 10 a second, in the busiest hour 20, of which each takes 51 ms.
    expect(coresFor(cost, 864_000, 2)).toBeCloseTo((20 * 0.051) / 0.7);
  });

  test('leave out what was not measured', () => {
    const environment = { commit: 'c', cpu: 'a CPU', memory_gib: 1, node: 'v20', date: 'today' };
    const text: string = scalingText({ environment, options: { workers: 2 }, samples });
    expect(text).toMatch(/\| photo \| balance \| 51\.0 \|/);
    expect(text).not.toMatch(/\| (small|phone) \|/);
  });
});

test('docs/benchmarks.md and docs/scaling.md are those of the results beside them', () => {
  const read = (path: string) => readFileSync(projectPath(path), 'utf8');
  const results = JSON.parse(read('docs/benchmarks/results.json'));
  const drawn = Object.entries<(results: unknown) => string | undefined>(plots).filter(([name, draw]) => {
    const svg = draw(results);
    if (svg !== undefined) expect(read(`docs/benchmarks/${name}`)).toBe(svg);
    return svg !== undefined;
  });
  expect(read('docs/scaling.md')).toBe(scalingText(results));
  expect(read('docs/benchmarks.md')).toBe(
    pageText(
      results,
      drawn.map(([name]) => name),
    ),
  );
});
