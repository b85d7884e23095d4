import { describe, expect, test } from 'vitest';
import { JobQueue } from '../../src/engine/queue.ts';
import { Problem } from '../../src/errors.ts';

/** A queue whose jobs end when the test says so. */
function held(options: { workers?: number; capacity?: number; deadline_ms?: number } = {}) {
  const started: string[] = [];
  const given: string[] = [];
  const spared: string[] = [];
  const ends = new Map<string, { resolve(outcome: string): void; reject(error: Error): void }>();
  const queue = new JobQueue<string, string>({
    workers: 1,
    capacity: 2,
    deadline_ms: 60_000,
    ...options,
    light: (job) => !job.startsWith('heavy'),
    run: (job, worker, spare) => {
      started.push(job);
      given.push(`${job} to ${worker}`);
      if (spare) spared.push(job);
      return new Promise((resolve, reject) => ends.set(job, { resolve, reject }));
    },
  });
  const end = (job: string) => ends.get(job)!.resolve(`outcome of ${job}`);
  const breakDown = (job: string) => ends.get(job)!.reject(new Error(`${job} broke`));
  return { queue, started, given, spared, end, breakDown };
}

const code = (error: unknown) => (error as Problem).code;

describe('handing over', () => {
  test('a job starts at once when a worker is free', async () => {
    const { queue, started, end } = held();
    const { done } = queue.submit('a');
    expect(started).toEqual(['a']);
    expect([queue.running, queue.depth]).toEqual([1, 0]);
    end('a');
    expect((await done).outcome).toBe('outcome of a');
    expect((await done).queue_ms).toBeGreaterThanOrEqual(0);
    expect(queue.running).toBe(0);
  });

  test('never more jobs run than there are workers', () => {
    const { queue, started } = held({ workers: 2 });
    for (const job of ['a', 'b', 'c', 'd']) queue.submit(job);
    expect(started).toEqual(['a', 'b']);
    expect(queue.depth).toBe(2);
  });

  test('a job may use two cores only while another worker is idle and nothing waits', async () => {
    const { queue, spared, end } = held({ workers: 2 });
    const tickets = ['a', 'b', 'c'].map((job) => queue.submit(job));
    for (const [index, job] of ['a', 'b'].entries()) {
      end(job);
      await tickets[index]!.done;
    }
    expect(queue.running).toBe(1);
    queue.submit('d');
    end('c');
    await tickets[2]!.done;
    end('d');
    await new Promise(setImmediate);
    queue.submit('e');
    expect(spared).toEqual(['a', 'e']);
    const single = held();
    single.queue.submit('a');
    expect(single.spared).toEqual([]);
  });

  test('waiting jobs start in the order they came in', async () => {
    const { queue, started, end } = held({ capacity: 3 });
    const tickets = ['a', 'b', 'c', 'd'].map((job) => queue.submit(job));
    for (const [index, job] of ['a', 'b', 'c', 'd'].entries()) {
      end(job);
      await tickets[index]!.done;
    }
    expect(started).toEqual(['a', 'b', 'c', 'd']);
  });

  test('a job that fails rejects with its error and frees its worker', async () => {
    const { queue, started, breakDown } = held();
    const first = queue.submit('a');
    queue.submit('b');
    breakDown('a');
    await expect(first.done).rejects.toThrow('a broke');
    expect(started).toEqual(['a', 'b']);
  });
});

describe('prefetch', () => {
  const submitAll = (queue: ReturnType<typeof held>['queue'], jobs: string[]) =>
    jobs.map((job) => queue.submit(job));

  test('while more wait than there are workers, each is given the next one too, in order', async () => {
    const { queue, given, end } = held({ workers: 2, capacity: 10 });
    const tickets = submitAll(queue, ['a', 'b', 'c', 'd']);
    expect(given).toEqual(['a to 0', 'b to 1']);
    submitAll(queue, ['e', 'f', 'g', 'h']);
    expect(given).toEqual(['a to 0', 'b to 1', 'c to 0', 'd to 1']);
    expect([queue.running, queue.depth]).toEqual([2, 6]);
    end('b');
    await tickets[1]!.done;
    expect(given.slice(4)).toEqual(['e to 1']);
    expect([queue.running, queue.depth]).toEqual([2, 5]);
  });

  test('nothing lies behind a heavy job, and no heavy job behind another', async () => {
    const { queue, given, end } = held({ workers: 2, capacity: 10 });
    const [heavy] = submitAll(queue, ['heavy', 'a', 'b', 'heavy too', 'c', 'd', 'e', 'f']);
    expect(given).toEqual(['heavy to 0', 'a to 1', 'b to 1']);
    end('heavy');
    await heavy!.done;
    expect(given.slice(3)).toEqual(['heavy too to 0']);
    end('a');
    await expect.poll(() => given.slice(4)).toEqual(['c to 1']);

    const other = held({ workers: 2, capacity: 10 });
    submitAll(other.queue, ['a', 'b', 'heavy', 'c', 'd', 'e']);
    expect(other.given).toEqual(['a to 0', 'b to 1']);
  });

  test('what was prefetched has waited until the job before it ends, and then its worker goes on', async () => {
    const { queue, given, end } = held({ workers: 1, capacity: 10 });
    const submitted = performance.now();
    const [first, second] = submitAll(queue, ['a', 'b', 'c']);
    expect(given).toEqual(['a to 0', 'b to 0']);
    const before = performance.now();
    while (performance.now() < before + 2);
    end('a');
    await first!.done;
    const between = performance.now();
    while (performance.now() < between + 2);
    end('b');
    const { queue_ms } = await second!.done;
    expect(queue_ms).toBeGreaterThanOrEqual(2);
    expect(queue_ms).toBeLessThanOrEqual(between - submitted);
    expect([queue.running, queue.depth]).toEqual([1, 0]);
    end('c');
    await expect.poll(() => queue.running).toBe(0);
  });

  test('what was prefetched and is cancelled runs for nobody, and one that breaks down frees its place', async () => {
    const { queue, given, end, breakDown } = held({ workers: 1, capacity: 10 });
    const [first, second, third] = submitAll(queue, ['a', 'b', 'c', 'd']);
    second!.cancel(new Error('left'));
    await expect(second!.done).rejects.toThrow('left');
    expect(queue.depth).toBe(3);
    breakDown('a');
    await expect(first!.done).rejects.toThrow('a broke');
    expect(given).toEqual(['a to 0', 'b to 0', 'c to 0']);
    end('b');
    await expect.poll(() => given).toEqual(['a to 0', 'b to 0', 'c to 0']);
    end('c');
    expect((await third!.done).outcome).toBe('outcome of c');
    expect(given.at(-1)).toBe('d to 0');
  });

  test('places that prefetched jobs have are counted', async () => {
    const { queue } = held({ workers: 1, capacity: 3 });
    submitAll(queue, ['a', 'b', 'c', 'd']);
    expect(queue.full).toBe(true);
    expect(code(await queue.submit('e').done.catch((error) => error))).toBe('overloaded');
  });
});

