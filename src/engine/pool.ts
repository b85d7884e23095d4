import { Problem } from '../errors.ts';
import type { AnalyseInput, InputOf, Jobs, NameOf, Outcome, OutputOf, Request, Response } from './jobs.ts';
import { WorkerThread } from './worker-thread.ts';

interface PoolOptions {
  workers: number;
  pack_directory: string;
  /** Entry file of each worker thread, which calls serveJobs. */
  program: URL;
  /** The worker of that slot accepts jobs. */
  onUp?(slot: number): void;
  /** The worker accepts no more jobs. Called before its job rejects. */
  onDown?(slot: number): void;
  /** A worker died while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
}

/** First and longest pause before a worker that died during startup is started again. */
const pause_ms = { first: 1000, max: 30_000 };

/**
 * The worker threads, one for each slot. A thread gets no job before its last one has ended: JobQueue decides
 * which one is next. A thread that dies is replaced at once; one that dies during startup, after a pause.
 * Slots never wait for each other.
 */
export class Pool<J extends Jobs> {
  readonly #options: PoolOptions;
  readonly #threads: WorkerThread[] = [];
  /** Threads held by a native call, whose slots have another thread. */
  readonly #abandoned = new Set<WorkerThread>();
  readonly #pauses = new Set<NodeJS.Timeout>();
  /** Number of workers that died or were abandoned. */
  replacements = 0;
  /** True once all of them have been up. */
  #complete = false;
  #closing = false;

  private constructor(options: PoolOptions) {
    this.#options = options;
    for (let slot = 0; slot < options.workers; slot++) this.#begin(slot);
  }

  /** Resolves when every worker has run its first inference; rejects when one cannot. */
  static async start<J extends Jobs>(options: PoolOptions): Promise<Pool<J>> {
    const pool = new Pool<J>(options);
    try {
      await Promise.all(pool.#threads.map(({ started }) => started));
      if (pool.available < options.workers) throw new Error('A worker ended while the others started');
    } catch (error) {
      // Workers are only restarted once all of them have worked.
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
   * Returns outcomes in the order of the images. Rejects when the worker dies, which is then replaced, or the
   * pool closes. Once it has settled, no thread reads the images.
   */
  analyse(slot: number, analyse: AnalyseInput): Promise<Response<Outcome[]>> {
    return this.#run(slot, { analyse });
  }

  /** Runs a calculation; otherwise like `analyse`. */
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

  /** Makes the job of that slot end soon, with any output. */
  cancel(slot: number): void {
    this.#threads[slot]!.cancel();
  }

  /**
   * Gives the slot another thread and abandons the one held by a native call, because nothing in the process
   * can end it before the call returns; it ends then. Returns false and does nothing if as many are abandoned
   * as there are workers, because each may occupy a CPU.
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
