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

/** Log messages by kind of JobFault. */
const jobFaults = {
  failed: 'job failed in its worker',
  overdue: 'job exceeded its deadline',
  stuck: 'worker stuck in a native call; its images are rejected from now on',
};

/** Settings and metrics of the queue count matches of two images. The queue counts images. */
const images_in_match = 2;

/** A cancelled call counts as stuck after the deadline, clamped to these limits. Most calls end within milliseconds. */
const stuck_ms = { min: 1000, max: 5000 };

/** Estimated minimum time per megapixel. With this value, images above five megapixels are scheduled one by one. */
const megapixel_ms = 10;

/** Number of bytes that are searched for the size of an image. The metadata of most photos is shorter. */
const head_bytes = 65_536;

/** Assumed size of an image whose size is not found. Such images are scheduled one by one. */
const unknownSize = { width: 4000, height: 3000 };

/** A job of a request. It occupies one place in the queue. */
interface Work<J extends Jobs> {
  sender: Sender;
  /** The images to analyse or to search again; empty for a calculation. */
  images: readonly Uint8Array[];
  estimate_ms: number;
  /** Runs `works`, jobs of the same request and kind, on the worker of this slot. */
  run(works: readonly Work<J>[], slot: number, pool: Pool<J>): Promise<void>;
  /** performance.now() at the start of the job. */
  began_ms?: number;
  /** True if the job got stuck, and the sender was notified of its elapsed time. */
  isPaid?: boolean;
}

/** Sender of a request. */
export interface Sender extends Origin {
  /** Called with the CPU time of each job that ends, even after the response, or the elapsed time of a stuck job. */
  spent?(cpu_ms: number): void;
}

/**
 * The work after the first analysis of a request's images: a second search of some of the images, or a calculation. It
 * runs on the worker that analysed the last image, or on any worker if all analyses are cached.
 */
export interface Further<J extends Jobs, Name extends NameOf<J>> {
  /** Returns the positions of the images that need a second search. */
  unsettled(outcomes: readonly Outcome[]): readonly number[];
  name: Name;
  /** Returns undefined if there is nothing to calculate. */
  input(outcomes: readonly Outcome[]): InputOf<J, Name> | undefined;
}

export interface Analyses<Output> {
  /** Outcomes in the order of the images, including failures. */
  outcomes: readonly Outcome[];
  /** The outcomes before the second search. */
  first: readonly Outcome[];
  /** Output of the calculation. */
  output: Output | undefined;
  /** Milliseconds between submit and the start of the first job. */
  queue_ms: number;
}

