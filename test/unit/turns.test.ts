import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { atOnce, inTurns, type Steps, step_cost, turn_cost } from '../../src/engine/turns.ts';

/** Tests calculations in steps. test/unit/multipart.test.ts and json-form.test.ts test the body parsers' steps. */

/** Number of steps of maximum cost in a turn. */
const steps = turn_cost / step_cost;

/** Yields steps of these costs, and records each in `done`. */
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

test('runs the steps of one turn without a pause', async () => {
  const done: number[] = [];
  const result = inTurns(stepsOf(Array(steps - 1).fill(step_cost), done), always);
  expect(done).toHaveLength(steps - 1);
  expect(await result).toBe('result');
});

test('runs at most one turn of all calculations together in each iteration of the event loop', async () => {
  const all = Array.from({ length: 3 }, () => [] as number[]);
  const results = all.map((done) => inTurns(stepsOf(Array(4 * steps).fill(step_cost), done), always));
  const count = () => all.reduce((sum, done) => sum + done.length, 0);
  // The step that ends a turn is recorded in the next turn.
  let before = count();
  expect(before).toBe(3 * (steps - 1));
  while (before < 3 * 4 * steps) {
    await nextIteration();
    expect(count() - before).toBeLessThanOrEqual(steps);
    before = count();
  }
  expect(await Promise.all(results)).toEqual(['result', 'result', 'result']);
});

test('ends a calculation before its next turn when the result is no longer needed', async () => {
  const done: number[] = [];
  let turns = 0;
  const result = inTurns(stepsOf(Array(100).fill(turn_cost), done), () => {
    if (++turns === 3) throw new Error('left');
  });
  await expect(result).rejects.toThrow('left');
  expect(done).toHaveLength(2);
});

test('reports the duration of each turn, including one that throws', async () => {
  function* failing(): Steps<never> {
    yield* [turn_cost, turn_cost, 1];
    throw new Error('failed');
  }
  const durations: number[] = [];
  const result = inTurns(failing(), always, (ms) => durations.push(ms));
  await expect(result).rejects.toThrow('failed');
  expect(durations).toHaveLength(3);
  expect(Math.min(...durations)).toBeGreaterThan(0);
});

test('rejects with the error of a step, and continues the other calculations', async () => {
  function* failing(): Steps<never> {
    yield turn_cost;
    throw new Error('failed');
  }
  const others = inTurns(stepsOf([turn_cost, turn_cost]), always);
  await expect(inTurns(failing(), always)).rejects.toThrow('failed');
  expect(await others).toBe('result');
});
