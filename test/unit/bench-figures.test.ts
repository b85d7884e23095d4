import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { figures, figuresOf, values } = await import(projectPath('bench/results/figures.mjs'));
const { figureTable, floorTable, loadTable, markdown, number, range } = await import(
  projectPath('bench/results/tables.mjs')
);
const { columns } = await import(projectPath('bench/results/console.mjs'));

interface Figure {
  what: string;
  found?: { median: number };
  reached: boolean | null;
}

/** One closed-loop sample as measure/loader.mjs answers it; `more` wins. */
const sample = (more: object) => ({
  round: 0,
  block: 'small fast',
  scenario: 'small',
  mode: 'fast',
  workers: 2,
  loop: 'closed',
  clients: 8,
  apart: false,
  answers: 100,
  statuses: { 200: 100 },
  errors: 0,
  requests_per_second: 50,
  latency_ms: { p50: 20, p90: 25, p99: 30, p99_9: null, max: 40 },
  cpu_ms: 10,
  generator_cpu_ms: 1,
  rss_mib: 200,
  ...more,
});
const floor = (more: object) => ({
  round: 0,
  block: 'small fast',
  contender: 'floor',
  workers: 2,
  loop: 'floor',
  pipeline: { pairs_per_second: 60, cpu_ms: 9.5 },
  nets: { pairs_per_second: 70, cpu_ms: 8 },
  decode: { pairs_per_second: 900, cpu_ms: 1 },
  ...more,
});

const named = (samples: object[], what: RegExp): Figure => {
  const found = (figuresOf(samples) as Figure[]).filter((figure) => what.test(figure.what));
  expect(found).toHaveLength(1);
  return found[0]!;
};

describe('a figure', () => {
  test('that was not measured is neither reached nor missed', () => {
    for (const figure of figuresOf([]) as Figure[]) {
      expect(figure).toMatchObject({ found: undefined, reached: null });
    }
    expect(figuresOf([])).toHaveLength(figures.length);
  });

  test('has one target, at least or at most', () => {
    for (const { least, most } of figures)
      expect([least, most].filter((one) => one !== undefined)).toHaveLength(1);
  });

  test('is reached at its target and missed a little below', () => {
    const peer = sample({ contender: 'do-it-yourself', requests_per_second: 20 });
    const ours = (rate: number) => sample({ contender: 'facematch', requests_per_second: rate });
    expect(named([peer, ours(50)], /^throughput ÷ do-it-yourself; small/)).toMatchObject({ reached: true });
    expect(named([peer, ours(49.9)], /^throughput ÷ do-it-yourself; small/)).toMatchObject({
      reached: false,
    });
  });

  test('of the pack int8 looks at that pack alone', () => {
    const peer = sample({ contender: 'do-it-yourself', requests_per_second: 20 });
    const inFloats = sample({ contender: 'facematch', requests_per_second: 40 });
    const int8 = sample({ contender: 'facematch-int8', requests_per_second: 60 });
    const figure = /^throughput with the pack int8 ÷ do-it-yourself/;
    expect(named([peer, inFloats], figure).reached).toBe(null);
    expect(named([peer, inFloats, int8], figure)).toMatchObject({ found: { median: 3 }, reached: true });
  });

  test('that may not exceed its target is reached at it and missed a little above', () => {
    const reached = (cpu_ms: number) =>
      named([sample({ contender: 'facematch', cpu_ms }), floor({})], /bare runs of the nets; small/).reached;
    expect(reached(10.4)).toBe(true);
    expect(reached(10.41)).toBe(false);
  });

  test('is the median of the ratios of each round, not the ratio of medians', () => {
    const rounds = [
      [10, 1],
      [20, 4],
      [30, 10],
    ].flatMap(([ours, peer], round) => [
      sample({ round, contender: 'facematch', requests_per_second: ours }),
      sample({ round, contender: 'human', requests_per_second: peer }),
    ]);
    expect(named(rounds, /human/).found).toEqual({ median: 5, low: 3, high: 10, turns: 3 });
  });

  test('compares turn with turn where a round has several', () => {
    const turns = (rates: number[]) => rates.map((requests_per_second) => sample({ requests_per_second }));
    const samples = [0, 1].flatMap((round) => [
      sample({ round, contender: 'facematch', requests_per_second: 1, turns: turns([10, 20]) }),
      sample({ round, contender: 'human', requests_per_second: 1, turns: turns([1, 10 / (round + 1)]) }),
    ]);
    expect(named(samples, /human/).found).toEqual({ median: 7, low: 2, high: 10, turns: 4 });
  });

  test('has the noise of two measurements of facematch beside it', () => {
    const samples = [
      sample({ contender: 'facematch', requests_per_second: 50 }),
      sample({ contender: 'facematch-again', requests_per_second: 45 }),
      sample({ contender: 'human', requests_per_second: 5 }),
    ];
    expect(named(samples, /human/)).toMatchObject({ noise: { median: 0.9 } });
  });

  test('looks at its own number of clients, mode and block alone', () => {
    const others = [
      sample({ contender: 'facematch', clients: 32, requests_per_second: 1 }),
      sample({ contender: 'facematch', block: 'small balance', mode: 'balance', requests_per_second: 2 }),
      sample({ contender: 'facematch', block: 'workers', requests_per_second: 3 }),
    ];
    const pair = [
      sample({ contender: 'facematch', requests_per_second: 50 }),
      sample({ contender: 'human', requests_per_second: 5 }),
    ];
    expect(named([...others, ...pair, ...others], /human/).found?.median).toBe(10);
  });

  test.each([
    ['floor: CPU a pair ÷ CPU a request; small', 0.95],
    ['CPU a request ÷ bare runs of the nets', 1.25],
    ['resident memory', 209.7],
  ])('%s comes out of server and floor', (what, expected) => {
    const samples = [sample({ contender: 'facematch' }), floor({})];
    expect(named(samples, new RegExp(what)).found?.median).toBeCloseTo(expected, 1);
  });

  test('of the phone counts decoding and nets together', () => {
    const samples = [
      sample({ contender: 'facematch', block: 'phone fast', cpu_ms: 27 }),
      floor({ block: 'phone fast' }),
    ];
    expect(named(samples, /bare scaled decoding/).found?.median).toBe(3);
  });

  test('of two workers over one looks at one client for the latency and at many for the throughput', () => {
    const at = (workers: number, clients: number, requests_per_second: number, p50: number) =>
      sample({
        contender: 'facematch',
        block: 'workers',
        workers,
        clients,
        requests_per_second,
        latency_ms: { p50 },
      });
    const samples = [at(1, 1, 30, 20), at(1, 8, 40, 80), at(2, 1, 33, 12), at(2, 8, 76, 90)];
    expect(named(samples, /one request alone/)).toMatchObject({ found: { median: 0.6 }, reached: true });
    expect(named(samples, /^throughput with two workers/)).toMatchObject({
      found: { median: 1.9 },
      reached: true,
    });
  });

  test('of the tail is none where too few answers came for a p99', () => {
    const steady = (p99: number | null) => [
      sample({ contender: 'facematch', block: 'steady', loop: 'open', latency_ms: { p50: 20, p99 } }),
    ];
    expect(named(steady(30), /p99 ÷ p50/).found?.median).toBe(1.5);
    expect(named(steady(null), /p99 ÷ p50/)).toMatchObject({ found: undefined, reached: null });
  });
});

