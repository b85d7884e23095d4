import { Problem } from '../errors.ts';

/**
 * A bounded first-in-first-out queue of images in front of the pool. The images of a request go to any free workers: two idle
 * ones take one each. While other requests wait too, a worker gets two images of a request at once, which saves a message.
 * Piscina gets images only when a worker is free, because its own queue moves its head to the tail when none is.
 *
 * Only requests whose body has arrived take places in the queue: a slow upload would otherwise keep workers idle in front of
 * a full queue. So admission is checked twice: `full` before the body is read, to refuse early, and then `submit` decides.
 */
interface QueueOptions<Image, Outcome> {
  /** Images that may be processed at once. */
  workers: number;
  /** Images that may run or wait. A request that finds one free place is taken with all of its images. */
  capacity: number;
  /** Longest time from submit to the last outcome; then the answer is 504 deadline_exceeded. */
  deadline_ms: number;
  /**
   * Processes one or two images of one request on one worker; outcomes in their order. `slot`: 0 to `workers` − 1, not used
   * by any other call at the time.
   */
  run(images: readonly Image[], slot: number): Promise<readonly Outcome[]>;
  /** The outcomes of that slot are no longer needed: `run` should end soon, with any. */
  cancel(slot: number): void;
}

export interface Done<Outcome> {
  /** In the order of the images. */
  outcomes: Outcome[];
  /** Milliseconds between submit and the start of the first image. */
  queue_ms: number;
}

/** The images of one request in the queue. */
export interface Ticket<Outcome> {
  /** Rejects with a Problem (overloaded, deadline_exceeded) or with the error of `run`. */
  readonly done: Promise<Done<Outcome>>;
  /** Resolves when no worker reads or will read the images: their memory may be discarded. Never rejects. */
  readonly idle: Promise<void>;
  /** Drops waiting images and cancels running ones. `done` rejects with `reason`. */
  cancel(reason: Error): void;
}

interface Request<Outcome> {
  outcomes: Outcome[];
  /** Images without an outcome. */
  left: number;
  running: Set<number>;
  submitted: number;
  started: number | undefined;
  timer: NodeJS.Timeout;
  /** `done` is settled. */
  over: boolean;
  resolve(done: Done<Outcome>): void;
  reject(error: unknown): void;
  onIdle(): void;
}

interface Entry<Image, Outcome> {
  request: Request<Outcome>;
  index: number;
  image: Image;
}

/** `run` rejected. */
class Broken {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

export class ImageQueue<Image, Outcome> {
  readonly #options: QueueOptions<Image, Outcome>;
  /** A Set keeps the order of insertion and removes any entry in constant time. */
  readonly #waiting = new Set<Entry<Image, Outcome>>();
  readonly #free: number[];
  /** Until the time `#counted`. */
  #busy_ms = 0;
  #counted = performance.now();

  constructor(options: QueueOptions<Image, Outcome>) {
    this.#options = options;
    this.#free = Array.from({ length: options.workers }, (_, slot) => slot);
  }

  /** Images that run or wait. */
  get size(): number {
    return this.running + this.#waiting.size;
  }

  /** Busy workers, including those whose client got a 504 or has left. */
  get running(): number {
    return this.#options.workers - this.#free.length;
  }

  /** Busy time of all workers together, in milliseconds. */
  get busy_ms(): number {
    return this.#busy_ms + this.running * (performance.now() - this.#counted);
  }

  get full(): boolean {
    return this.size >= this.#options.capacity;
  }

  submit(images: readonly Image[]): Ticket<Outcome> {
    if (this.full) {
      return { done: Promise.reject(new Problem('overloaded')), idle: Promise.resolve(), cancel: () => {} };
    }
    const { promise: done, resolve, reject } = withResolvers<Done<Outcome>>();
    const { promise: idle, resolve: onIdle } = withResolvers<void>();
    const request: Request<Outcome> = {
      outcomes: new Array<Outcome>(images.length),
      left: images.length,
      running: new Set(),
      submitted: performance.now(),
      started: undefined,
      timer: setTimeout(
        () => this.#end(request, new Problem('deadline_exceeded')),
        this.#options.deadline_ms,
      ),
      over: false,
      resolve,
      reject,
      onIdle,
    };
    for (const [index, image] of images.entries()) this.#waiting.add({ request, index, image });
    if (images.length === 0) this.#finish(request);
    this.#assign();
    return { done, idle, cancel: (reason) => this.#end(request, reason) };
  }

  #assign(): void {
    for (const entry of this.#waiting) {
      if (this.#free.length === 0) return;
      this.#waiting.delete(entry);
      const second = this.#second(entry);
      if (second) this.#waiting.delete(second);
      void this.#run(second ? [entry, second] : [entry]);
    }
  }

  /** The next image of the same request, if another request waits behind it. */
  #second({ request }: Entry<Image, Outcome>): Entry<Image, Outcome> | undefined {
    let second: Entry<Image, Outcome> | undefined;
    for (const other of this.#waiting) {
      if (other.request !== request) return second;
      second ??= other;
    }
    return undefined;
  }

  /** The slot is held until `run` returns, even when the client already got a 504. */
  async #run(entries: readonly Entry<Image, Outcome>[]): Promise<void> {
    const { request } = entries[0]!;
    this.#count();
    const slot = this.#free.shift()!;
    request.running.add(slot);
    request.started ??= performance.now();
    const images = entries.map(({ image }) => image);
    const outcomes = await this.#options.run(images, slot).catch((error: unknown) => new Broken(error));
    this.#count();
    this.#free.push(slot);
    request.running.delete(slot);
    if (outcomes instanceof Broken) {
      this.#end(request, outcomes.reason);
    } else {
      for (const [at, { index }] of entries.entries()) request.outcomes[index] = outcomes[at]!;
      request.left -= entries.length;
      if (request.left === 0) this.#finish(request);
    }
    if (request.over && request.running.size === 0) request.onIdle();
    this.#assign();
  }

  #finish(request: Request<Outcome>): void {
    if (request.over) return;
    request.over = true;
    clearTimeout(request.timer);
    const started = request.started ?? request.submitted;
    request.resolve({ outcomes: request.outcomes, queue_ms: started - request.submitted });
    if (request.running.size === 0) request.onIdle();
  }

  /** Rejects `done`, drops what waits and cancels what runs. */
  #end(request: Request<Outcome>, error: unknown): void {
    if (request.over) return;
    request.over = true;
    clearTimeout(request.timer);
    for (const entry of this.#waiting) if (entry.request === request) this.#waiting.delete(entry);
    for (const slot of request.running) this.#options.cancel(slot);
    request.reject(error);
    if (request.running.size === 0) request.onIdle();
  }

  /** Call it before the number of running images changes. */
  #count(): void {
    this.#busy_ms = this.busy_ms;
    this.#counted = performance.now();
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
