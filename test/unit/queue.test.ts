import { describe, expect, test } from 'vitest';
import { type Finish, JobQueue, type Origin } from '../../src/engine/queue.ts';
import { Problem } from '../../src/errors.ts';

/**
 * Tests the queue. test/slow/server/workers.test.ts and stuck-worker.test.ts test what a client observes: a full queue,
 * the deadline, crashed and stuck workers.
 */

interface Held extends Partial<Record<'workers' | 'capacity' | 'deadline_ms' | 'stuck_ms', number>> {
  /** Estimated minimum time of each job in ms; 0 if absent. */
  estimates?: Record<string, number>;
  replace?(slot: number): boolean;
}

/** Makes a queue whose jobs are names and end when the test ends them. */
function held({ estimates = {}, ...options }: Held = {}) {
  const faults: string[] = [];
  const started: string[] = [];
  const cancelled: string[] = [];
  const slots = new Map<number, string>();
  let now_ms = 0;
  const ends = new Map<string, { resolve(value: undefined): void; reject(error: Error): void }>();
  const queue = new JobQueue<string, string>({
    workers: 1,
    capacity: 9,
    // Some requests never end. The deadline is so long that none expires while other tests run.
    deadline_ms: 2 ** 31 - 1,
    stuck_ms: 5,
    now: () => now_ms,
    estimate_ms: (name) => estimates[name] ?? 0,
    ...options,
    run: (names, slot) => {
      const job = names.join('+');
      started.push(job);
      expect(slots.has(slot)).toBe(false);
      slots.set(slot, job);
      return new Promise((resolve, reject) => {
        const leave =
          <T>(settle: (value: T) => void) =>
          (value: T) => {
            if (slots.get(slot) === job) slots.delete(slot);
            settle(value);
          };
        const outcomes = names.map((name) => `outcome of ${name}`);
        ends.set(job, { resolve: leave(() => resolve(outcomes)), reject: leave(reject) });
      });
    },
    cancel: (slot) => cancelled.push(slots.get(slot)!),
    replace: (slot) => {
      const isReplaced = options.replace?.(slot) ?? false;
      if (isReplaced) slots.delete(slot);
      return isReplaced;
    },
    onJobFault: ({ kind, jobs, request_id, reason }) =>
      faults.push([kind, ...jobs, request_id, ...(reason ? [(reason as Error).message] : [])].join(' ')),
  });
  /** Advances the clock, by default by 1 ms per image, and ends the job. */
  const end = async (job: string, ms = job.split('+').length) => {
    now_ms += ms;
    ends.get(job)!.resolve(undefined);
    await new Promise(setImmediate);
  };
  const breakDown = (job: string) => ends.get(job)!.reject(new Error(`${job} broke`));
  const submit = (names: readonly string[], origin?: Origin, finish?: Finish<string, string>) =>
    queue.submit(names, origin, finish);
  const pass = (ms: number) => {
    now_ms += ms;
  };
  return { queue, submit, started, cancelled, faults, end, breakDown, pass };
}

const from = (owner: string): Origin => ({ owner, request_id: '' });
const code = (error: unknown) => (error as Problem).code;
const isIdle = async (ticket: { idle: Promise<void> }) =>
  Promise.race([ticket.idle.then(() => true), new Promise((resolve) => setImmediate(() => resolve(false)))]);

