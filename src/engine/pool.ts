import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { ErrorCode, ProblemExtras } from '../errors.ts';
import type { AnalyseOptions, Analysis, NativeFailure } from './addon.ts';
import type { EmbeddingsJob, RankedEmbeddings } from './embeddings.ts';

// What crosses between the threads.

export interface PicturesJob {
  /** In shared memory: every worker sees them without a copy, and nobody writes to them meanwhile. */
  images: readonly Uint8Array[];
  options: AnalyseOptions;
  /** Which of the flags cancels it. */
  slot: number;
}

/** Failures are data: structured clone would drop an error's class and code. */
export type Outcome = Analysis | NativeFailure;

/** Embeddings of a client's, to be compared. */
export interface EmbeddingsTask {
  embeddings: EmbeddingsJob;
  slot: number;
}

export type EmbeddingsOutcome = RankedEmbeddings | { ok: false; code: ErrorCode; extras: ProblemExtras };

/** Given to each worker when it starts. */
export interface WorkerData {
  pack_directory: string;
  /** In shared memory, one for each slot: not 0 when nobody wants the outcome any more. */
  flags: Uint8Array;
}

/** Posted by a worker once it has loaded everything and done one real inference. */
export interface WorkerUp {
  /** Its threadId. */
  worker_up: number;
}

interface PoolOptions {
  workers: number;
  pack_directory: string;
  /** A worker died or failed while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
  /** A worker died, with a job or without; it is replaced. */
  onWorkerReplaced?(): void;
}

/** How long after a worker's death it is asked whether there is another, at first and at most. */
const heal_ms = { first: 1000, most: 30_000 };

/**
 * The worker threads. Each holds the addon and the pack, whose sessions are shared by the whole process, and runs one
 * job at a time. It is given no more jobs than there are workers: which picture is next is decided by PictureQueue.
 *
 * Piscina replaces a worker that dies, but not one that dies while it starts, and from then on none at all. Where workers are
 * missing some time after a death, the pool is therefore made anew.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #flags: Uint8Array;
  #piscina: Piscina;
  /** threadIds of those that are up, or were before they died. */
  readonly #up = new Set<number>();
  #healing: NodeJS.Timeout | undefined;
  #pause_ms = heal_ms.first;
  #closing = false;

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#flags = new Uint8Array(new SharedArrayBuffer(options.workers));
    this.#piscina = this.#make();
  }

  /** Resolves when every worker has done its first inference, rejects when one cannot. */
  static async start(options: PoolOptions): Promise<Pool> {
    const pool = new Pool(options);
    await pool.#allUp(pool.#piscina);
    return pool;
  }

  /** Workers that have done their first inference and live. */
  get answering(): number {
    return this.#piscina.threads.filter(({ threadId }) => this.#up.has(threadId)).length;
  }

  /**
   * Runs one job. Rejects when the worker dies; another takes its place and the other jobs do not notice.
   * `slot`: of no other job that runs.
   */
  run(images: readonly Uint8Array[], options: AnalyseOptions, slot: number): Promise<Outcome[]> {
    return this.#run({ images, options, slot });
  }

  /** The same, of embeddings. */
  rank(embeddings: EmbeddingsJob, slot: number): Promise<EmbeddingsOutcome> {
    return this.#run({ embeddings, slot });
  }

  #run(task: PicturesJob | EmbeddingsTask) {
    Atomics.store(this.#flags, task.slot, 0);
    return this.#piscina.run(task);
  }

  /** Lets the job of that slot end soon, with any outcome. */
  cancel(slot: number): void {
    Atomics.store(this.#flags, slot, 1);
  }

  /** Ends the workers, waiting for native calls in progress. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#healing);
    await this.#piscina.destroy();
  }

  #make(): Piscina {
    const { workers, pack_directory } = this.#options;
    const piscina = new Piscina({
      filename: fileURLToPath(new URL('./worker.js', import.meta.url)),
      workerData: { pack_directory, flags: this.#flags } satisfies WorkerData,
      ...threads(workers),
      // None that is starting: it may die of it, and the job with it. Piscina asks again when one is up.
      loadBalancer: (_, candidates) =>
        candidates.find(({ id, currentUsage }) => currentUsage === 0 && this.#up.has(id)) ?? null,
      // Node's own messages; with atomics a worker sleeps where nothing but piscina wakes it.
      atomics: 'disabled',
      recordTiming: false,
    });
    piscina.on('message', ({ worker_up }: WorkerUp) => {
      if (worker_up !== undefined) this.#up.add(worker_up);
    });
    piscina.on('workerDestroy', () => {
      if (this.#closing || piscina !== this.#piscina) return;
      this.#options.onWorkerReplaced?.();
      this.#healSoon();
    });
    return piscina;
  }

  /** Ends the threads again where one cannot start. */
  #allUp(piscina: Piscina): Promise<void> {
    return new Promise((resolve, reject) => {
      const onMessage = () => {
        if (!piscina.threads.every(({ threadId }) => this.#up.has(threadId))) return;
        piscina.off('message', onMessage);
        piscina.off('error', onError);
        piscina.on('error', this.#options.onWorkerError);
        resolve();
      };
      // How piscina tells that a worker threw while it started.
      const onError = (error: Error) => {
        piscina.off('message', onMessage);
        piscina.on('error', () => {});
        reject(error);
        void piscina.destroy();
      };
      piscina.on('message', onMessage);
      piscina.on('error', onError);
    });
  }

  #healSoon(): void {
    this.#healing ??= setTimeout(() => {
      this.#healing = undefined;
      if (this.#piscina.threads.length < this.#options.workers) void this.#heal();
      else this.#pause_ms = heal_ms.first;
    }, this.#pause_ms);
  }

  async #heal(): Promise<void> {
    const fresh = this.#make();
    try {
      await this.#allUp(fresh);
    } catch (error) {
      this.#options.onWorkerError(error as Error);
      this.#pause_ms = Math.min(2 * this.#pause_ms, heal_ms.most);
      if (!this.#closing) this.#healSoon();
      return;
    }
    const old = this.#piscina;
    this.#piscina = fresh;
    this.#pause_ms = heal_ms.first;
    // What its workers are at is finished; what none of them will take is not.
    await (old.threads.length > 0 ? old.close() : old.destroy());
    if (this.#closing) await fresh.destroy();
  }
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