/** A model pack with its workers, their queue, and the cache of analyses. `J`: the calculations of the workers. */
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
   * Loads the addon, so that an error is reported once. Starts no thread. `program`: entry file of the worker
   * threads. Throws an Error whose message is meant for the user.
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
   * Resolves when every worker has run its first inference. Rejects with an Error whose message is meant for the user.
   */
  async start(pack_directory: string, manifest: Manifest): Promise<void> {
    await verifyPack(pack_directory, manifest);
    // The pack is loaded here, so that an error is reported once. The workers share the sessions.
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

  /** Returns true if another request of this key would be rejected. */
  isFull(owner: string): boolean {
    return this.#queue.isFull(owner);
  }

  /** Counts the key as active until the returned function is called once. A worker stays free for an active key. */
  arrived(owner: string): () => void {
    return this.#queue.arrived(owner);
  }

  /** Number of live workers that have run their first inference. */
  get available(): number {
    return this.#pool?.available ?? 0;
  }

  /** Number of stuck native calls. */
  get stuck(): number {
    return this.#queue.stuck;
  }

  /** Number of stuck workers that were not replaced, because too many are stuck. */
  get blocked(): number {
    return this.#queue.blocked;
  }

  /**
   * Analyses the images of one request, which must not change until the ticket is idle. `keep`: true if the analyses
   * may be cached. `further`: the work after the analyses.
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

  /** Runs a calculation in a worker. `done` rejects with the error of the job. */
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

  /** `known`: the outcomes in the cache, by the positions of their images. */
  #analyse<Name extends NameOf<J>>(
    images: readonly Uint8Array[],
    known: readonly (Outcome | undefined)[],
    options: AnalyseOptions,
    sender: Sender,
    further: Further<J, Name> | undefined,
  ): Ticket<Analyses<OutputOf<J, Name>>> {
    const outcomes = images.map((image, at) => this.#rejected(image) ?? known[at]);
    const missing = [...outcomes.keys()].filter((at) => outcomes[at] === undefined);
    // All positions are filled once all jobs are done.
    const found = () => outcomes.filter((outcome) => outcome !== undefined);
    const run: Work<J>['run'] = async (batch, slot, pool) => {
      const from = works.indexOf(batch[0]!);
      const analyse = { images: imagesOf(batch), options };
      const analysed = this.#outputOf(await pool.analyse(slot, analyse), batch);
      for (const [index, outcome] of analysed.entries()) outcomes[missing[from + index]!] = outcome;
    };
    const works = missing.map((at): Work<J> => ({ ...imageWork(images[at]!), sender, run }));
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
    // If all analyses are cached, the second search or the calculation is a separate job.
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

  /** Returns the job of the second search, which replaces outcomes; undefined if no image has a candidate. */
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
    const searched = jobs.map(({ at }) => images[at]!);
    const earlier = jobs.map((job) => job.earlier);
    return {
      sender,
      images: searched,
      estimate_ms: 0,
      run: async (batch, slot, pool) => {
        const found = this.#outputOf(await pool.analyse(slot, { images: searched, options, earlier }), batch);
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
      images: [],
      estimate_ms: 0,
      run: async (batch, slot, pool) => keep(this.#outputOf(await pool.run(slot, name, input), batch)),
    };
  }

  /**
   * Returns the output of jobs that ran together, and reports their CPU time to the sender. Throws the error of the
   * jobs.
   */
  #outputOf<Output>(response: Response<Output>, works: readonly Work<J>[]): Output {
    const [{ sender, isPaid }] = works as [Work<J>];
    if (isPaid) this.#forget(imagesOf(works), response.cpu_ms);
    else sender.spent?.(response.cpu_ms);
    if (response.ok) return response.output;
    throw 'error' in response ? response.error : new Problem(response.code, response.extras);
  }

  /** Returns the outcome of an image on which a worker got stuck before; undefined for any other image. */
  #rejected(image: Uint8Array): Outcome | undefined {
    return this.#stuckImages.has(image) ? { ok: false, code: 'image_too_complex' } : undefined;
  }

  /**
   * Accepts the images of a stuck call again if it ended after little CPU time. The cause was then a busy machine, not
   * the images.
   */
  #forget(images: readonly Uint8Array[], cpu_ms: number): void {
    if (cpu_ms > 2 * images.length * this.#config.image_timeout_ms) return;
    for (const image of images) this.#stuckImages.delete(image);
  }

  #report({ kind, jobs, request_id, reason }: JobFault<Work<J>>): void {
    // The response reports a client error, such as a malformed embedding. Its text does not belong in a log.
    if (reason instanceof Problem) return;
    const photos = imagesOf(jobs);
    const images = photos.map(noteOf);
    const error = reason === undefined ? undefined : String(reason);
    // Logged here, because the log line of the request contains only errors that precede the response.
    if (kind === 'overdue') this.#logger.warn({ request_id, images }, jobFaults[kind]);
    else this.#logger.error({ request_id, images, error }, jobFaults[kind]);
    if (kind !== 'stuck') return;
    for (const photo of photos) this.#stuckImages.add(photo);
    // The elapsed time is used, because the CPU time of a job that has not ended is unknown.
    const [{ sender, began_ms = 0 }] = jobs as [Work<J>];
    sender.spent?.(performance.now() - began_ms);
    jobs[0]!.isPaid = true;
  }

  /** Ends the workers when their native calls have returned. Call it after `start` has settled. */
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
  return { images: [image], estimate_ms: ((width * height) / 1e6) * megapixel_ms };
}

const imagesOf = (works: readonly Pick<Work<Jobs>, 'images'>[]) => works.flatMap(({ images }) => images);

/** Returns properties by which the owner of a failed image can find it in the log. They do not reveal the content. */
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
