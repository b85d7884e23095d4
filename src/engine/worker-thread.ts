import { Worker } from 'node:worker_threads';
import { type Request, type Response, up, type WorkerData } from './jobs.ts';

/**
 * Options of every worker thread. Node's own flags are not passed on: a thread that gets one does not start. The limit keeps V8's young
 * generation from growing to 48 MiB. `require(esm)` is off because terminating a thread during it ends the process by an assertion
 * (CreateRequiredModuleFacade, Node 20).
 */
export const threadOptions = {
  resourceLimits: { maxYoungGenerationSizeMb: 3 },
  execArgv: ['--no-experimental-require-module'],
};

interface Waiting {
  resolve(response: Response<never>): void;
  reject(error: Error): void;
}

interface ThreadOptions {
  /** What it runs; it calls serveJobs. */
  program: URL;
  pack_directory: string;
  /** It takes jobs. */
  onUp(): void;
  /** It is gone. Called before its job rejects. `hadJob`: the job rejects with the same reason. */
  onEnd(reason: Error, hadJob: boolean): void;
}

/** One worker thread, which does one job at a time. */
export class WorkerThread {
  readonly #worker: Worker;
  readonly #cancelled = new Uint8Array(new SharedArrayBuffer(1));
  #waiting: Waiting | undefined;
  /** What it threw. */
  #fault: Error | undefined;
  isUp = false;
  /** Resolves when the job that runs has ended. Never rejects. */
  idle: Promise<unknown> = Promise.resolve();
  /** Resolves when it takes jobs. Rejects when it ends before. */
  readonly started: Promise<void>;
  /** Resolves when the thread is gone. Never rejects. */
  readonly ended: Promise<void>;

  constructor({ program, pack_directory, onUp, onEnd }: ThreadOptions) {
    const workerData: WorkerData = { pack_directory, cancelled: this.#cancelled };
    const worker = new Worker(program, { workerData, ...threadOptions });
    this.#worker = worker;
    worker.on('error', (error) => {
      this.#fault = error instanceof Error ? error : new Error(String(error));
    });
    this.started = new Promise((resolve, reject) => {
      worker.on('message', (message: Response<never> | typeof up) => {
        if (message !== up) return this.#settle()?.resolve(message);
        this.isUp = true;
        onUp();
        resolve();
      });
      worker.on('exit', (code) => {
        this.isUp = false;
        const reason = this.#fault ?? new Error(`The worker thread exited with code ${code}`);
        onEnd(reason, this.#waiting !== undefined);
        this.#settle()?.reject(reason);
        reject(reason);
      });
    });
    this.started.catch(() => {});
    this.ended = new Promise((resolve) => worker.once('exit', () => resolve()));
  }

  /** Rejects when the thread ends before it responds. */
  run<Output>(request: Request): Promise<Response<Output>> {
    const response = new Promise<Response<Output>>((resolve, reject) => {
      Atomics.store(this.#cancelled, 0, 0);
      this.#waiting = { resolve, reject };
      this.#worker.postMessage(request);
    });
    this.idle = response.catch(() => {});
    return response;
  }

  /** Makes its job end soon, with any output. */
  cancel(): void {
    Atomics.store(this.#cancelled, 0, 1);
  }

  /** Ends the thread as soon as no native call keeps it. Resolves when it is gone. */
  terminate(): Promise<void> {
    this.cancel();
    void this.#worker.terminate();
    return this.ended;
  }

  #settle(): Waiting | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
