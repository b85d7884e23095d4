import { Problem } from '../errors.ts';
import { FairQueue } from './fair-queue.ts';

export interface Origin {
  /** Owner of the request: the id of a key, or the IP address of a client without a key. */
  owner: string;
  request_id: string;
  /** performance.now() at the last byte of the request, from which the deadline counts; by default now. */
  arrived?: number;
}

export interface Done<Outcome> {
  /** Outcomes in the order of the jobs. */
  outcomes: Outcome[];
  /** Milliseconds between submit and the start of the first job. */
  queue_ms: number;
}

export interface Ticket<Result> {
  /** Rejects with a Problem (overloaded, deadline_exceeded), the error of `run` or the reason of `cancel`. */
  readonly done: Promise<Result>;
  /** Resolves when the memory of the images may be reused, because no worker will read it again. Never rejects. */
  readonly idle: Promise<void>;
  /** Drops waiting images and cancels running ones. `done` rejects with `reason`. */
  cancel(reason: Error): void;
}

/** Returns an optional last job, given the outcomes of the others. It runs on the worker of the job that ended last. */
export type Finish<Job, Outcome> = (outcomes: readonly Outcome[]) => Job | undefined;

/**
 * `failed`: `run` rejected. `overdue`: the jobs were running at the deadline. `stuck`: the jobs are still running
 * `stuck_ms` after they were cancelled, and occupy their worker.
 */
export interface JobFault<Job> {
  kind: 'failed' | 'overdue' | 'stuck';
  jobs: readonly Job[];
  request_id: string;
  reason?: unknown;
}

interface QueueOptions<Job, Outcome> {
  /** Number of workers. All workers are up at first. */
  workers: number;
  /** Maximum number of running calls and waiting images. If one place is free, a whole request is accepted. */
  capacity: number;
  /** Maximum time from `arrived` to the last outcome. After it the request is rejected with deadline_exceeded. */
  deadline_ms: number;
  /** A cancelled job that has not ended after this time is stuck. */
  stuck_ms?: number;
  /**
   * Runs jobs of one request on one worker, and resolves to the outcomes in their order. `slot`: 0 to `workers` − 1,
   * not in use by another call.
   */
  run(jobs: readonly Job[], slot: number): Promise<readonly Outcome[]>;
  /**
   * Called when the outcomes of this slot are no longer needed. `run` should then end soon, with arbitrary
   * outcomes.
   */
  cancel(slot: number): void;
  /**
   * Called when the job of this slot is stuck. Returns true if the slot gets another worker. The slot is then down
   * until `workerUp`, and the stuck job no longer counts as running.
   */
  replace?(slot: number): boolean;
  /** Returns the estimated minimum time of a job in milliseconds, before it runs; 0 by default. */
  estimate_ms?(job: Job): number;
  /** Called for every fault, even if the response has been sent. */
  onJobFault?(fault: JobFault<Job>): void;
  /** Clock for the time that a key's images take; performance.now() by default. */
  now?(): number;
}

const nowhere: Origin = { owner: '', request_id: '' };

const defaultStuck_ms = 60_000;

/** A call of `run` on a worker. A call for the last job of the request may follow it. */
interface Run<Job> {
  readonly slot: number;
  /** The jobs of the current call. */
  jobs: readonly Job[];
  /** True if the call is still running `stuck_ms` after it was cancelled. */
  stuck: boolean;
  /** True if the slot has another worker. */
  replaced: boolean;
  /** Records the end of the call in the fair queue. */
  release(): void;
}

/** A request in the queue. */
class Submission<Job, Outcome> {
  readonly owner: string;
  readonly request_id: string;
  readonly jobs: readonly Job[];
  readonly finish: Finish<Job, Outcome> | undefined;
  readonly #estimate_ms: (job: Job) => number;
  readonly outcomes: Outcome[];
  /** Index of the first waiting job. Workers have started the jobs before it. */
  next = 0;
  left: number;
  readonly running = new Set<Run<Job>>();
  readonly submitted = performance.now();
  started: number | undefined;
  /** Timer of the deadline, later of the check for stuck jobs. */
  timer: NodeJS.Timeout | undefined;
  over = false;
  resolve!: (done: Done<Outcome>) => void;
  reject!: (error: unknown) => void;
  onIdle!: () => void;
  readonly done = new Promise<Done<Outcome>>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
  readonly idle = new Promise<void>((resolve) => {
    this.onIdle = resolve;
  });

  constructor(
    jobs: readonly Job[],
    { owner, request_id }: Origin,
    finish: Finish<Job, Outcome> | undefined,
    estimate_ms: (job: Job) => number,
  ) {
    this.owner = owner;
    this.request_id = request_id;
    this.jobs = jobs;
    this.finish = finish;
    this.#estimate_ms = estimate_ms;
    this.outcomes = new Array<Outcome>(jobs.length);
    this.left = jobs.length;
  }

