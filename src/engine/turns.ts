/**
 * A calculation over a body, in steps. Each step yields its cost: the number of bytes that the main thread reads one
 * by one in that time.
 */
export type Steps<Result> = Generator<number, Result, void>;

/** Approximate maximum cost of a step. A step may exceed it by the piece of the body that it reads last. */
export const step_cost = 64 * 1024;

/** Cost of the steps in one turn of the event loop. They take a few milliseconds at most. */
export const turn_cost = 4 * step_cost;

/** Runs all steps without interruption. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * Runs the steps in several turns of the event loop, so that other requests are served between them. `check` is
 * called before each turn except the first, and throws if the result is no longer needed. `spent` is called after
 * each turn with its duration in milliseconds.
 */
export async function inTurns<Result>(
  steps: Steps<Result>,
  check: () => void,
  spent?: (ms: number) => void,
): Promise<Result> {
  for (;;) {
    const began = performance.now();
    try {
      for (let cost = 0; cost < turn_cost; ) {
        const step = steps.next();
        if (step.done) return step.value;
        cost += step.value;
      }
    } finally {
      spent?.(performance.now() - began);
    }
    await nextTurn();
    check();
  }
}

/** Calculations that wait for their next turn, in order. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a later iteration of the event loop. Only one calculation continues in each iteration. With
 * setImmediate alone, all calculations would continue in the same iteration.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(startNext);
  });
}

function startNext(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(startNext);
}