describe('JobQueue', () => {
  // In a script, OWNER:IMAGES submits images, and !JOB ends a job after 1 ms per image or after @MS.
  test.each([
    ['to all free workers', 2, 'a:a1,a2,a3', 'a1 a2'],
    ['in the order of arrival', 1, 'k:a1,a2 k:b1 k:c1,c2 !a1 !a2 !b1 !c1', 'a1 a2 b1 c1 c2'],
    [
      'one match per key in turn, whatever each key has sent',
      1,
      'flood:a1,a2 flood:b1,b2 flood:c1,c2 other:x1,x2,x3 third:y1 !a1 !a2 !x1+x2 !y1 !b1+b2 !x3 !c1',
      'a1 a2 x1+x2 y1 b1+b2 x3 c1 c2',
    ],
    [
      'of a key that had nothing waiting before others, but only once per round',
      1,
      'flood:a1,a2 flood:b1,b2 flood:c1,c2 flood:d1,d2 !a1 !a2 one:x1,x2 !b1+b2 two:y1,y2 !x1+x2 one:x3 !y1+y2 two:y3 !c1+c2 !x3 !y3',
      'a1 a2 b1+b2 x1+x2 y1+y2 c1+c2 x3 y3 d1',
    ],
    [
      'one at a time if they take long, so that no key waits for two',
      1,
      'big:a1,a2 big:b1,b2 big:c1,c2 !a1@300 one:x1,x2 !a2@300 !x1@300 !b1@300',
      'a1 a2 x1 b1 x2',
    ],
    [
      'without credit for the time in which a key had nothing waiting',
      1,
      'old:o1 flood:a1 flood:b1 flood:c1 flood:d1 flood:e1 flood:f1 !o1@40 !a1@40 !b1@40 !c1@40 old:o2 old:o3 old:o4 old:o5 !d1@40 !o2@40 !o3@40 !e1@40',
      'o1 a1 b1 c1 d1 o2 o3 e1 f1',
    ],
    [
      'of a key that had more than its share after others, even after a while with nothing waiting',
      1,
      'big:a1 one:w1,w2 one:x1,x2 one:y1,y2 one:z1,z2 !a1@300 big:b1 !w1+w2@80 !x1+x2@80 !y1+y2@80',
      'a1 w1+w2 x1+x2 y1+y2 z1+z2',
    ],
    [
      'of a key with many requests, however many other keys arrive one after another',
      1,
      'flood:a1,a2 flood:b1,b2 !a1 k1:k1 k2:k2 !a2 k3:k3 !k1 k4:k4 !k2 k5:k5 !k3 k6:k6 !k4 k7:k7 !k5 k8:k8',
      'a1 a2 k1 k2 k3 k4 k5 b1+b2',
    ],
  ])('passes images %s', async (_what, workers, script, expected) => {
    const { submit, started, end } = held({ workers, capacity: 99 });
    for (const step of script.split(' ')) {
      const [owner, images] = step.split(':');
      const [job, ms] = step.slice(1).split('@');
      if (images === undefined) await end(job!, ms === undefined ? ms : Number(ms));
      else submit(images.split(','), { owner: owner!, request_id: '' });
    }
    expect(started.join(' ')).toBe(expected);
  });

  test('returns outcomes in the order of the images, whichever ends first', async () => {
    const { queue, submit, end } = held({ workers: 2 });
    const [, asked] = [['a1', 'a2'], ['b1', 'b2', 'b3'], ['c']].map((request) => submit(request));
    for (const job of ['a1', 'a2', 'b3', 'c', 'b1+b2']) await end(job);
    const results = ['outcome of b1', 'outcome of b2', 'outcome of b3'];
    expect((await asked!.done).outcomes).toEqual(results);
    expect([queue.size, queue.running]).toEqual([0, 0]);
  });

  test('fails the whole request of an image whose worker crashes, and frees the worker', async () => {
    const { submit, started, cancelled, end, breakDown } = held({ workers: 2 });
    const ticket = submit(['a1', 'a2', 'a3']);
    submit(['b']);
    await breakDown('a1');
    await expect(ticket.done).rejects.toThrow('a1 broke');
    expect(cancelled).toEqual(['a2']);
    await expect.poll(() => started).toEqual(['a1', 'a2', 'b']);
    expect(await isIdle(ticket)).toBe(false);
    await end('a2');
    expect(await isIdle(ticket)).toBe(true);
  });

  test('completes a request without images', async () => {
    const { submit } = held();
    const ticket = submit([]);
    expect((await ticket.done).outcomes).toEqual([]);
    expect(await isIdle(ticket)).toBe(true);
  });
});

/** Simulates keys that always have `matches` pending matches. Each image takes `image_ms`. */
async function share(workers: number, keys: Record<string, { image_ms: number; matches: number }>) {
  let now_ms = 0;
  const running: { owner: string; end_ms: number; resolve(): void }[] = [];
  const queue = new JobQueue<string, string>({
    workers,
    capacity: 999,
    deadline_ms: 2 ** 31 - 1,
    now: () => now_ms,
    run: (jobs) =>
      new Promise((resolve) => {
        const owner = jobs[0]!;
        const end_ms = now_ms + keys[owner]!.image_ms * jobs.length;
        running.push({ owner, end_ms, resolve: () => resolve(jobs) });
      }),
    cancel: () => {},
  });
  const waits = new Map(Object.keys(keys).map((owner) => [owner, [] as number[]]));
  const send = (owner: string) => {
    const sent_ms = now_ms;
    void queue.submit([owner, owner], from(owner)).done.then(() => {
      waits.get(owner)!.push(now_ms - sent_ms);
      send(owner);
    });
  };
  for (const [owner, { matches }] of Object.entries(keys)) for (let n = 0; n < matches; n++) send(owner);
  while (now_ms < 60_000) {
    running.sort((a, b) => a.end_ms - b.end_ms);
    const next = running.shift()!;
    now_ms = next.end_ms;
    next.resolve();
    await new Promise(setImmediate);
  }
  return Object.fromEntries(
    [...waits].map(([owner, all]) => {
      const sorted = all.sort((a, b) => a - b);
      const busy_ms = 2 * all.length * keys[owner]!.image_ms;
      return [owner, { part: busy_ms / (workers * now_ms), median_ms: sorted[sorted.length >> 1]! }];
    }),
  );
}

