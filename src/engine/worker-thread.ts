import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type Request, type Response, up, type WorkerData } from './jobs.ts';

/**
 * Options of every worker thread. Node's own flags are not passed on, because a thread that gets one does not
 * start. The limit keeps V8's young generation from growing to 48 MiB. `require(esm)` is off because
 * terminating a thread during it ends the process by an assertion (CreateRequiredModuleFacade, Node 20).
 */
export const threadOptions = {
  resourceLimits: { maxYoungGenerationSizeMb: 3 },
  execArgv: ['--no-experimental-require-module'],
};

interface ThreadOptions {
  /** Entry file of the thread; it calls serveJobs. */
  program: URL;
  pack_directory: string;
  /** The thread accepts jobs. */
  onUp(): void;
  /** The thread is gone. Called before its job rejects. `hadJob`: the job rejects with the same reason. */
  onEnd(reason: Error, hadJob: boolean): void;
}

/**
 * One worker thread, which runs one job at a time: a piscina pool of one. Each slot has its own pool, because
 * a pool of several replaces a thread only if none died during startup, and cannot abandon one that a native
 * call holds.
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
  /** Resolves when the thread accepts jobs. Rejects if it ends before. */
  readonly started: Promise<void>;
  /** Resolves when the thread is gone. Never rejects. */
  readonly ended: Promise<void>;

  constructor({ program, pack_directory, onUp, onEnd }: ThreadOptions) {
    const piscina = new Piscina({
      filename: fileURLToPath(program),
      workerData: { pack_directory, cancelled: this.#cancelled } satisfies WorkerData,
      minThreads: 1,
      maxThreads: 1,
      // With atomics a worker would block in a wait that only piscina can end.
      atomics: 'disabled',
      recordTiming: false,
      ...threadOptions,
    });
    this.#piscina = piscina;
    // Makes a closing pool start no replacement for a thread that died: Pool decides when it is replaced.
    piscina.on('workerDestroy', () => void piscina.close().catch(() => {}));
    // The thread's own events report it.
    piscina.on('error', () => {});
    const worker = piscina.threads[0]!;
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

  /** Rejects if the thread ended before it replied: nothing reads the request then. */
  run<Output>(request: Request): Promise<Response<Output>> {
    Atomics.store(this.#cancelled, 0, 0);
    const response = this.#run<Output>(request);
    this.idle = response.catch(() => {});
    return response;
  }

  async #run<Output>(request: Request): Promise<Response<Output>> {
    this.#hasJob = true;
    try {
      return await this.#piscina.run(request);
    } catch (error) {
      // Piscina rejects at once, while the thread may still read the images.
      await this.ended;
      throw this.#fault ?? error;
    } finally {
      this.#hasJob = false;
    }
  }

  /** Makes its job end soon, with any output. */
  cancel(): void {
    Atomics.store(this.#cancelled, 0, 1);
  }

  /** Ends the thread as soon as no native call holds it. Resolves when it is gone. */
  terminate(): Promise<void> {
    this.cancel();
    void this.#piscina.destroy();
    return this.ended;
  }
}
