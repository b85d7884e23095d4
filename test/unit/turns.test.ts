import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { atOnce, inTurns, type Steps } from '../../src/engine/turns.ts';

/** The body parsers work in steps; test/unit/multipart.test.ts and json-form.test.ts have theirs. */

const KiB = 1024;

/** Records its steps in `done`, each with its cost. */
function* stepsOf(costs: readonly number[], done: number[] = []): Steps<string> {
  for (const cost of costs) {
    yield cost;
    done.push(cost);
  }
  return 'result';
}

const always = () => {};

test('returns the result of steps that run at once', () => {
  expect(atOnce(stepsOf([1, 2, 3]))).toBe('result');
});

test('runs steps of up to 512 KiB without a pause', async () => {
  const done: number[] = [];
  const result = inTurns(stepsOf(Array(7).fill(64 * KiB), done), always);
  expect(done).toHaveLength(7);
  expect(await result).toBe('result');
});

test('runs one turn of all calculations in each iteration of the event loop', async () => {
  const all = Array.from({ length: 3 }, () => [] as number[]);
  const results = all.map((done) => inTurns(stepsOf(Array(32).fill(64 * KiB), done), always));
  const count = () => all.reduce((sum, done) => sum + done.length, 0);
  // The step that ends a turn is recorded with the next one.
  let before = count();
  expect(before).toBe(3 * 7);
  while (before < 3 * 32) {
    await nextIteration();
    expect(count() - before).toBeLessThanOrEqual(8);
    before = count();
  }
  expect(await Promise.all(results)).toEqual(['result', 'result', 'result']);
});

test('ends before the next turn when its result is no longer needed', async () => {
  const done: number[] = [];
  let turns = 0;
  const result = inTurns(stepsOf(Array(100).fill(512 * KiB), done), () => {
    if (++turns === 3) throw new Error('left');
  });
  await expect(result).rejects.toThrow('left');
  expect(done).toHaveLength(2);
});

test('rejects with the error of a step, and goes on with the other calculations', async () => {
  function* failing(): Steps<never> {
    yield 512 * KiB;
    throw new Error('failed');
  }
  const others = inTurns(stepsOf([512 * KiB, 512 * KiB]), always);
  await expect(inTurns(failing(), always)).rejects.toThrow('failed');
  expect(await others).toBe('result');
});
