import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { MatchAnswer, MatchJob, MatchOutcome, WorkerData, WorkerUp } from './messages.ts';
import { threads } from './threads.ts';

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
      // Its other way would run two jobs that have come before it answers the first.
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
