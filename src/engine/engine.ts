import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { Problem } from '../errors.ts';
import type { Addon, AnalyseOptions, Analysis, Earlier } from './addon.ts';
import { AnalysisCache } from './analysis-cache.ts';
import { earlierOf, withFurther, withoutCandidates } from './further.ts';
import { declaredSize } from './image-size.ts';
import type { InputOf, Jobs, NameOf, Outcome, OutputOf, Response } from './jobs.ts';
import { loadAddon } from './load-addon.ts';
import type { Manifest } from './manifest.ts';
import { verifyPack } from './pack-files.ts';
import { Pool } from './pool.ts';
import { type Finish, type JobFault, JobQueue, type Origin, type Ticket } from './queue.ts';
import { hashed_bytes, StuckImages, sha256 } from './stuck-images.ts';

/** Texts of a JobFault for the log. */
const jobFaults = {
  failed: 'worker failed to analyse images',
  overdue: 'deadline exceeded while analysing images',
  stuck: 'worker stuck in a native call; its images are rejected from now on',
};

/** Queue settings and metrics count matches of two images; the queue itself counts images. */
const images_in_match = 2;

/**
 * Cancelled calls end within milliseconds, on a very busy machine within the deadline. After these limits
 * they count as stuck.
 */
const stuck_ms = { min: 1000, max: 5000 };

/**
 * Minimum time for a megapixel, so that of two images with more than five megapixels each is scheduled alone.
 */
const megapixel_ms = 10;

/** Covers most photos' metadata before the size. */
const head_bytes = 65_536;

/** Images whose size is not found are taken for large, so each is scheduled alone. */
const unknownSize = { width: 4000, height: 3000 };

/** One place in the queue: a task of a worker for a request. */
interface Work<J extends Jobs> {
  sender: Sender;
  /** Images to analyse; calculations have none. */
  image?: Uint8Array;
  estimate_ms: number;
  /** Runs this job and the others, of the same request and kind, on that worker. */
  run(works: readonly Work<J>[], slot: number, pool: Pool<J>): Promise<void>;
  /** performance.now() at the start of the job. */
  began_ms?: number;
  /** True if the sender was notified of the cost. */
  isPaid?: boolean;
}

/** Sender of the request, and who is notified of its cost. */
export interface Sender extends Origin {
  /** Called with the CPU time of each job of the request when the job has ended, even after the response. */
  spent?(cpu_ms: number): void;
}

/**
 * The work after the first analysis of a request's images, on the worker that did the last one: a further search of
 * some of the images, or else a calculation.
 */
export interface Further<J extends Jobs, Name extends NameOf<J>> {
  /** Returns the positions of the images to search further. */
  unsettled(outcomes: readonly Outcome[]): readonly number[];
  name: Name;
  /** Returns undefined if there is nothing to calculate. */
  input(outcomes: readonly Outcome[]): InputOf<J, Name> | undefined;
}

export interface Analyses<Output> {
  /** Outcomes in the order of the images, including failures. */
  outcomes: readonly Outcome[];
  /** The same without the further search. */
  first: readonly Outcome[];
  /** Output of the calculation that follows them. */
  output: Output | undefined;
  /** Milliseconds between submit and the start of the first job. */
  queue_ms: number;
}

/**
 * A model pack with its workers, the queue in front of them, and the cache of analyses. `J`: further
 * calculations of the workers.
 */
export class Engine<J extends Jobs> {
  readonly addon: Addon;
  readonly #queue: JobQueue<Work<J>, Work<J>>;
  readonly #cache: AnalysisCache | undefined;
  readonly #stuckImages = new StuckImages();
  readonly #config: Config;
  readonly #program: URL;
  readonly #logger: Pick<Logger, 'warn' | 'error'>;
  #pool: Pool<J> | undefined;

