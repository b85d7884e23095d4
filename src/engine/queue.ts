import { Problem } from '../errors.ts';

/**
 * A bounded first-in-first-out queue in front of the pool. It chooses each job's worker: piscina's own queue puts its head
 * back at the tail when none is free, so that the oldest request waits longest of all.
 *
 * A job goes to a worker that is free. While many wait, each worker is also given the next job ahead of time (prefetch):
 * between two jobs it would otherwise be idle until this thread has woken, read an answer and sent another job. A
 * prefetched job cannot move to another worker. So only light jobs are prefetched, behind light ones, and only while so
 * many wait that no worker should run out.
 *
 * A place in the queue is taken by a request whose body has arrived, never by one that is still being uploaded: a slow
 * sender would otherwise keep the workers idle in front of a full queue. Admission therefore happens twice: `full` is
 * asked before the body is read, to refuse early, and `submit` decides.
 */
export interface QueueOptions<Job, Outcome> {
  /** Jobs that may run at once. */
  workers: number;
  /** Jobs that may wait. */
  capacity: number;
  /** From submit to the answer; 504 deadline_exceeded when it passes. */
  deadline_ms: number;
  /** Whether a job is done so soon that another may lie behind it; by default none is. */
  light?(job: Job): boolean;
  /**
   * `worker`: from 0; one that has a job begins this one after it.
   * `spare`: another worker is idle and nothing waits, so this job may as well use two cores.
   */
  run(job: Job, worker: number, spare: boolean): Promise<Outcome>;
}

export interface Done<Outcome> {
  outcome: Outcome;
  /** Milliseconds between submit and the start of the job. */
  queue_ms: number;
}

/** A submitted job. `done` rejects with a Problem (overloaded, deadline_exceeded) or with whatever `run` rejected with. */
export interface Ticket<Outcome> {
  readonly done: Promise<Done<Outcome>>;
  /**
   * Nobody wants the outcome any more: a waiting job is dropped, one that a worker has runs and its outcome is thrown away.
   * `done` rejects with `reason`.
   */
  cancel(reason: Error): void;
}

interface Entry<Job, Outcome> {
  job: Job;
  /** Judged when it is submitted: a body that was moved to a worker is empty. */
  light: boolean;
  submitted: number;
  started: number;
  timer: NodeJS.Timeout;
  resolve(done: Done<Outcome>): void;
  reject(error: unknown): void;
}

export class JobQueue<Job, Outcome> {
  readonly #options: QueueOptions<Job, Outcome>;
  /** A Set keeps the order of insertion and removes from the middle in constant time. */
  readonly #waiting = new Set<Entry<Job, Outcome>>();
  /** The jobs of each worker: the one that runs, and the one that was prefetched. */
  readonly #assigned: Entry<Job, Outcome>[][];
  #running = 0;
  #prefetched = 0;
  /** Up to `#counted`. */
  #busy_ms = 0;
  #counted = performance.now();

  constructor(options: QueueOptions<Job, Outcome>) {
    this.#options = options;
    this.#assigned = Array.from({ length: options.workers }, () => []);
  }

  get depth(): number {
    return this.#waiting.size + this.#prefetched;
  }

  /** Workers at work, those included whose client has been answered 504 or has left. */
  get running(): number {
    return this.#running;
  }

  /** Milliseconds that workers were at work so far, all of them together. */
  get busy_ms(): number {
    return this.#busy_ms + this.#running * (performance.now() - this.#counted);
  }

  get full(): boolean {
    return this.#running >= this.#options.workers && this.depth >= this.#options.capacity;
  }

  submit(job: Job): Ticket<Outcome> {
    if (this.full) return { done: Promise.reject(new Problem('overloaded')), cancel: () => {} };
    const { promise, resolve, reject } = withResolvers<Done<Outcome>>();
    const now = performance.now();
    const entry: Entry<Job, Outcome> = {
      job,
      light: this.#options.light?.(job) ?? false,
      submitted: now,
      started: now,
      timer: setTimeout(() => {
        this.#waiting.delete(entry);
        reject(new Problem('deadline_exceeded'));
      }, this.#options.deadline_ms),
      resolve,
      reject,
    };
    this.#waiting.add(entry);
    this.#assign();
    return {
      done: promise,
      cancel: (reason) => {
        clearTimeout(entry.timer);
        this.#waiting.delete(entry);
        reject(reason);
      },
    };
  }

  #assign(): void {
    for (;;) {
      const entry = this.#waiting.values().next().value;
      const worker = entry ? this.#workerFor(entry) : -1;
      if (!entry || worker < 0) return;
      this.#waiting.delete(entry);
      void this.#run(entry, worker);
    }
  }

  /** -1 while none may have it. */
  #workerFor(entry: Entry<Job, Outcome>): number {
    const free = this.#assigned.findIndex((jobs) => jobs.length === 0);
    if (free >= 0 || !entry.light || this.#waiting.size <= this.#options.workers) return free;
    return this.#assigned.findIndex(([running, ahead]) => running?.light && !ahead);
  }

  /** The worker is held until `run` returns, even when the deadline has answered the client long before. */
  async #run(entry: Entry<Job, Outcome>, worker: number): Promise<void> {
    const jobs = this.#assigned[worker] as Entry<Job, Outcome>[];
    jobs.push(entry);
    if (jobs.length > 1) this.#prefetched += 1;
    else this.#setRunning(this.#running + 1);
    entry.started = performance.now();
    const spare = this.#waiting.size === 0 && this.#running < this.#options.workers;
    try {
      const outcome = await this.#options.run(entry.job, worker, spare);
      entry.resolve({ outcome, queue_ms: entry.started - entry.submitted });
    } catch (error) {
      entry.reject(error);
    } finally {
      clearTimeout(entry.timer);
      jobs.splice(jobs.indexOf(entry), 1);
      const [next] = jobs;
      if (next) {
        this.#prefetched -= 1;
        next.started = performance.now();
      } else {
        this.#setRunning(this.#running - 1);
      }
      this.#assign();
    }
  }

  #setRunning(running: number): void {
    this.#busy_ms = this.busy_ms;
    this.#counted = performance.now();
    this.#running = running;
  }
}

/** Promise.withResolvers came with Node 22. */
function withResolvers<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
