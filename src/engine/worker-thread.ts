import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type Request, type Response, up, type WorkerData } from './jobs.ts';

/**
 * Options of every worker thread. The main thread's Node flags are not passed on, because a thread does not start
 * with some of them. The limit keeps V8's young generation from growing to 48 MiB. `require(esm)` is disabled,
 * because terminating a thread during such a call crashes the process (CreateRequiredModuleFacade, Node 20).
 */
export const threadOptions = {
  resourceLimits: { maxYoungGenerationSizeMb: 3 },
  execArgv: ['--no-experimental-require-module'],
};

interface ThreadOptions {
  /** Entry file of the thread; it calls serveJobs. */
  program: URL;
  pack_directory: string;
  /** Called when the thread accepts jobs. */
  onUp(): void;
  /**
   * Called when the thread has ended, before its job rejects. `hadJob`: there is a job, which rejects with
   * `reason`.
   */
  onEnd(reason: Error, hadJob: boolean): void;
}

/**
 * One worker thread, which runs one job at a time, as a piscina pool with one thread. Each slot has its own pool,
 * because a pool with several threads cannot abandon a thread that is stuck in a native call, and replaces threads
 * only if none died during startup.
 */
export class WorkerThread {
  readonly #piscina: Piscina;
  readonly #cancelled = new Uint8Array(new SharedArrayBuffer(1));
  /** The error that the thread threw. */
  #fault: Error | undefined;
  #hasJob = false;
  isUp = false;
  /** Resolves when the running job has ended. Never rejects. */
  idle: Promise<unknown> = Promise.resolve();
  /** Resolves when the thread accepts jobs. Rejects if the thread ends first. */
  readonly started: Promise<void>;
  /** Resolves when the thread has ended. Never rejects. */
  readonly ended: Promise<void>;

  constructor({ program, pack_directory, onUp, onEnd }: ThreadOptions) {
    const piscina = new Piscina({
      filename: fileURLToPath(program),
      workerData: { pack_directory, cancelled: this.#cancelled } satisfies WorkerData,
      minThreads: 1,
      maxThreads: 1,
      // With atomics an idle worker blocks in Atomics.wait, and only piscina can wake it.
      atomics: 'disabled',
      recordTiming: false,
      ...threadOptions,
    });
    this.#piscina = piscina;
    // Keeps piscina from replacing a dead thread, because Pool decides when to replace it. Piscina would do so both at
    // the thread's error and at its exit, and `close` ends between these events, so both call it.
    const close = () => void piscina.close().catch(() => {});
    piscina.on('workerDestroy', close);
    // The events of the thread below report the same error.
    piscina.on('error', () => {});
    const worker = piscina.threads[0]!;
    worker.prependListener('exit', close);
    worker.on('error', (error) => {
      this.#fault = error instanceof Error ? error : new Error(String(error));
    });
    this.started = new Promise((resolve, reject) => {
      piscina.on('message', (message: unknown) => {
        if (message !== up) return;
        this.isUp = true;
        onUp();
        resolve();
      });
      worker.on('exit', (code) => {
        this.isUp = false;
        this.#fault ??= new Error(`The worker thread exited with code ${code}`);
        onEnd(this.#fault, this.#hasJob);
        reject(this.#fault);
      });
    });
    this.started.catch(() => {});
    this.ended = new Promise((resolve) => worker.once('exit', () => resolve()));
  }

  /** Runs a job. Rejects if the thread ended before it replied; the request is then no longer in use. */
  run<Output>(request: Request): Promise<Response<Output>> {
    Atomics.store(this.#cancelled, 0, 0);
    const response = this.#run<Output>(request);
    this.idle = response.catch(() => {});
    return response;
  }

  async #run<Output>(request: Request): Promise<Response<Output>> {
    this.#hasJob = true;
    try {
      // Piscina would start another thread for the job.
      if (this.#fault !== undefined) throw this.#fault;
      return await this.#piscina.run(request);
    } catch (error) {
      // Piscina rejects at once, while the thread may still read the images.
      await this.ended;
      throw this.#fault ?? error;
    } finally {
      this.#hasJob = false;
    }
  }

  /** Makes the running job end soon, with an arbitrary output. */
  cancel(): void {
    Atomics.store(this.#cancelled, 0, 1);
  }

  /** Ends the thread once no native call is running. Resolves when the thread has ended. */
  terminate(): Promise<void> {
    this.cancel();
    void this.#piscina.destroy();
    return this.ended;
  }
}