  /**
   * Loads the addon, so that an error is reported once, but starts no thread. `program`: entry file of each
   * worker thread. Throws an Error with a message for people.
   */
  constructor(config: Config, program: URL, logger: Pick<Logger, 'warn' | 'error'>) {
    this.#config = config;
    this.#program = program;
    this.#logger = logger;
    this.addon = loadAddon();
    const { workers, queue_capacity, deadline_ms, embedding_cache_size } = config;
    this.#queue = new JobQueue({
      workers,
      capacity: images_in_match * (workers + queue_capacity),
      deadline_ms,
      stuck_ms: Math.min(stuck_ms.max, Math.max(stuck_ms.min, deadline_ms)),
      run: async (works, slot) => {
        const [first] = works;
        first!.began_ms = performance.now();
        await first!.run(works, slot, this.#pool!);
        return works;
      },
      cancel: (slot) => this.#pool!.cancel(slot),
      replace: (slot) => this.#pool!.replace(slot),
      estimate_ms: ({ estimate_ms }) => estimate_ms,
      onJobFault: (fault) => this.#report(fault),
    });
    if (embedding_cache_size > 0) this.#cache = new AnalysisCache(embedding_cache_size);
  }

  /**
   * Resolves when every worker has run its first inference. Rejects with an Error with a message for people.
   */
  async start(pack_directory: string, manifest: Manifest): Promise<void> {
    await verifyPack(pack_directory, manifest);
    // Loads the pack here once for the process, so that an error is reported once; the workers then share the
    // sessions.
    this.addon.loadPack(pack_directory, manifest);
    this.#pool = await Pool.start({
      workers: this.#config.workers,
      pack_directory,
      program: this.#program,
      onUp: (slot) => this.#queue.workerUp(slot),
      onDown: (slot) => this.#queue.workerDown(slot),
      onWorkerError: ({ message }) =>
        this.#logger.error({ error: message }, 'worker exited unexpectedly; starting a replacement'),
    });
  }

  /** Returns true if a further request of this key would be rejected. */
  isFull(owner: string): boolean {
    return this.#queue.isFull(owner);
  }

  /**
   * Counts the key as active, so that a worker stays free for it, until the returned function is called once.
   */
  arrived(owner: string): () => void {
    return this.#queue.arrived(owner);
  }

  /** Number of live workers that have run their first inference. */
  get available(): number {
    return this.#pool?.available ?? 0;
  }

  /** Number of native calls that have not ended long after they were cancelled. */
  get stuck(): number {
    return this.#queue.stuck;
  }

  /** Number of workers held by such a call, because too many are stuck to replace another one. */
  get blocked(): number {
    return this.#queue.blocked;
  }

  /**
   * Analyses the images of one request, which must not change until the ticket is idle. `keep`: whether the
   * analyses may be cached. `further`: what follows the analyses.
   */
  analyse<Name extends NameOf<J>>(
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    keep: boolean,
    sender: Sender,
    further?: Further<J, Name>,
  ): Ticket<Analyses<OutputOf<J, Name>>> {
    const submit = (known: readonly (Outcome | undefined)[]) =>
      this.#analyse(images, known, options, sender, further);
    if (this.#cache === undefined || !keep) return submit(images.map(() => undefined));
    return this.#cache.analyse(sender.owner, images, options, submit);
  }

  /** Calculates in a worker. The job takes one place in the queue. Rejects with its Problem. */
  work<Name extends NameOf<J>>(
    name: Name,
    input: InputOf<J, Name>,
    sender: Sender,
  ): Ticket<{ output: OutputOf<J, Name>; queue_ms: number }> {
    let output: OutputOf<J, Name>;
    const work = this.#calculation(name, input, sender, (given) => {
      output = given;
    });
    const ticket = this.#queue.submit([work], sender);
    return { ...ticket, done: ticket.done.then(({ queue_ms }) => ({ output, queue_ms })) };
  }

  /** `known`: outcomes that are already known, by the positions of their images. */
  #analyse<Name extends NameOf<J>>(
    images: readonly Uint8Array[],
    known: readonly (Outcome | undefined)[],
    options: AnalyseOptions,
    sender: Sender,
    further: Further<J, Name> | undefined,
  ): Ticket<Analyses<OutputOf<J, Name>>> {
    const outcomes = images.map((image, at) => known[at] ?? this.#rejected(image));
    const missing = [...outcomes.keys()].filter((at) => outcomes[at] === undefined);
    // All positions are filled once all jobs are done.
    const found = () => outcomes.filter((outcome) => outcome !== undefined);
    const works = missing.map((at): Work<J> => ({ ...imageWork(images[at]!), sender, run }));
    const forget = (some: readonly Uint8Array[], cpu_ms: number) => this.#forget(some, cpu_ms);
    async function run(these: readonly Work<J>[], slot: number, pool: Pool<J>) {
      const from = works.indexOf(these[0]!);
      const some = these.map((_work, index) => images[missing[from + index]!]!);
      const response = await pool.analyse(slot, { images: some, options });
      if (these[0]!.isPaid) forget(some, response.cpu_ms);
      const analysed = outputOf(response, these);
      for (const [index, outcome] of analysed.entries()) outcomes[missing[from + index]!] = outcome;
    }
    let output: OutputOf<J, Name> | undefined;
    let complete: Outcome[] | undefined;
    const finish: Finish<Work<J>, Work<J>> = () => {
      const first = found();
      const unsettled = further?.unsettled(first) ?? [];
      if (unsettled.length > 0) {
        complete = [...first];
        return this.#search(images, unsettled, options, sender, complete);
      }
      const input = further?.input(first);
      if (further === undefined || input === undefined) return undefined;
      return this.#calculation(further.name, input, sender, (given) => {
        output = given;
      });
    };
    // If no image has to be analysed, the calculation is a separate job.
    const only = works.length === 0 ? finish([]) : undefined;
    const ticket = only ? this.#queue.submit([only], sender) : this.#queue.submit(works, sender, finish);
    const done = ticket.done.then(({ queue_ms }) => ({
      outcomes: complete ?? found(),
      first: found(),
      output,
      queue_ms,
    }));
    return { ...ticket, done };
  }

  /**
   * The job that searches some of the images further and replaces their outcomes. Undefined if there is nothing left to
   * search.
   */
  #search(
    images: readonly Uint8Array[],
    unsettled: readonly number[],
    options: AnalyseOptions,
    sender: Sender,
    outcomes: Outcome[],
  ): Work<J> | undefined {
    const jobs: { at: number; first: Analysis; earlier: Earlier }[] = [];
    for (const at of unsettled) {
      const first = outcomes[at]!;
      if (!first.ok) continue;
      const earlier = earlierOf(first);
      if (earlier) jobs.push({ at, first, earlier });
      else outcomes[at] = withoutCandidates(first);
    }
    if (jobs.length === 0) return undefined;
    return {
      sender,
      estimate_ms: 0,
      run: async (these, slot, pool) => {
        const some = jobs.map(({ at }) => images[at]!);
        const earlier = jobs.map((job) => job.earlier);
        const found = outputOf(await pool.analyse(slot, { images: some, options, earlier }), these);
        for (const [i, { at, first }] of jobs.entries()) outcomes[at] = withFurther(first, found[i]!);
      },
    };
  }

  #calculation<Name extends NameOf<J>>(
    name: Name,
    input: InputOf<J, Name>,
    sender: Sender,
    keep: (output: OutputOf<J, Name>) => void,
  ): Work<J> {
    return {
      sender,
      estimate_ms: 0,
      run: async (these, slot, pool) => keep(outputOf(await pool.run(slot, name, input), these)),
    };
  }

  /** The outcome of an image at which a worker got stuck before. */
  #rejected(image: Uint8Array): Outcome | undefined {
    return this.#stuckImages.has(image) ? { ok: false, code: 'image_too_complex' } : undefined;
  }

  /**
   * The calls ended after all. If they took no more CPU time than allowed, the machine was too busy, and the
   * images are not the cause.
   */
  #forget(images: readonly Uint8Array[], cpu_ms: number): void {
    if (cpu_ms > 2 * images.length * this.#config.image_timeout_ms) return;
    for (const image of images) this.#stuckImages.delete(image);
  }

  #report({ kind, jobs, request_id, reason }: JobFault<Work<J>>): void {
    // A client error, such as a malformed embedding: the response reports it, and its text does not belong in
    // a log.
    if (reason instanceof Problem) return;
    const photos = jobs.flatMap(({ image }) => image ?? []);
    const images = photos.map(noteOf);
    const error = reason === undefined ? undefined : String(reason);
    // The log line of the request reports an error only if the response comes after it.
    if (kind === 'overdue') this.#logger.warn({ request_id, images }, jobFaults[kind]);
    else this.#logger.error({ request_id, images, error }, jobFaults[kind]);
    if (kind !== 'stuck') return;
    for (const photo of photos) this.#stuckImages.add(photo);
    // The CPU time of a job that has not ended is unknown.
    const [{ sender, began_ms = 0 }] = jobs as [Work<J>];
    sender.spent?.(performance.now() - began_ms);
    jobs[0]!.isPaid = true;
  }

  /** Ends the workers after native calls in progress. Call it after `start` has settled. */
  async close(): Promise<void> {
    await this.#pool?.close();
  }

  gauges() {
    return {
      queue_depth: () => Math.max(0, Math.ceil(this.#queue.size / images_in_match) - this.#config.workers),
      queue_capacity: () => this.#config.queue_capacity,
      workers: () => this.available,
      workers_busy: () => this.#queue.running,
      workers_stuck: () => this.stuck,
      worker_busy_seconds_total: () => this.#queue.busy_ms / 1000,
      worker_replacements_total: () => this.#pool?.replacements ?? 0,
      embedding_cache_hits_total: () => this.#cache?.hits ?? 0,
      embedding_cache_misses_total: () => this.#cache?.misses ?? 0,
      embedding_cache_images: () => this.#cache?.size ?? 0,
    };
  }
}

function imageWork(image: Uint8Array) {
  const { buffer, byteOffset, length } = image;
  const head = Buffer.from(buffer, byteOffset, Math.min(length, head_bytes));
  const { width, height } = declaredSize(head) ?? unknownSize;
  return { image, estimate_ms: ((width * height) / 1e6) * megapixel_ms };
}

/**
 * Returns the output of a job, and reports its cost to its sender. Throws its Problem, or whatever else it
 * threw.
 */
function outputOf<Output>(
  response: Response<Output>,
  [work]: readonly Pick<Work<Jobs>, 'sender' | 'isPaid'>[],
): Output {
  if (!work!.isPaid) work!.sender.spent?.(response.cpu_ms);
  if (response.ok) return response.output;
  throw 'error' in response ? response.error : new Problem(response.code, response.extras);
}

/**
 * Properties of a failed image that a log line may contain: enough for its owner to find it, and nothing of
 * its content.
 */
function noteOf(image: Uint8Array) {
  const start = Buffer.from(image.subarray(0, 12)).toString('latin1');
  const [format] = beginnings.find(([, beginning]) => beginning.test(start)) ?? ['unknown'];
  const hash = image.length > hashed_bytes ? 'sha256_of_first_mib' : 'sha256';
  return { bytes: image.length, format, [hash]: sha256(image).slice(0, 16) };
}

const beginnings = [
  ['jpeg', /^\xff\xd8\xff/],
  ['png', /^\x89PNG\r\n/],
  ['webp', /^RIFF[\s\S]{4}WEBP/],
] as const;