test.each([
  [1, 20, 20],
  [1, 20, 400],
  [2, 20, 2000],
  [4, 5, 600],
])('shares the time of %i workers between keys whose images take %i and %i ms', async (...given) => {
  const [workers, small_ms, large_ms] = given;
  const flood = (image_ms: number) => ({ image_ms, matches: 4 * workers });
  const { small, large } = await share(workers, { small: flood(small_ms), large: flood(large_ms) });
  expect(small!.part).toBeGreaterThan(0.45);
  expect(large!.part).toBeGreaterThan(0.45);
  // The limit is twice the time of the key's own match, plus one job of the others.
  const { one } = await share(workers, {
    one: { image_ms: small_ms, matches: 1 },
    large: flood(large_ms),
  });
  expect(one!.median_ms).toBeLessThanOrEqual(4 * small_ms + Math.max(large_ms, 40));
});

describe('the last free worker', () => {
  const flood = (submit: ReturnType<typeof held>['submit']) => {
    for (const name of ['a', 'b', 'c', 'd']) submit([`${name}1`, `${name}2`], from('flood'));
  };

  test('is used by the only key', () => {
    const { submit, started } = held({ workers: 3 });
    flood(submit);
    expect(started).toEqual(['a1', 'a2', 'b1']);
  });

  test('is kept free for another key that had a request within the last 10 s', async () => {
    const { queue, submit, started, end, pass } = held({ workers: 3, capacity: 99 });
    submit(['x'], from('other'));
    await end('x');
    flood(submit);
    expect([queue.running, started]).toEqual([2, ['x', 'a1', 'a2']]);
    await end('a1');
    expect(queue.running).toBe(2);
    submit(['y'], from('other'));
    expect(started.at(-1)).toBe('y');
    await end('y');
    pass(9_990);
    await end('a2');
    expect(queue.running).toBe(2);
    pass(10);
    await end(started.at(-1)!);
    expect(queue.running).toBe(3);
  });

  test('is kept free for another key whose body is still arriving', async () => {
    const { queue, submit, end, pass, started } = held({ workers: 2, capacity: 99 });
    const responded = queue.arrived('other');
    flood(submit);
    pass(60_000);
    await end('a1');
    expect(queue.running).toBe(1);
    responded();
    pass(10_001);
    await end(started.at(-1)!);
    expect(queue.running).toBe(2);
  });

  test.each([
    ['the only one', 1, []],
    ['the only one that runs', 2, [1]],
  ])('is used by any key if it is %s', (_what, workers, down) => {
    const { queue, submit, started } = held({ workers });
    for (const slot of down) queue.workerDown(slot);
    queue.arrived('other');
    flood(submit);
    expect(started).toEqual(['a1']);
  });
});

describe('a turn', () => {
  const turns = async (estimates: Record<string, number>) => {
    const { submit, started, end } = held({ capacity: 99, estimates: { x: 2000, ...estimates } });
    submit(['x'], from('other'));
    submit(['a1', 'a2'], from('key'));
    submit(['y1', 'y2'], from('other'));
    for (let at = 0; at < started.length; at++) await end(started[at]!);
    return started.join(' ');
  };

  test('includes two images of a request, or one if their estimated time is long', async () => {
    expect(await turns({ a1: 50, a2: 50 })).toBe('x a1+a2 y1 y2');
    expect(await turns({ a1: 50, a2: 51 })).toBe('x a1 y1+y2 a2');
    expect(await turns({ a1: 2000 })).toBe('x a1 y1+y2 a2');
  });
});

