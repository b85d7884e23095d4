import { Problem } from '../errors.ts';
import type { AnalyseOptions } from './addon.ts';
import { FairQueue } from './fair-queue.ts';
import type { Outcome, WorkJob, WorkOutcome } from './pool.ts';

/** What one place in the queue stands for; the jobs of a request are of one kind. */
export type Job = { image: Uint8Array; options: AnalyseOptions } | WorkJob;

export interface Origin {
  /** Whose it is: the id of a key. */
  owner: string;
  request_id: string;
  /** performance.now() when the last byte of the request had arrived. The deadline counts from then; by default from now. */
  arrived?: number;
  /**
   * A further step of a request that the queue has admitted before. It goes before the other requests of its key, is never rejected
   * because the queue is full, and evicts nobody. Pass the request's own `arrived`, so that both steps share one deadline.
   */
  continues?: boolean;
}

export interface Done<One> {
  /** They are in the order of the jobs. */
  outcomes: One[];
  /** Milliseconds between submit and the start of the first job. */
  queue_ms: number;
}

export interface Ticket<One> {
  /** Rejects with a Problem (overloaded, deadline_exceeded) or with the error of `run`. */
  readonly done: Promise<Done<One>>;
  /** Resolves when no worker reads or will read the images: their memory may be discarded. Never rejects. */
  readonly idle: Promise<void>;
  /** Drops waiting images and cancels running ones. `done` rejects with `reason`. */
  cancel(reason: Error): void;
}

/**
 * `failed`: `run` rejected. `overdue`: they ran when the deadline passed. `stuck`: they still run long after they were
 * cancelled, and hold their worker.
 */
export interface JobFault {
  kind: 'failed' | 'overdue' | 'stuck';
  jobs: readonly Job[];
  request_id: string;
  reason?: unknown;
}

/**
 * A bounded queue of jobs, mostly images, in front of the pool, fair between keys (fair-queue.ts). One key alone may use all places; when others
 * come to a full queue, the key that holds most makes room. The images of a request go to any free workers: two idle ones
 * take one each. While other requests wait too, a worker gets two images of a request at once, which saves a message, unless
 * they take long.
 * Piscina gets images only when a worker is free, because its own queue moves its head to the tail when none is.
 *
 * Only requests whose body has arrived take places in the queue: a slow upload would otherwise keep workers idle in front of
 * a full queue. So admission is checked twice: `isFull` before the body is read, to refuse early, and then `submit` decides.
 */
interface QueueOptions {
  /** Images that may be processed at once. */
  workers: number;
  /** Images that may run or wait. A request that finds one free place is taken with all of its images. */
  capacity: number;
  /** Maximum time from `arrived` to the last outcome; then the response is 504 deadline_exceeded. */
  deadline_ms: number;
  /** After this time without an end a job that was cancelled counts as stuck. */
  stuck_ms: number;
  /**
   * Processes one or two images of one request on one worker; outcomes in their order. `slot`: 0 to `workers` − 1, not used
   * by any other call at the time.
   */
  run(jobs: readonly Job[], slot: number): Promise<readonly JobOutcome[]>;
  /** The outcomes of that slot are no longer needed: `run` should end soon, with any. */
  cancel(slot: number): void;
  /** Whether or not anybody waits for the answer. */
  onJobFault?(fault: JobFault): void;
  /** The time in milliseconds that images are charged by; performance.now() by default. */
  now?(): number;
}

type JobOutcome = Outcome | WorkOutcome;

const nowhere: Origin = { owner: '', request_id: '' };

/** A request in the queue. */
class Submission {
  readonly owner: string;
  readonly request_id: string;
  readonly continues: boolean;
  readonly jobs: readonly Job[];
  readonly outcomes: JobOutcome[];
  /** The first one that waits; those before it were given to workers. */
  next = 0;
  left: number;
  /** What runs, by slot. */
  readonly running = new Map<number, readonly Job[]>();
  readonly submitted = performance.now();
  started: number | undefined;
  /** That of the deadline until it is over, then the one that finds what is stuck. */
  timer: NodeJS.Timeout | undefined;
  over = false;
  resolve!: (done: Done<JobOutcome>) => void;
  reject!: (error: unknown) => void;
  onIdle!: () => void;
  readonly done = new Promise<Done<JobOutcome>>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
  readonly idle = new Promise<void>((resolve) => {
    this.onIdle = resolve;
  });

  constructor(jobs: readonly Job[], { owner, request_id, continues = false }: Origin) {
    this.owner = owner;
    this.request_id = request_id;
    this.continues = continues;
    this.jobs = jobs;
    this.outcomes = new Array<JobOutcome>(jobs.length);
    this.left = jobs.length;
  }

  get waiting(): number {
    return this.jobs.length - this.next;
  }

  get untouched(): boolean {
    return this.next === 0;
  }
}

