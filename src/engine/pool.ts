import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { ByteRange, MatchOptions, MatchResult, NativeFailure } from './addon.ts';

// What crosses between the threads.

export interface MatchJob {
  /** Alone in its ArrayBuffer, which is moved to the worker: the sender's is detached. */
  body: Uint8Array<ArrayBuffer>;
  image1: ByteRange;
  image2: ByteRange;
  options: MatchOptions;
}

/** Failures are data: structured clone would drop an error's class and code. */
export type MatchOutcome = MatchResult | NativeFailure;

/** What a worker answers: the outcome, and the body's memory, wiped, where that is worth using again. */
export interface MatchAnswer {
  outcome: MatchOutcome;
  memory?: ArrayBuffer;
}

/** Given to each worker when it starts. */
export interface WorkerData {
  pack_directory: string;
  /** Pictures are hashed, so that the embedding cache can know them again. */
  embedding_cache: boolean;
}

/** Posted by a worker once it has loaded everything and done one real inference. */
export interface WorkerUp {
  worker_up: true;
}

/**
 * The worker threads. Each holds the addon and the pack, whose sessions are shared by the whole process, and runs one
 * job at a time. Which worker does what is decided by JobQueue.
 */
export interface PoolOptions {
  workers: number;
  pack_directory: string;
  /** Whether the addon was told to keep embeddings; default false. */
  embedding_cache?: boolean;
  /** Gets bodies' memory, wiped, when their jobs are done; without it the garbage collector does. */
  onMemory?(memory: ArrayBuffer): void;
  /** A worker died or failed while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
  /** A worker died, with a job or without; it is replaced. */
  onWorkerReplaced?(): void;
}

export class Pool {
  readonly #piscina: Piscina<MatchJob, MatchAnswer>;
  /** Piscina asks for a task's worker before run() returns. */
  readonly #choice: { worker: number };
  readonly #onMemory: PoolOptions['onMemory'];
  #closing = false;

  private constructor(
    piscina: Piscina<MatchJob, MatchAnswer>,
    choice: { worker: number },
    onMemory: PoolOptions['onMemory'],
  ) {
    this.#piscina = piscina;
    this.#choice = choice;
    this.#onMemory = onMemory;
  }

  /** Resolves when every worker has done its first inference, rejects when one cannot. */
  static async start(options: PoolOptions): Promise<Pool> {
    const choice = { worker: 0 };
    const piscina = new Piscina<MatchJob, MatchAnswer>({
      filename: fileURLToPath(new URL('./worker.js', import.meta.url)),
      workerData: {
        pack_directory: options.pack_directory,
        embedding_cache: options.embedding_cache ?? false,
      } satisfies WorkerData,
      ...threads(options.workers),
      concurrentTasksPerWorker: 2,
      // While one is being replaced there are fewer; without any, piscina keeps the job until there is.
      loadBalancer: (_, workers) => workers[Math.min(choice.worker, workers.length - 1)] ?? null,
      // With atomics a worker would run both of its jobs before it answers the first.
      atomics: 'disabled',
      recordTiming: false,
    });
    try {
      await allUp(piscina, options.workers);
    } catch (error) {
      await piscina.destroy();
      throw error;
    }
    piscina.on('error', options.onWorkerError);
    const pool = new Pool(piscina, choice, options.onMemory);
    piscina.on('workerDestroy', () => {
      if (!pool.#closing) options.onWorkerReplaced?.();
    });
    return pool;
  }

  /**
   * Runs one job. The body's memory is moved to the worker, never copied: afterwards the caller's view is empty.
   * Rejects when the worker dies, as does what it was given ahead of time; piscina puts another in its place and the
   * other jobs do not notice.
   * `worker`: from 0. `parallel`: the two pictures on two threads.
   */
  async run(job: MatchJob, worker: number, parallel = false): Promise<MatchOutcome> {
    const options = { ...job.options, parallel };
    this.#choice.worker = worker;
    const running = this.#piscina.run({ ...job, options }, { transferList: [job.body.buffer] });
    const { outcome, memory } = await running;
    if (memory) this.#onMemory?.(memory);
    return outcome;
  }

  /** Ends the workers, waiting for native calls in progress. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#piscina.destroy();
  }
}

function allUp(piscina: Piscina<MatchJob, MatchAnswer>, workers: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let up = 0;
    const onMessage = ({ worker_up }: WorkerUp) => {
      if (worker_up) up += 1;
      if (up < workers) return;
      piscina.off('message', onMessage);
      piscina.off('error', reject);
      resolve();
    };
    piscina.on('message', onMessage);
    // How piscina tells that a worker threw while it started.
    piscina.on('error', reject);
  });
}

/**
 * Piscina's options for so many worker threads, all of them from the start.
 *
 * Piscina first tries require() on a worker's file. Where Node can require ES modules, a worker that is terminated in the
 * middle of that ends the whole process with an assertion (CreateRequiredModuleFacade, Node 20). Without it piscina
 * imports the file, which may be broken off at any time. Node's own flags are not handed on: V8's count for all threads
 * as it is, and a thread that is given one does not start.
 *
 * A worker makes little garbage, and little of it lives on. Left alone V8 would still let its young generation grow to
 * 48 MiB by and by, over thousands of jobs.
 */
export function threads(count: number) {
  return {
    minThreads: count,
    maxThreads: count,
    resourceLimits: { maxYoungGenerationSizeMb: 3 },
    execArgv: ['--no-experimental-require-module'],
  };
}

/**
 * Gives `work` a pool of `count` threads for one kind of task, and ends them afterwards. Rejects when a thread cannot start.
 *
 * Piscina emits an error for an answer that arrives while it ends its threads, and one that nobody hears ends the process.
 */
export async function withThreads<Task, Answer, Result>(
  filename: URL,
  count: number,
  work: (run: (task: Task) => Promise<Answer>) => Promise<Result>,
): Promise<Result> {
  const pool = new Piscina<Task, Answer>({ filename: filename.href, ...threads(count) });
  const failed = new Promise<never>((_, reject) => pool.on('error', reject));
  try {
    return await Promise.race([work((task) => pool.run(task)), failed]);
  } finally {
    await pool.destroy();
  }
}
