import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Addon, AnalyseOptions } from './addon.ts';
import { AnalysisCache } from './analysis-cache.ts';
import { loadAddon } from './load-addon.ts';
import type { Manifest } from './manifest.ts';
import { verifyPack } from './pack-files.ts';
import { type Outcome, Pool, type WorkJob, type WorkOutcome } from './pool.ts';
import { type Job, JobQueue, type Origin, type Ticket } from './queue.ts';

/** The words of a JobFault for the log. */
const jobFaults = {
  failed: 'a worker failed at these images',
  overdue: 'these images were not done at the deadline',
  stuck: 'a worker hangs at these images',
};

/** Queue settings and metrics count matches of two images; the queue itself counts images. */
const images_in_match = 2;

/** What was cancelled ends within milliseconds, on a machine that is very busy within this time. */
const minStuck_ms = 5000;

/** A model pack with its workers, the queue in front of them, and the cache of analyses. */
export class Engine {
  readonly addon: Addon;
  readonly #queue: JobQueue;
  readonly #cache: AnalysisCache | undefined;
  readonly #config: Config;
  readonly #logger: Pick<Logger, 'warn' | 'error'>;
  #pool: Pool | undefined;

  /** Loads the addon, so that a fault of it is reported once, and starts nothing yet. Throws an Error with a message for people. */
  constructor(config: Config, logger: Pick<Logger, 'warn' | 'error'>) {
    this.#config = config;
    this.#logger = logger;
    this.addon = loadAddon();
    const { workers, queue_capacity, deadline_ms, embedding_cache_size } = config;
    this.#queue = new JobQueue({
      workers,
      capacity: images_in_match * (workers + queue_capacity),
      deadline_ms,
      stuck_ms: Math.max(minStuck_ms, deadline_ms),
      run: (jobs, slot) => this.#run(jobs, slot),
      cancel: (slot) => this.#pool!.cancel(slot),
      onJobFault: ({ kind, jobs, request_id, reason }) => {
        const images = jobs.flatMap((job) => ('image' in job ? [noteOf(job.image)] : []));
        const fault = reason === undefined ? undefined : String(reason);
        // The line of the request itself tells a fault only where the answer is late enough for it.
        if (kind === 'overdue') logger.warn({ request_id, images }, jobFaults[kind]);
        else logger.error({ request_id, images, fault }, jobFaults[kind]);
      },
    });
    if (embedding_cache_size > 0) this.#cache = new AnalysisCache(embedding_cache_size);
  }

  /** Resolves when every worker has done its first inference. Rejects with an Error with a message for people. */
  async start(pack_directory: string, manifest: Manifest): Promise<void> {
    await verifyPack(pack_directory, manifest);
    // Here once for the whole process, so that a fault is reported once; the workers then share the sessions.
    this.addon.loadPack(pack_directory, manifest);
    this.#pool = await Pool.start({
      workers: this.#config.workers,
      pack_directory,
      onWorkerError: ({ message }) => this.#logger.error({ fault: message }, 'a worker died; it is replaced'),
    });
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
  get stuck(): number {
    return this.#queue.stuck;
  }

  /**
   * Analyses the images of one request, which must not change until the ticket is idle. Outcomes are in their order; a failure is one too.
   * `keep`: whether the analyses may be cached.
   */
  analyse(
    images: readonly Uint8Array[],
    options: AnalyseOptions,
    keep: boolean,
    origin: Origin,
  ): Ticket<Outcome> {
    const submit = (images: readonly Uint8Array[], how: AnalyseOptions) =>
      this.#queue.submit<Outcome>(
        images.map((image) => ({ image, options: how })),
        origin,
      );
    if (this.#cache === undefined || !keep) return submit(images, options);
    return this.#cache.analyse(origin.owner, images, options, submit);
  }

  /** Calculates in a worker. The job takes one place in the queue. */
  work(job: WorkJob, origin: Origin): Ticket<WorkOutcome> {
    return this.#queue.submit<WorkOutcome>([job], origin);
  }

  /** All jobs belong to one request, and so are of one kind. */
  #run(jobs: readonly Job[], slot: number): Promise<(Outcome | WorkOutcome)[]> {
    const first = jobs[0]!;
    if ('module' in first) return this.#pool!.run({ ...first, slot });
    const images = jobs.flatMap((job) => ('image' in job ? [job.image] : []));
    return this.#pool!.run({ images, options: first.options, slot });
  }

  /** Ends the workers after native calls in progress. Call it after `start` has settled. */
  async close(): Promise<void> {
    await this.#pool?.close();
  }

  gauges() {
    return {
      queue_depth: () => Math.max(0, Math.ceil(this.#queue.size / images_in_match) - this.#config.workers),
      queue_capacity: () => this.#config.queue_capacity,
      workers: () => this.answering,
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

/** What a log line may say of an image at which a job failed: enough to find it among one's own, and nothing to see. */
function noteOf(image: Uint8Array) {
  // A copy, because hash() takes no shared memory.
  const bytes = Buffer.from(image);
  const start = bytes.toString('latin1', 0, 12);
  const [format] = beginnings.find(([, beginning]) => beginning.test(start)) ?? ['unknown'];
  const sha256 = hash('sha256', bytes).slice(0, 16);
  bytes.fill(0);
  return { bytes: bytes.length, format, sha256 };
}

const beginnings = [
  ['jpeg', /^\xff\xd8\xff/],
  ['png', /^\x89PNG\r\n/],
  ['webp', /^RIFF[\s\S]{4}WEBP/],
] as const;
