import type { Config } from '../config/config.ts';
import type { Addon, AnalyseOptions, OnnxRuntime } from './addon.ts';
import { AnalysisCache } from './analysis-cache.ts';
import type { EmbeddingsJob } from './embeddings.ts';
import { noteOf, type PictureNote } from './image-note.ts';
import { loadAddon } from './load-addon.ts';
import { type PackDraft, verifyPack } from './manifest.ts';
import { type EmbeddingsOutcome, type Outcome, Pool } from './pool.ts';
import { ImageQueue } from './queue.ts';
import type { Harm, Origin, Ticket } from './ticket.ts';

interface EngineOptions {
  config: Pick<Config, 'workers' | 'queue' | 'deadline_ms' | 'embedding_cache'>;
  pack_directory: string;
  manifest: PackDraft;
  /** A worker died or failed while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
  /** See Harm. No pictures for a match of embeddings. */
  onHarm?(harm: Omit<Harm<Job>, 'images'> & { pictures: readonly PictureNote[] }): void;
}

/** What one place in the queue stands for. */
type Job = { image: Uint8Array; options: AnalyseOptions } | { embeddings: EmbeddingsJob };

/** Queue settings and metrics count matches of two images; the queue itself counts images. */
const images_in_match = 2;

/** Fewer bytes are copied in less time than a call of the addon takes. */
const nativeFrom_bytes = 512;

/** What was cancelled ends within milliseconds, on a machine that is very busy within this time. */
const leastWedged_ms = 5000;

/** A model pack with its workers, the queue in front of them, and the cache of analyses. */
export class Engine {
  readonly #queue: ImageQueue<Job, Outcome | EmbeddingsOutcome>;
  readonly #cache: AnalysisCache | undefined;
  readonly #options: EngineOptions;
  #addon: Addon | undefined;
  #pool: Pool | undefined;
  #workerReplacements = 0;

  /** Starts nothing yet. */
  constructor(options: EngineOptions) {
    this.#options = options;
    const { workers, queue, deadline_ms, embedding_cache } = options.config;
    this.#queue = new ImageQueue({
      workers,
      capacity: images_in_match * (workers + queue),
      deadline_ms,
      wedged_ms: Math.max(leastWedged_ms, deadline_ms),
      run: (jobs, slot) => this.#run(jobs, slot),
      cancel: (slot) => this.#pool!.cancel(slot),
      onHarm: ({ images, ...harm }) => {
        const pictures = images.flatMap((job) => ('image' in job ? [noteOf(job.image)] : []));
        options.onHarm?.({ ...harm, pictures });
      },
    });
    if (embedding_cache > 0) this.#cache = new AnalysisCache(embedding_cache);
  }

  /** Resolves when every worker has done its first inference. Rejects with an Error with a message for people. */
  async start(): Promise<void> {
    const { config, pack_directory, manifest, onWorkerError } = this.#options;
    await verifyPack(pack_directory, manifest);
    // Loaded here once for the whole process, so that a fault is reported once; the workers then share the sessions.
    this.#addon ??= loadAddon();
    this.#addon.loadPack(pack_directory, manifest);
    this.#pool = await Pool.start({
      workers: config.workers,
      pack_directory,
      onWorkerReplaced: () => {
        this.#workerReplacements += 1;
      },
      onWorkerError,
    });
  }

  /** What runs the nets. */
  get onnxRuntime(): OnnxRuntime {
    this.#addon ??= loadAddon();
    return this.#addon.onnxRuntime();
  }

  /** Whether a further request of this key would be refused. */
  isFull(owner: string): boolean {
    return this.#queue.isFull(owner);
  }

  /** Live workers that have done their first inference. */
  get answering(): number {
    return this.#pool?.answering ?? 0;
  }

  /** Workers that hang in a native call: they were to end long ago. */
  get wedged(): number {
    return this.#queue.wedged;
  }

  /**
   * Analyses the images of one request, each on any free worker. They are in shared memory, which must not change until the
   * ticket is idle. Outcomes are in the order of the images; a failure is an outcome too. `keep`: whether the analyses may
   * be cached.
   */
  analyse(
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    keep: boolean,
    origin: Origin,
  ): Ticket<Outcome> {
    const submit = (images: readonly Uint8Array[], how: AnalyseOptions) =>
      this.#queue.submit(
        images.map((image) => ({ image, options: how })),
        origin,
      ) as Ticket<Outcome>;
    if (this.#cache === undefined || !keep) return submit(images, options);
    return this.#cache.analyse(images, options, submit);
  }

  /** Compares embeddings. The job takes one place in the queue. */
  rank(embeddings: EmbeddingsJob, origin: Origin): Ticket<EmbeddingsOutcome> {
    return this.#queue.submit([{ embeddings }], origin) as Ticket<EmbeddingsOutcome>;
  }

  /** All jobs belong to one request, and so are of one kind. */
  async #run(jobs: readonly Job[], slot: number): Promise<(Outcome | EmbeddingsOutcome)[]> {
    const first = jobs[0]!;
    if ('embeddings' in first) return [await this.#pool!.rank(first.embeddings, slot)];
    const images = jobs.flatMap((job) => ('image' in job ? [job.image] : []));
    return this.#pool!.run(images, first.options, slot);
  }

  /** Ends the workers after native calls in progress. Call it after `start` has settled. */
  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** See Addon. */
  preferNewestListener(port: number): void {
    this.#addon?.preferNewestListener(port);
  }

  /** See Addon. */
  dropNewConnections(port: number): void {
    this.#addon?.dropNewConnections(port);
  }

  /** See Addon. */
  useHugePages(bytes: Uint8Array): void {
    this.#addon?.useHugePages(bytes);
  }

  /** See Addon. */
  copyBytes(to: Uint8Array, at: number, from: Uint8Array): void {
    if (this.#addon === undefined || from.length < nativeFrom_bytes) to.set(from, at);
    else this.#addon.copyBytes(to, at, from);
  }

  /** See Addon. */
  wipe(bytes: Uint8Array, count: number): void {
    if (this.#addon === undefined) bytes.fill(0, 0, count);
    else this.#addon.wipe(bytes, count);
  }

  /** See Addon. */
  discard(bytes: Uint8Array, written: number): void {
    this.#addon?.discard(bytes, written);
  }

  /** Values of the metrics of the same names. */
  readings() {
    return {
      queue_depth: () =>
        Math.max(0, Math.ceil(this.#queue.size / images_in_match) - this.#options.config.workers),
      queue_capacity: () => this.#options.config.queue,
      workers: () => this.answering,
      workers_busy: () => this.#queue.running,
      workers_wedged: () => this.wedged,
      worker_busy_seconds_total: () => this.#queue.busy_ms / 1000,
      worker_replacements_total: () => this.#workerReplacements,
      embedding_cache_hits_total: () => this.#cache?.hits ?? 0,
      embedding_cache_misses_total: () => this.#cache?.misses ?? 0,
      embedding_cache_pictures: () => this.#cache?.size ?? 0,
    };
  }
}
