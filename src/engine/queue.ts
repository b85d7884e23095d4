import { Problem } from '../errors.ts';

/**
 * A bounded first-in-first-out queue in front of the pool. A job is handed over only when a worker is free: piscina's own
 * queue puts its head back at the tail when none is, so that the oldest request waits longest of all.
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
  /** `spare`: another worker is idle and nothing waits, so this job may as well use two cores. */
  run(job: Job, spare: boolean): Promise<Outcome>;
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
   * Nobody wants the outcome any more: a waiting job is dropped, a running one runs on and its outcome is thrown away.
   * `done` rejects with `reason`.
   */
  cancel(reason: Error): void;
}

interface Entry<Job, Outcome> {
  job: Job;
  submitted: number;
  timer: NodeJS.Timeout;
  resolve(done: Done<Outcome>): void;
  reject(error: unknown): void;
}

export class JobQueue<Job, Outcome> {
  readonly #options: QueueOptions<Job, Outcome>;
  /** A Set keeps the order of insertion and removes from the middle in constant time. */
  readonly #waiting = new Set<Entry<Job, Outcome>>();
  #running = 0;
  /** Up to `#counted`. */
  #busy_ms = 0;
  #counted = performance.now();

  constructor(options: QueueOptions<Job, Outcome>) {
    this.#options = options;
  }

  get depth(): number {
    return this.#waiting.size;
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
    return this.#running >= this.#options.workers && this.#waiting.size >= this.#options.capacity;
  }

  submit(job: Job): Ticket<Outcome> {
    if (this.full) return { done: Promise.reject(new Problem('overloaded')), cancel: () => {} };
    const { promise, resolve, reject } = withResolvers<Done<Outcome>>();
    const entry: Entry<Job, Outcome> = {
      job,
      submitted: performance.now(),
      timer: setTimeout(() => {
        this.#waiting.delete(entry);
        reject(new Problem('deadline_exceeded'));
      }, this.#options.deadline_ms),
      resolve,
      reject,
    };
    this.#waiting.add(entry);
    this.#handOver();
    return {
      done: promise,
      cancel: (reason) => {
        clearTimeout(entry.timer);
        this.#waiting.delete(entry);
        reject(reason);
      },
    };
  }

  #handOver(): void {
    while (this.#running < this.#options.workers) {
      const entry = this.#waiting.values().next().value;
      if (!entry) return;
      this.#waiting.delete(entry);
      this.#setRunning(this.#running + 1);
      void this.#run(entry, this.#waiting.size === 0 && this.#running < this.#options.workers);
    }
  }

  /** The worker is held until `run` returns, even when the deadline has answered the client long before. */
  async #run(entry: Entry<Job, Outcome>, spare: boolean): Promise<void> {
    const queue_ms = performance.now() - entry.submitted;
    try {
      entry.resolve({ outcome: await this.#options.run(entry.job, spare), queue_ms });
    } catch (error) {
      entry.reject(error);
    } finally {
      clearTimeout(entry.timer);
      this.#setRunning(this.#running - 1);
      this.#handOver();
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