test('values stand at the place of their round', () => {
  const samples = [
    sample({ contender: 'a', round: 2, cpu_ms: 7 }),
    sample({ contender: 'a', round: 0, cpu_ms: 5 }),
  ];
  expect(values(samples, { contender: 'a' }, 'cpu')).toEqual([5, Number.NaN, 7]);
});

test('values stand at the place of their turn, also behind a round that is missing', () => {
  const turns = [sample({ cpu_ms: 7 }), sample({ cpu_ms: 8 })];
  expect(values([sample({ contender: 'a', round: 1, turns })], { contender: 'a' }, 'cpu')).toEqual([
    Number.NaN,
    Number.NaN,
    7,
    8,
  ]);
});

describe('tables', () => {
  test.each([
    [undefined, '–'],
    [null, '–'],
    [Number.NaN, '–'],
    [0, '0'],
    [0.012345, '0.0123'],
    [1.2345, '1.23'],
    [12.345, '12.3'],
    [123.45, '123'],
    [12345, '12345'],
  ])('show %s as %s', (value, shown) => expect(number(value)).toBe(shown));

  test('show from where to where more than one turn went', () => {
    expect(range({ median: 2, low: 1, high: 3, turns: 3 })).toBe('2.00 (1.00–3.00)');
    expect(range({ median: 2, low: 2, high: 2, turns: 1 })).toBe('2.00');
    expect(range(undefined)).toBe('–');
  });

  test('have a row for each contender and number of clients, of the medians of its rounds', () => {
    const samples = [1, 2, 9].flatMap((requests_per_second, round) => [
      sample({ round, contender: 'facematch', requests_per_second }),
      sample({
        round,
        contender: 'human',
        requests_per_second,
        statuses: { 200: 75, 422: 20 },
        answers: 75,
        errors: 5,
      }),
    ]);
    const { head, rows } = loadTable([...samples, floor({})], 'small fast', { facematch: 'Facematch' });
    expect(rows.map((row: string[]) => row.slice(0, 4))).toEqual([
      ['Facematch', '2', '8', '2.00'],
      ['human', '2', '8', '2.00'],
    ]);
    expect(rows[1]?.[head.indexOf('other answers')]).toBe('25.0 %');
    for (const row of rows) expect(row).toHaveLength(head.length);
    expect(floorTable([...samples, floor({})]).rows).toEqual([
      ['small fast', '2', '60.0', '9.50', '8.00', '1.00'],
    ]);
  });

  test('mark a missed target, and say so of one that was not measured', () => {
    const { rows } = figureTable(figuresOf([sample({ contender: 'facematch', rss_mib: 400 })]));
    const marks = Object.fromEntries(rows.map((row: string[]) => [row[0], row.at(-1)]));
    const memory = Object.keys(marks).find((what) => what.startsWith('resident memory'))!;
    expect(marks[memory]).toBe('✗ missed');
    expect(new Set(Object.values(marks))).toEqual(new Set(['✗ missed', 'not measured']));
  });

  test('are columns at a terminal and pipes in Markdown', () => {
    const table = {
      head: ['a', 'value'],
      rows: [
        ['long name', '1'],
        ['x|y', '22'],
      ],
    };
    expect(columns(table).split('\n')).toEqual(['a          value', 'long name      1', 'x|y           22']);
    expect(markdown(table)).toBe('| a | value |\n| --- | --- |\n| long name | 1 |\n| x\\|y | 22 |');
  });
});