describe('admission', () => {
  test('the queue takes what it has room for and refuses one more', async () => {
    const { queue } = held({ workers: 1, capacity: 2 });
    for (const job of ['runs', 'waits', 'waits too']) queue.submit(job);
    expect(queue.full).toBe(true);
    expect(code(await queue.submit('one more').done.catch((error) => error))).toBe('overloaded');
    expect(queue.depth).toBe(2);
  });

  test('with no places to wait, a free worker is enough', async () => {
    const { queue, end } = held({ capacity: 0 });
    expect(queue.full).toBe(false);
    const { done } = queue.submit('a');
    expect(queue.full).toBe(true);
    end('a');
    await done;
    expect(queue.full).toBe(false);
  });
});

describe('deadline', () => {
  test('a job whose deadline passes while it waits is answered and never started', async () => {
    const { queue, started, end } = held({ deadline_ms: 5 });
    const running = queue.submit('a');
    const waiting = queue.submit('b');
    const outcomes = await Promise.allSettled([running.done, waiting.done]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && code(outcome.reason))).toEqual([
      'deadline_exceeded',
      'deadline_exceeded',
    ]);
    expect(queue.depth).toBe(0);
    end('a');
    await expect.poll(() => queue.running).toBe(0);
    expect(started).toEqual(['a']);
  });

  test('a job that runs past its deadline keeps its worker until it returns', async () => {
    const { queue, started, end } = held({ deadline_ms: 5 });
    const late = await queue.submit('a').done.catch((error) => error);
    expect(code(late)).toBe('deadline_exceeded');
    expect(queue.running).toBe(1);
    queue.submit('b').done.catch(() => {});
    expect(started).toEqual(['a']);
    end('a');
    await expect.poll(() => started).toEqual(['a', 'b']);
  });
});

describe('cancelling', () => {
  test('a waiting job is dropped and never started', async () => {
    const { queue, started, end } = held();
    const first = queue.submit('a');
    const second = queue.submit('b');
    second.cancel(new Error('left'));
    await expect(second.done).rejects.toThrow('left');
    expect(queue.depth).toBe(0);
    end('a');
    await first.done;
    expect(started).toEqual(['a']);
  });

  test('a running job keeps its worker, and its outcome is thrown away', async () => {
    const { queue, end } = held();
    const ticket = queue.submit('a');
    ticket.cancel(new Error('left'));
    await expect(ticket.done).rejects.toThrow('left');
    expect(queue.running).toBe(1);
    end('a');
    await expect.poll(() => queue.running).toBe(0);
  });

  test('cancelling after the outcome changes nothing', async () => {
    const { queue, end } = held();
    const ticket = queue.submit('a');
    end('a');
    await ticket.done;
    ticket.cancel(new Error('left'));
    expect((await ticket.done).outcome).toBe('outcome of a');
  });

  test('a place that was given back can be taken again', () => {
    const { queue } = held({ capacity: 1 });
    queue.submit('a');
    const waiting = queue.submit('b');
    expect(queue.full).toBe(true);
    waiting.done.catch(() => {});
    waiting.cancel(new Error('left'));
    expect(queue.full).toBe(false);
  });
});

test('thousands of jobs through few workers are each done once, in order', async () => {
  const started: number[] = [];
  const queue = new JobQueue<number, number>({
    workers: 3,
    capacity: 5000,
    deadline_ms: 60_000,
    run: async (job) => {
      started.push(job);
      return job;
    },
  });
  const jobs = Array.from({ length: 5000 }, (_, index) => index);
  const done = await Promise.all(jobs.map((job) => queue.submit(job).done));
  expect(done.map(({ outcome }) => outcome)).toEqual(jobs);
  expect(started).toEqual(jobs);
});

test('a refusal is a Problem of the error table', async () => {
  const { queue } = held({ workers: 1, capacity: 0 });
  queue.submit('a');
  await expect(queue.submit('b').done).rejects.toBeInstanceOf(Problem);
});
