import { Problem } from '../errors.ts';
import type { AnalyseInput, InputOf, Jobs, NameOf, Outcome, OutputOf, Request, Response } from './jobs.ts';
import { WorkerThread } from './worker-thread.ts';

interface PoolOptions {
  workers: number;
  pack_directory: string;
  /** Entry file of each worker thread, which calls serveJobs. */
  program: URL;
  /** Called when the worker of this slot accepts jobs. */
  onUp?(slot: number): void;
  /** Called when the worker accepts no more jobs, before its job rejects. */
  onDown?(slot: number): void;
  /** Called when a worker died without a job. The worker is replaced. */
  onWorkerError(error: Error): void;
}

/** First and maximum pause before a worker that died during startup is started again. */
const pause_ms = { first: 1000, max: 30_000 };

/**
 * The worker threads, one for each slot. JobQueue gives a thread its next job only after the previous job has
 * ended. A thread that dies is replaced at once, or after a pause if it died during startup. Slots never wait for
 * each other.
 */
export class Pool<J extends Jobs> {
  readonly #options: PoolOptions;
  readonly #threads: WorkerThread[] = [];
  /** Threads that are stuck in a native call, and whose slots have another thread. */
  readonly #abandoned = new Set<WorkerThread>();
  readonly #pauses = new Set<NodeJS.Timeout>();
  /** Number of workers that died after startup or were abandoned. */
  replacements = 0;
  /** True once all workers have been up. */
  #complete = false;
  #closing = false;

  private constructor(options: PoolOptions) {
    this.#options = options;
    for (let slot = 0; slot < options.workers; slot++) this.#begin(slot);
  }

  /** Resolves when every worker has run its first inference. Rejects if a worker fails. */
  static async start<J extends Jobs>(options: PoolOptions): Promise<Pool<J>> {
    const pool = new Pool<J>(options);
    try {
      await Promise.all(pool.#threads.map(({ started }) => started));
      if (pool.available < options.workers) throw new Error('A worker ended while the others started');
    } catch (error) {
      // Workers are restarted only after all of them have been up once.
      await pool.close();
      throw error;
    }
    pool.#complete = true;
    return pool;
  }

  /** Number of workers that accept jobs. */
  get available(): number {
    return this.#threads.filter(({ isUp }) => isUp).length;
  }

  /**
   * Resolves to the outcomes in the order of the images. Rejects if the worker dies or the pool closes. After it
   * has settled, no thread reads the images.
   */
  analyse(slot: number, analyse: AnalyseInput): Promise<Response<Outcome[]>> {
    return this.#run(slot, { analyse });
  }

  /** Runs a calculation. Rejects like `analyse`. */
  run<Name extends NameOf<J>>(
    slot: number,
    name: Name,
    input: InputOf<J, Name>,
  ): Promise<Response<OutputOf<J, Name>>> {
    return this.#run(slot, { name, input });
  }

  async #run<Output>(slot: number, request: Request): Promise<Response<Output>> {
    if (this.#closing) throw new Problem('shutting_down');
    return await this.#threads[slot]!.run(request);
  }

  /** Makes the job of this slot end soon, with an arbitrary output. */
  cancel(slot: number): void {
    this.#threads[slot]!.cancel();
  }

  /**
   * Gives the slot another thread, and abandons the thread that is stuck in a native call, because a thread cannot
   * be ended before its native call returns. Returns false and does nothing if the pool is closing, or if there are
   * already as many abandoned threads as workers, because each may occupy a CPU.
   */
  replace(slot: number): boolean {
    if (this.#closing || this.#abandoned.size >= this.#options.workers) return false;
    const thread = this.#threads[slot]!;
    this.#abandoned.add(thread);
    void thread.idle.then(() => thread.terminate());
    this.replacements += 1;
    this.#begin(slot);
    return true;
  }

  /** Cancels running jobs, then ends the workers. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const pause of this.#pauses) clearTimeout(pause);
    await Promise.all([...this.#threads, ...this.#abandoned].map((thread) => thread.terminate()));
  }

  #begin(slot: number, next_ms = pause_ms.first): void {
    const { program, pack_directory, onUp, onDown, onWorkerError } = this.#options;
    let wasUp = false;
    const thread = new WorkerThread({
      program,
      pack_directory,
      onUp: () => {
        wasUp = true;
        onUp?.(slot);
      },
      onEnd: (reason, hadJob) => {
        if (this.#abandoned.delete(thread) || !this.#complete) return;
        onDown?.(slot);
        if (this.#closing) return;
        if (!hadJob) onWorkerError(reason);
        if (!wasUp) return this.#beginLater(slot, next_ms);
        this.replacements += 1;
        this.#begin(slot);
      },
    });
    this.#threads[slot] = thread;
  }

  #beginLater(slot: number, after_ms: number): void {
    const pause = setTimeout(() => {
      this.#pauses.delete(pause);
      this.#begin(slot, Math.min(2 * after_ms, pause_ms.max));
    }, after_ms);
    this.#pauses.add(pause);
  }
}
