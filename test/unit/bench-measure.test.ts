import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { projectPath } from '../../src/paths.ts';

const { instructionsOf } = await import(projectPath('bench/results/callgrind.mjs'));
const { apart, cpusIn } = await import(projectPath('bench/measure/cores.mjs'));
const { readOptions } = await import(projectPath('bench/measure/options.mjs'));
const { cellsOf, planOf, rotated, secondsOf } = await import(projectPath('bench/measure/plan.mjs'));
const { floorSample, loadSample } = await import(projectPath('bench/measure/sample.mjs'));
const { cpuOf, cpuOfStat, rssOf, treeOf } = await import(projectPath('bench/measure/usage.mjs'));

interface Block {
  id: string;
  runs: {
    contender: string;
    workers: number;
    apart?: boolean;
    cells: { clients?: number; turns: number }[];
  }[];
}
const plan = (...args: string[]): Block[] => planOf(readOptions(args));
const block = (id: string, ...args: string[]) => plan(...args).find((one) => one.id === id);
const names = (one: Block | undefined) => one?.runs.map(({ contender }) => contender);

describe('the CPU time of a process', () => {
  test('is user and system time, also where its name has blanks and brackets', () => {
    const rest = `S ${'0 '.repeat(10)}150 50 9 9 20 0`;
    expect(cpuOfStat(`42 (node) ${rest}`, 100)).toBe(2000);
    expect(cpuOfStat(`42 (a) b (c) 1 2) ${rest}`, 100)).toBe(2000);
    expect(cpuOfStat(`42 (node) ${rest}`, 1000)).toBe(200);
  });

  test('includes that of the processes which it started', async () => {
    const child = spawn('sh', ['-c', 'sleep 60 & echo started; wait'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    const tree = treeOf(child.pid) as number[];
    expect(tree).toHaveLength(2);
    expect(rssOf(child.pid)).toBeGreaterThan(rssOf(tree[1]));
    for (const pid of tree) process.kill(pid);
    await once(child, 'close');
  });

  test('grows with the work that is done', () => {
    const before = cpuOf(process.pid);
    for (let now = before; now <= before; now = cpuOf(process.pid)) Math.hypot(now);
    expect(cpuOf(process.pid)).toBeGreaterThan(before);
  });
});

describe('CPUs', () => {
  test.each([
    ['0', [0]],
    ['0-3', [0, 1, 2, 3]],
    ['1,3-4,8', [1, 3, 4, 8]],
    ['', []],
  ])('%j are %j', (list, expected) => expect(cpusIn(list)).toEqual(expected));

  test('are the last for the generator and the others for the server', () => {
    expect(apart([0, 1])).toEqual({ server: '0', generator: '1', room: 1 });
    expect(apart([2, 3, 5, 7])).toEqual({ server: '2,3,5', generator: '7', room: 3 });
  });

  test('cannot be told apart where there is but one', () => expect(apart([0])).toBeUndefined());
});

describe('a plan', () => {
  test('measures facematch twice wherever it is compared, so that the noise is known', () => {
    for (const one of plan()) {
      if (one.id === 'workers') continue;
      expect(names(one), one.id).toEqual(expect.arrayContaining(['facematch', 'facematch-again']));
    }
  });

  test('has every scenario in both modes, those that are refused in one', () => {
    expect(plan().map(({ id }) => id)).toEqual([
      ...['small', 'card', 'photo', 'phone', 'mixed'].flatMap((name) => [`${name} fast`, `${name} balance`]),
      'refused-key fast',
      'refused-form fast',
      'workers',
      'steady',
    ]);
  });

  test('loads slow peers with few clients, and phones never with more than memory is worth', () => {
    const clients = (id: string, contender: string) =>
      block(id)
        ?.runs.find((run) => run.contender === contender)
        ?.cells.map((cell) => cell.clients);
    expect(clients('small fast', 'facematch')).toEqual([1, 8, 32, 128]);
    expect(clients('small fast', 'human')).toEqual([1, 8]);
    expect(clients('phone fast', 'facematch')).toEqual([1, 8, 32]);
  });

  test('leaves out what takes long to set up until it is asked for', () => {
    expect(names(block('small fast'))).not.toContain('opencv4nodejs');
    expect(names(block('small fast', '--with', 'opencv4nodejs'))).toContain('opencv4nodejs');
  });

  test('holds one worker against two, beside the machine itself', () => {
    expect(block('workers')?.runs.map(({ contender, workers }) => `${contender} ${workers}`)).toEqual([
      'facematch 1',
      'floor 1',
      'facematch 2',
      'floor 2',
    ]);
  });

  test('keeps to the contenders and scenarios that it is told', () => {
    const only = plan('--contenders', 'facematch,floor', '--only', 'photo');
    expect(only.map(({ id }) => id)).toEqual(['photo fast', 'photo balance']);
    for (const one of only) expect(names(one)).toEqual(['facematch', 'floor']);
  });

  test('takes turns at what figures are made of, the floor with the servers', () => {
    const cells: { clients: number; turns: number }[] = cellsOf(block('small fast', '--turns', '3')?.runs);
    const turnsOf = Object.fromEntries(cells.map(({ clients, turns }) => [clients, turns]));
    expect(turnsOf).toEqual({ 1: 1, 8: 3, 32: 1, 128: 1 });
    expect(cells).toHaveLength(4);
    const floor = block('small fast', '--turns', '3')?.runs.find(({ contender }) => contender === 'floor');
    expect(floor?.cells).toEqual([expect.objectContaining({ clients: 8, turns: 3 })]);
    for (const { turns } of cellsOf(block('small balance')?.runs)) expect(turns).toBe(1);
    for (const { turns } of cellsOf(block('workers', '--turns', '3')?.runs)) expect(turns).toBe(3);
  });

  test('of a quick run takes less than two minutes', () => {
    const options = readOptions(['--quick']);
    expect(secondsOf(planOf(options), options)).toBeLessThan(120);
  });

  test('begins every round with another contender', () => {
    expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
  });
});

describe('a sample', () => {
  const window = (answers: [number, number][], more: object = {}) => ({
    seconds: 2,
    answers,
    errors: 0,
    server_ms: 100,
    main_thread_ms: 10,
    generator_ms: 5,
    rss_mib: 200,
    peak_rss_mib: 210,
    ...more,
  });

  test('of one window counts the expected answers and all CPU time', () => {
    const answers: [number, number][] = [
      [200, 10],
      [200, 30],
      [503, 1],
      [200, 20],
    ];
    expect(loadSample([window(answers)], [200])).toEqual({
      seconds: 2,
      answers: 3,
      statuses: { 200: 3, 503: 1 },
      errors: 0,
      requests_per_second: 1.5,
      latency_ms: { p50: 20, p90: null, p99: null, p99_9: null, max: 30 },
      cpu_ms: 25,
      main_thread_cpu_ms: 2.5,
      generator_cpu_ms: 1.25,
      cores: 0.05,
      rss_mib: 200,
      peak_rss_mib: 210,
    });
  });

  test('of several windows is of all their answers, and keeps each as a turn', () => {
    const first = window([[200, 10]]);
    const second = window(
      [
        [200, 20],
        [200, 40],
      ],
      { server_ms: 50, errors: 1, rss_mib: 220 },
    );
    const sample = loadSample([first, second], [200]);
    expect(sample).toMatchObject({
      seconds: 4,
      answers: 3,
      errors: 1,
      requests_per_second: 0.75,
      cpu_ms: 50,
      rss_mib: 220,
    });
    expect(sample.latency_ms).toMatchObject({ p50: 20, max: 40 });
    expect(sample.turns).toEqual([loadSample([first], [200]), loadSample([second], [200])]);
  });

  test('of the floor weighs each window by its pairs', () => {
    const kind = (pairs_per_second: number, cpu_ms: number, measured_pairs: number) => ({
      pairs_per_second,
      cpu_ms,
      measured_pairs,
    });
    const of = (one: object) => ({ pairs: 8, slices: 4, pipeline: one, nets: one, decode: one });
    const sample = floorSample([of(kind(10, 20, 100)), of(kind(20, 50, 200))]);
    expect(sample).toMatchObject({ pairs: 8, slices: 8, pipeline: kind(15, 40, 300) });
    expect(sample.turns.map((turn: { nets: object }) => turn.nets)).toEqual([
      kind(10, 20, 100),
      kind(20, 50, 200),
    ]);
  });
});

describe('options', () => {
  test.each([
    ['an unknown flag', ['--fast']],
    ['an unknown contender', ['--contenders', 'facematch,nobody']],
    ['no contender', ['--contenders', '']],
    ['an unknown scenario', ['--only', 'tiny']],
    ['an unknown addition', ['--with', 'opencv']],
    ['no seconds', ['--seconds', '0']],
    ['seconds that are no number', ['--seconds', 'two']],
    ['negative rounds', ['--rounds', '-1']],
    ['a client of zero', ['--clients', '1,0']],
  ])('refuse %s', (_, args) => expect(() => readOptions(args)).toThrow());
});

describe('profiles of callgrind', () => {
  const profile = (trigger: string, total: number) =>
    `version: 1\ndesc: Trigger: ${trigger}\nevents: Ir\nsummary: 5\ntotals: ${total}\n`;

  test('are told by the name that the program gave them, without what was run again', () => {
    expect(
      instructionsOf([
        profile('Client Request: decode', 23),
        profile('Client Request: pose and quality', 19),
        profile('Client Request: again decode', 24),
        profile('Program termination', 99),
        '',
      ]),
    ).toEqual({ decode: 23, 'pose and quality': 19 });
  });
});