  get waiting(): number {
    return this.jobs.length - this.next;
  }

  get untouched(): boolean {
    return this.next === 0;
  }

  estimate_ms(position: number): number {
    return this.#estimate_ms(this.jobs[this.next + position]!);
  }
}

/** A worker, which gets jobs while it is up. */
interface Slot<Job> {
  up: boolean;
  run: Run<Job> | undefined;
}

/**
 * A bounded queue of jobs, mostly images, that is fair between keys (fair-queue.ts). One key alone may use all places.
 * If the queue is full, a request of another key displaces requests of the key with the most places. The images of a
 * request may run on different workers. While other requests wait, one worker gets two images of a request at once,
 * which saves a message. Large images are assigned one by one.
 *
 * Only requests whose body has arrived occupy places. A slow upload would otherwise keep workers idle while the queue
 * is full. Callers use `isFull` to reject requests before the body is read; `submit` decides.
 */
export class JobQueue<Job, Outcome> {
  readonly #options: QueueOptions<Job, Outcome>;
  readonly #fair: FairQueue<Submission<Job, Outcome>>;
  readonly #slots: Slot<Job>[];
  /** Slots that are up and idle, in descending order of idle time. */
  readonly #free: number[];
  readonly #stuck = new Set<Run<Job>>();
  /** Number of workers that are up, busy or not. */
  #up: number;
  running = 0;
  /** Busy time until `#counted`. */
  #busy_ms = 0;
  #counted = performance.now();

  constructor(options: QueueOptions<Job, Outcome>) {
    this.#options = options;
    this.#fair = new FairQueue(options.now);
    this.#slots = Array.from({ length: options.workers }, () => ({ up: true, run: undefined }));
    this.#free = [...this.#slots.keys()];
    this.#up = options.workers;
  }

  get size(): number {
    return this.running + this.#fair.waiting;
  }

  /** Number of stuck jobs. */
  get stuck(): number {
    return this.#stuck.size;
  }

  /** Number of stuck jobs whose worker was not replaced. */
  get blocked(): number {
    return [...this.#stuck].filter(({ replaced }) => !replaced).length;
  }

  /** Busy time of all workers together, in milliseconds. */
  get busy_ms(): number {
    return this.#busy_ms + this.running * (performance.now() - this.#counted);
  }

  /** Returns true if another request of this key would be rejected. */
  isFull(owner = ''): boolean {
    return this.#victimsFor(owner, 1) === undefined;
  }

  /** Counts the key as active until the returned function is called once. */
  arrived(owner: string): () => void {
    this.#fair.arrived(owner);
    return () => this.#fair.ended(owner);
  }

  workerUp(slot: number): void {
    const worker = this.#slots[slot]!;
    if (worker.up) return;
    worker.up = true;
    this.#up += 1;
    if (worker.run === undefined) this.#free.push(slot);
    this.#assign();
  }

  workerDown(slot: number): void {
    const worker = this.#slots[slot]!;
    if (!worker.up) return;
    worker.up = false;
    this.#up -= 1;
    const at = this.#free.indexOf(slot);
    if (at >= 0) this.#free.splice(at, 1);
  }

  submit(
    jobs: readonly Job[],
    origin: Origin = nowhere,
    finish?: Finish<Job, Outcome>,
  ): Ticket<Done<Outcome>> {
    const { deadline_ms, estimate_ms = () => 0 } = this.#options;
    const victims = this.#victimsFor(origin.owner, jobs.length);
    if (victims === undefined) {
      return { done: Promise.reject(new Problem('overloaded')), idle: Promise.resolve(), cancel: () => {} };
    }
    for (const victim of victims) this.#end(victim, new Problem('overloaded'));
    const request = new Submission(jobs, origin, finish, estimate_ms);
    const elapsed_ms = origin.arrived === undefined ? 0 : performance.now() - origin.arrived;
    request.timer = setTimeout(() => this.#expire(request), deadline_ms - elapsed_ms);
    this.#fair.arrived(request.owner);
    if (jobs.length === 0) this.#finish(request);
    else this.#fair.add(request);
    this.#assign();
    return { done: request.done, idle: request.idle, cancel: (reason) => this.#end(request, reason) };
  }

  /** Returns the requests to drop so that a request with this many jobs fits; undefined if it is rejected. */
  #victimsFor(owner: string, jobs: number): Submission<Job, Outcome>[] | undefined {
    const lacking = this.size - this.#options.capacity + 1;
    return lacking <= 0 ? [] : this.#fair.victims(owner, Math.min(jobs, lacking));
  }

  #assign(): void {
    while (this.#free.length > 0) {
      const next = this.#fair.next({ up: this.#up, free: this.#free.length });
      if (next === undefined) return;
      const { request, allowed } = next;
      // Sending two images together saves a message. Without another request, the second goes to another worker.
      const count = this.#fair.requests > 1 ? allowed : 1;
      const estimate_ms = this.#fair.started(request, count);
      const from = request.next;
      request.next += count;
      void this.#run(request, from, estimate_ms);
    }
  }

  /** Occupies a slot until `run` returns, even if the client already got a 504, or until the worker is replaced. */
  async #run(request: Submission<Job, Outcome>, from: number, estimate_ms: number): Promise<void> {
    const { now = () => performance.now(), run: start } = this.#options;
    const began = now();
    const slot = this.#free.shift()!;
    const jobs = request.jobs.slice(from, request.next);
    const run: Run<Job> = {
      slot,
      jobs,
      stuck: false,
      replaced: false,
      release: () => this.#fair.release(request.owner, jobs.length, estimate_ms, now() - began),
    };
    this.#occupy(slot, run);
    request.running.add(run);
    request.started ??= performance.now();
    try {
      const outcomes = await start(jobs, slot);
      for (const [index, outcome] of outcomes.entries()) request.outcomes[from + index] = outcome;
      request.left -= jobs.length;
      if (request.left === 0 && !request.over) {
        const last = request.finish?.(request.outcomes);
        if (last !== undefined) {
          run.jobs = [last];
          await start(run.jobs, slot);
        }
        this.#finish(request);
      }
    } catch (reason) {
      request.running.delete(run);
      this.#end(request, reason);
      if (!run.stuck) this.#report('failed', request, run.jobs, reason);
    }
    this.#stuck.delete(run);
    request.running.delete(run);
    if (!run.replaced) this.#vacate(run);
    if (request.over && request.running.size === 0) {
      clearTimeout(request.timer);
      request.onIdle();
    }
    this.#assign();
  }