describe('a final job of a request', () => {
  test('runs on the worker of the last image, before any other request', async () => {
    const { queue, submit, started, end } = held({ workers: 2 });
    const ticket = submit(['a1', 'a2'], from('key'), (outcomes) => outcomes.join());
    submit(['x1', 'x2'], from('other'));
    submit(['b'], from('key'));
    await end('a2');
    expect(started).toEqual(['a1', 'a2', 'x1+x2']);
    await end('a1');
    const last = 'outcome of a1,outcome of a2';
    expect([started.at(-1), queue.running]).toEqual([last, 2]);
    await end(last);
    expect((await ticket.done).outcomes).toEqual(['outcome of a1', 'outcome of a2']);
    expect(started.at(-1)).toBe('b');
  });

  test('does not run for a cancelled request, or if there is nothing to do', async () => {
    const { queue, submit, started, end } = held();
    const left = submit(['a'], from('key'), () => 'never');
    left.cancel(new Error('left'));
    await expect(left.done).rejects.toThrow('left');
    const ticket = submit(['b'], from('key'), () => undefined);
    ticket.done.catch(() => {});
    await end('a');
    await end('b');
    expect([started, queue.running]).toEqual([['a', 'b'], 0]);
  });

  test('fails its request if the worker crashes', async () => {
    const { queue, submit, faults, end, breakDown } = held();
    const ticket = submit(['a'], from('key'), () => 'last');
    await end('a');
    breakDown('last');
    await expect(ticket.done).rejects.toThrow('last broke');
    await ticket.idle;
    expect([faults, queue.running]).toEqual([['failed last  last broke'], 0]);
  });

  test('is reported in place of the images if it is stuck', async () => {
    const { submit, faults, end } = held({ stuck_ms: 1 });
    const ticket = submit(['a'], { owner: 'key', request_id: 'r1' }, () => 'last');
    await end('a');
    ticket.cancel(new Error('left'));
    await expect(ticket.done).rejects.toThrow('left');
    await expect.poll(() => faults).toEqual(['stuck last r1']);
    await end('last');
    await ticket.idle;
  });
});

describe('a stuck job', () => {
  const stick = async (replace: () => boolean) => {
    const held_ = held({ stuck_ms: 1, replace });
    const ticket = held_.submit(['a'], { owner: 'key', request_id: 'r1' });
    held_.submit(['b'], from('key'));
    ticket.cancel(new Error('left'));
    await expect(ticket.done).rejects.toThrow('left');
    await expect.poll(() => held_.faults).toEqual(['stuck a r1']);
    return { ...held_, ticket };
  };

  test('leaves its slot to another worker, and is counted until it ends', async () => {
    const { queue, ticket, started, end, faults } = await stick(() => true);
    expect([queue.stuck, queue.blocked, queue.running]).toEqual([1, 0, 0]);
    queue.workerUp(0);
    expect(started).toEqual(['a', 'b']);
    expect(await isIdle(ticket)).toBe(false);
    await end('a');
    expect([queue.stuck, await isIdle(ticket), queue.running]).toEqual([0, true, 1]);
    await end('b');
    expect([queue.running, faults]).toEqual([0, ['stuck a r1']]);
  });

  test('blocks its worker if there is no replacement, until it ends', async () => {
    const { queue, started, end } = await stick(() => false);
    expect([queue.stuck, queue.blocked, queue.running]).toEqual([1, 1, 1]);
    await end('a');
    expect([queue.stuck, queue.blocked, started]).toEqual([0, 0, ['a', 'b']]);
  });
});

test('passes no job to a worker that is down, and passes waiting jobs to one that starts', async () => {
  const { queue, submit, started, breakDown } = held({ workers: 2 });
  queue.workerDown(0);
  const dying = submit(['a'], from('key'));
  submit(['b'], from('key'));
  expect(started).toEqual(['a']);
  queue.workerDown(1);
  breakDown('a');
  await expect(dying.done).rejects.toThrow('a broke');
  expect([started, queue.running]).toEqual([['a'], 0]);
  queue.workerUp(0);
  expect(started).toEqual(['a', 'b']);
});

