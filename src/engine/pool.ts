import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type ErrorCode, Problem, type ProblemExtras } from '../errors.ts';
import type { AnalyseOptions, Analysis, NativeFailure } from './addon.ts';

// Messages between the threads.

export interface ImagesJob {
  /** They lie in shared memory, so that nothing is copied, and must not change meanwhile. */
  images: readonly Uint8Array[];
  options: AnalyseOptions;
  /** The index of its cancel flag. */
  slot: number;
}

/** Failures are plain data: structured clone drops an error's class and code. */
export type Outcome = Analysis | NativeFailure;

/** A calculation that would hold the main thread up. */
export interface WorkJob {
  /** The URL of a module with a function `work`, which is loaded when it is needed: its packages may take some MB in each worker. */
  module: string;
  /** Plain data, and shared memory. */
  input: unknown;
}

/** What `work` gets besides its input. It throws a Problem for what is wrong with that. */
export interface WorkerTools {
  /** The cohort scores of vectors that follow each other in one array. */
  cohortScores(embeddings: Float32Array): Float32Array;
  /** Throws when nobody waits any more. */
  check(): void;
}

export interface WorkTask extends WorkJob {
  slot: number;
}

export type WorkOutcome =
  | { ok: true; result: unknown }
  | { ok: false; code: ErrorCode; extras: ProblemExtras };

export interface WorkerData {
  pack_directory: string;
  /** Cancel flags in shared memory, one for each slot: not 0 when the outcome is no longer needed. */
  flags: Uint8Array;
}

/** Posted by a worker after it has loaded everything and done one real inference. */
export interface WorkerUp {
  worker_up: number;
}

interface PoolOptions {
  workers: number;
  pack_directory: string;
  /** A worker died or failed while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
}

/** How long after a worker's death the pool checks for a replacement: the first and the longest pause. */
const heal_ms = { first: 1000, max: 30_000 };

/**
 * The worker threads: each runs one job at a time, and never gets more, for JobQueue decides which one is next. Piscina replaces a
 * worker that dies, but not one that dies while it starts, and then none at all: when workers are missing some time after a death, a
 * new pool replaces this one.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #flags: Uint8Array;
  /** Workers that died, with a job or without. */
  replacements = 0;
  #piscina: Piscina;
  /** threadIds of workers that have started; those that died later stay in it. */
  readonly #up = new Set<number>();
  #healing: NodeJS.Timeout | undefined;
  #pause_ms = heal_ms.first;
  #closing = false;
  /** Resolves when the threads of a pool that was ended are gone. */
  readonly #ended = new WeakMap<Piscina, Promise<void>>();

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#flags = new Uint8Array(new SharedArrayBuffer(options.workers));
    this.#piscina = this.#make();
  }

  /** Resolves when every worker has done its first inference, rejects when one cannot. */
  static async start(options: PoolOptions): Promise<Pool> {
    const pool = new Pool(options);
    try {
      await pool.#allUp(pool.#piscina);
    } catch (error) {
      // Nothing is healed that has never been well.
      await pool.close();
      throw error;
    }
    return pool;
  }

  get answering(): number {
    return this.#piscina.threads.filter(({ threadId }) => this.#up.has(threadId)).length;
  }

  /**
   * Outcomes in the order of its images; one for a calculation. Rejects when the worker dies, which is replaced, or the pool closes. When
   * it has settled, no thread reads the images.
   */
  run(task: ImagesJob): Promise<Outcome[]>;
  run(task: WorkTask): Promise<WorkOutcome[]>;
  async run(task: ImagesJob | WorkTask): Promise<Outcome[] | WorkOutcome[]> {
    // Piscina would start a thread for it.
    if (this.#closing) throw new Problem('shutting_down');
    Atomics.store(this.#flags, task.slot, 0);
    const piscina = this.#piscina;
    try {
      return await piscina.run(task);
    } catch (error) {
      // Piscina rejects at once what runs on the threads that it ends, and they still read it.
      await this.#ended.get(piscina);
      throw error;
    }
  }

  /** Makes the job of that slot end soon, with any outcome. */
  cancel(slot: number): void {
    Atomics.store(this.#flags, slot, 1);
  }

  /** Cancels what runs, and ends the workers after it. */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#healing);
    for (const slot of this.#flags.keys()) this.cancel(slot);
    await this.#end(this.#piscina);
  }

  #end(piscina: Piscina): Promise<void> {
    const ended = piscina.destroy();
    this.#ended.set(piscina, ended);
    return ended;
  }

  #make(): Piscina {
    const { workers, pack_directory } = this.#options;
    const piscina = new Piscina({
      filename: fileURLToPath(new URL('./worker.js', import.meta.url)),
      workerData: { pack_directory, flags: this.#flags } satisfies WorkerData,
      ...threads(workers),
      // Not a worker that is still starting: if it dies, the job fails with it. Piscina asks again when one has started.
      loadBalancer: (_task, candidates) =>
        candidates.find(({ id, currentUsage }) => currentUsage === 0 && this.#up.has(id)) ?? null,
      // With atomics a worker blocks in a wait that only piscina can end.
      atomics: 'disabled',
      recordTiming: false,
    });
    piscina.on('message', ({ worker_up }: WorkerUp) => {
      if (worker_up !== undefined) this.#up.add(worker_up);
    });
    piscina.on('workerDestroy', () => {
      if (this.#closing || piscina !== this.#piscina) return;
      this.replacements += 1;
      this.#healSoon();
    });
    return piscina;
  }

  /** Resolves when all threads have started. When one cannot, rejects and ends the others. */
  #allUp(piscina: Piscina): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        piscina.off('message', onMessage);
        piscina.off('error', fail);
        piscina.off('workerDestroy', onDestroy);
      };
      const onMessage = () => {
        if (!piscina.threads.every(({ threadId }) => this.#up.has(threadId))) return;
        settle();
        piscina.on('error', this.#options.onWorkerError);
        resolve();
      };
      // Piscina emits this when a worker throws while it starts.
      const fail = (error: Error) => {
        settle();
        piscina.on('error', () => {});
        reject(error);
        void this.#end(piscina);
      };
      // Such as for want of memory. The error of one that threw comes in the same turn, and says more.
      const onDestroy = () => setImmediate(fail, new Error('A worker thread ended while it started'));
      piscina.on('message', onMessage);
      piscina.on('error', fail);
      piscina.on('workerDestroy', onDestroy);
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
      this.#pause_ms = Math.min(2 * this.#pause_ms, heal_ms.max);
      if (!this.#closing) this.#healSoon();
      return;
    }
    const old = this.#piscina;
    this.#piscina = fresh;
    this.#pause_ms = heal_ms.first;
    // Running jobs are finished; with no worker left, queued jobs are discarded.
    const ended = old.threads.length > 0 ? old.close() : old.destroy();
    this.#ended.set(old, ended);
    await ended;
    if (this.#closing) await this.#end(fresh);
  }
}

/**
 * Piscina's options for a fixed number of worker threads. Without the flag, piscina would require() the worker's file: terminating it
 * during that ends the process by an assertion (CreateRequiredModuleFacade, Node 20). Node's own flags are not passed on: a thread that
 * gets one does not start. The limit keeps V8's young generation from growing to 48 MiB.
 */
export function threads(count: number) {
  return {
    minThreads: count,
    maxThreads: count,
    resourceLimits: { maxYoungGenerationSizeMb: 3 },
    execArgv: ['--no-experimental-require-module'],
  };
}