  #occupy(slot: number, run: Run<Job>): void {
    this.#count();
    this.running += 1;
    this.#slots[slot]!.run = run;
  }

  #vacate(run: Run<Job>): void {
    this.#count();
    this.running -= 1;
    const slot = this.#slots[run.slot]!;
    slot.run = undefined;
    if (slot.up) this.#free.push(run.slot);
    run.release();
  }

  #finish(request: Submission<Job, Outcome>): void {
    if (!this.#close(request)) return;
    const started = request.started ?? request.submitted;
    request.resolve({ outcomes: request.outcomes, queue_ms: started - request.submitted });
    if (request.running.size === 0) request.onIdle();
  }

  /** Rejects `done`, drops waiting jobs and cancels running ones. */
  #end(request: Submission<Job, Outcome>, error: unknown): void {
    if (!this.#close(request)) return;
    this.#fair.drop(request);
    for (const { slot } of request.running) this.#options.cancel(slot);
    request.reject(error);
    if (request.running.size === 0) {
      request.onIdle();
      return;
    }
    const { stuck_ms = defaultStuck_ms } = this.#options;
    request.timer = setTimeout(() => this.#markStuck(request), stuck_ms).unref();
  }

  /** Ends the request. Returns false if it has already ended. */
  #close(request: Submission<Job, Outcome>): boolean {
    if (request.over) return false;
    request.over = true;
    clearTimeout(request.timer);
    this.#fair.ended(request.owner);
    return true;
  }

  #expire(request: Submission<Job, Outcome>): void {
    const running = [...request.running];
    this.#end(request, new Problem('deadline_exceeded'));
    for (const { jobs } of running) this.#report('overdue', request, jobs);
  }

  /** Marks the running jobs of a cancelled request as stuck. */
  #markStuck(request: Submission<Job, Outcome>): void {
    for (const run of request.running) {
      run.stuck = true;
      this.#stuck.add(run);
      this.#report('stuck', request, run.jobs);
      if (!this.#options.replace?.(run.slot)) continue;
      this.workerDown(run.slot);
      this.#vacate(run);
      run.replaced = true;
    }
  }

  #report(
    kind: JobFault<Job>['kind'],
    { request_id }: Submission<Job, Outcome>,
    jobs: readonly Job[],
    reason?: unknown,
  ): void {
    this.#options.onJobFault?.({ kind, jobs, request_id, reason });
  }

  /** Adds the busy time so far. Call it before the number of running jobs changes. */
  #count(): void {
    this.#busy_ms = this.busy_ms;
    this.#counted = performance.now();
  }
}