describe('fairness between keys', () => {
  const pair = (name: string) => [`${name}1`, `${name}2`];

  test('lets one key use all places, and evicts its newest requests for others', async () => {
    const { queue, submit } = held({ capacity: 8 });
    const flood = ['a', 'b', 'c', 'd'].map((name) => submit(pair(name), from('flood')));
    expect([queue.isFull('flood'), queue.isFull('other')]).toEqual([true, false]);
    const first = submit(pair('x'), from('other'));
    expect(code(await flood[3]!.done.catch((error) => error))).toBe('overloaded');
    expect([queue.size, await isIdle(flood[3]!)]).toEqual([8, true]);
    submit(pair('y'), from('other'));
    expect(code(await flood[2]!.done.catch((error) => error))).toBe('overloaded');
    // Each key has its share now.
    const full = ['flood', 'other', 'third'].filter((owner) => queue.isFull(owner));
    expect(full).toEqual(['flood', 'other']);
    await expect(submit(pair('z'), from('other')).done).rejects.toThrow(Problem);
    first.done.catch(() => {});
    first.cancel(new Error('left'));
    expect(queue.isFull('other')).toBe(false);
  });

  test('never evicts a request that has begun', async () => {
    const { queue, submit } = held({ capacity: 3 });
    submit(['a1', 'a2', 'a3'], from('flood'));
    expect(queue.isFull('other')).toBe(true);
  });

  test("admits a large request of another key, although it exceeds the queue's length", async () => {
    const { queue, submit } = held({ capacity: 4 });
    const flood = ['a', 'b'].map((name) => submit(pair(name), from('flood')));
    submit(
      Array.from({ length: 17 }, (_item, index) => `x${index}`),
      from('other'),
    );
    expect(code(await flood[1]!.done.catch((error) => error))).toBe('overloaded');
    const before = queue.size;
    // The new request is rejected, because nothing can be evicted. A worker has begun the first request, and without
    // its large request the other key would have fewer places than the new key.
    submit(pair('y'), from('third')).done.catch(() => {});
    expect(queue.size).toBeLessThanOrEqual(before);
  });

  test('frees every place, whatever arrives, is cancelled or ends', async () => {
    const { queue, submit, started, end } = held({ workers: 2, capacity: 10 });
    const tickets = Array.from({ length: 60 }, (_item, index) => {
      const names = Array.from({ length: 1 + (index % 3) }, (_item, at) => `p${index}.${at}`);
      const ticket = submit(names, from(`key ${index % 4}`));
      ticket.done.catch(() => {});
      return ticket;
    });
    for (const ticket of tickets.slice(0, 60).filter((_item, index) => index % 5 === 0))
      ticket.cancel(new Error('left'));
    for (let at = 0; at < started.length; at++) await end(started[at]!);
    await Promise.all(tickets.map(({ idle }) => idle));
    expect([queue.size, queue.running, queue.isFull('key 0')]).toEqual([0, 0, false]);
  });
});

const origin = { owner: 'key', request_id: 'r1' };

test('reports the request id of images that exceed the deadline, and of images that fail after the request ended', async () => {
  const { submit, faults, breakDown } = held({ workers: 2, deadline_ms: 5, stuck_ms: 60_000 });
  const left = submit(['a'], origin);
  left.cancel(new Error('left'));
  const late = submit(['b'], origin);
  await Promise.allSettled([left.done, late.done]);
  expect(faults).toEqual(['overdue b r1']);
  await breakDown('a');
  await breakDown('b');
  await Promise.all([left.idle, late.idle]);
  expect(faults).toEqual(['overdue b r1', 'failed a r1 a broke', 'failed b r1 b broke']);
});

test('counts the deadline from the last byte of the request', async () => {
  const { submit, started } = held({ deadline_ms: 60_000 });
  const late = submit(['a'], { ...origin, arrived: performance.now() - 60_000 });
  await expect(late.done).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(started).toEqual(['a']);
});

describe('cancelling', () => {
  test('drops waiting jobs, and cancels running ones, which keep their worker until they return', async () => {
    const { queue, submit, started, cancelled, end } = held();
    const ticket = submit(['a1', 'a2']);
    submit(['b']);
    ticket.cancel(new Error('left'));
    await expect(ticket.done).rejects.toThrow('left');
    expect([cancelled, queue.size, queue.running]).toEqual([['a1'], 2, 1]);
    expect(await isIdle(ticket)).toBe(false);
    await end('a1');
    expect(started).toEqual(['a1', 'b']);
    expect(await isIdle(ticket)).toBe(true);
  });

  test('changes nothing after the outcome', async () => {
    const { submit, cancelled, end } = held();
    const ticket = submit(['a']);
    await end('a');
    ticket.cancel(new Error('left'));
    expect((await ticket.done).outcomes).toEqual(['outcome of a']);
    expect(cancelled).toEqual([]);
  });
});