export class JobQueue {
  readonly #options: QueueOptions;
  readonly #fair = new FairQueue<Submission>();
  readonly #free: number[];
  readonly #stuck = new Set<number>();
  /** Busy time until `#counted`. */
  #busy_ms = 0;
  #counted = performance.now();

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#free = Array.from({ length: options.workers }, (_, slot) => slot);
  }

  get size(): number {
    return this.running + this.#fair.waiting;
  }

  /** Busy workers, including those whose client got a 504 or has left. */
  get running(): number {
    return this.#options.workers - this.#free.length;
  }

  /** Busy workers that have not ended long after their job was cancelled. */
  get stuck(): number {
    return this.#stuck.size;
  }

  /** Busy time of all workers together, in milliseconds. */
  get busy_ms(): number {
    return this.#busy_ms + this.running * (performance.now() - this.#counted);
  }

  /** Whether a further request of this key would be refused. */
  isFull(owner = ''): boolean {
    return this.#toPushOut(owner, 1) === undefined;
  }

  /** The caller knows of which kind the outcomes of its jobs are. */
  submit<One extends JobOutcome>(jobs: readonly Job[], origin: Origin = nowhere): Ticket<One> {
    const victims = origin.continues ? [] : this.#toPushOut(origin.owner, jobs.length);
    if (victims === undefined) {
      return { done: Promise.reject(new Problem('overloaded')), idle: Promise.resolve(), cancel: () => {} };
    }
    for (const victim of victims) this.#end(victim, new Problem('overloaded'));
    const request = new Submission(jobs, origin);
    const gone_ms = origin.arrived === undefined ? 0 : performance.now() - origin.arrived;
    request.timer = setTimeout(() => this.#expire(request), this.#options.deadline_ms - gone_ms);
    if (jobs.length === 0) this.#finish(request);
    else this.#fair.add(request);
    this.#assign();
    const done = request.done as Promise<Done<One>>;
    return { done, idle: request.idle, cancel: (reason) => this.#end(request, reason) };
  }

  /** What has to leave so that a request of so many jobs finds room; undefined when it is refused. */
  #toPushOut(owner: string, jobs: number): Submission[] | undefined {
    const lacking = this.size - this.#options.capacity + 1;
    return lacking <= 0 ? [] : this.#fair.victims(owner, Math.min(jobs, lacking));
  }

  #assign(): void {
    while (this.#free.length > 0) {
      const { next } = this.#fair;
      if (next === undefined) return;
      const { request, allowed } = next;
      // Two at once spare a message, but only where another request would use the other worker.
      const count = this.#fair.requests > 1 ? allowed : 1;
      const from = request.next;
      request.next += count;
      this.#fair.started(request, count);
      void this.#run(request, from, request.next);
    }
  }

  /** The slot is held until `run` returns, even when the client already got a 504. */
  async #run(request: Submission, from: number, to: number): Promise<void> {
    this.#count();
    const { now = () => performance.now() } = this.#options;
    const began = now();
    const slot = this.#free.shift()!;
    const jobs = request.jobs.slice(from, to);
    request.running.set(slot, jobs);
    request.started ??= performance.now();
    let outcomes: readonly JobOutcome[] = [];
    let fault: { reason: unknown } | undefined;
    try {
      outcomes = await this.#options.run(jobs, slot);
    } catch (reason) {
      fault = { reason };
    }
    this.#count();
    this.#free.push(slot);
    this.#fair.release(request.owner, jobs.length, now() - began);
    request.running.delete(slot);
    this.#stuck.delete(slot);
    if (fault) {
      this.#report('failed', request, jobs, fault.reason);
      this.#end(request, fault.reason);
    } else {
      for (const [at, outcome] of outcomes.entries()) request.outcomes[from + at] = outcome;
      request.left -= jobs.length;
      if (request.left === 0) this.#finish(request);
    }
    if (request.over && request.running.size === 0) {
      clearTimeout(request.timer);
      request.onIdle();
    }
    this.#assign();
  }

  #finish(request: Submission): void {
    if (request.over) return;
    request.over = true;
    clearTimeout(request.timer);
    const started = request.started ?? request.submitted;
    request.resolve({ outcomes: request.outcomes, queue_ms: started - request.submitted });
    if (request.running.size === 0) request.onIdle();
  }

  /** Rejects `done`, drops what waits and cancels what runs. */
  #end(request: Submission, error: unknown): void {
    if (request.over) return;
    request.over = true;
    clearTimeout(request.timer);
    this.#fair.drop(request);
    for (const slot of request.running.keys()) this.#options.cancel(slot);
    request.reject(error);
    if (request.running.size === 0) request.onIdle();
    else request.timer = setTimeout(() => this.#markStuck(request), this.#options.stuck_ms).unref();
  }

  #expire(request: Submission): void {
    const running = [...request.running.values()];
    this.#end(request, new Problem('deadline_exceeded'));
    for (const jobs of running) this.#report('overdue', request, jobs);
  }

  /** Whatever still runs of a request that was cancelled long ago. */
  #markStuck(request: Submission): void {
    for (const [slot, jobs] of request.running) {
      this.#stuck.add(slot);
      this.#report('stuck', request, jobs);
    }
  }

  #report(kind: JobFault['kind'], { request_id }: Submission, jobs: readonly Job[], reason?: unknown): void {
    this.#options.onJobFault?.({ kind, jobs, request_id, reason });
  }

  /** Call it before the number of running images changes. */
  #count(): void {
    this.#busy_ms = this.busy_ms;
    this.#counted = performance.now();
  }
}
