import type { Config } from '../config.ts';
import { type Addon, loadAddon } from './addon.ts';
import { BodyMemory } from './body-memory.ts';
import { type PackManifest, verifyPack } from './pack.ts';
import { type MatchJob, type MatchOutcome, Pool } from './pool.ts';
import { JobQueue } from './queue.ts';

export interface EngineOptions {
  config: Pick<Config, 'workers' | 'queue' | 'deadline_ms' | 'embedding_cache'>;
  pack_directory: string;
  manifest: PackManifest;
  /** A worker died or failed while it had no job; it is replaced. */
  onWorkerError(error: Error): void;
}

/** Memory of bodies that is kept for the next ones: some of phones, or many of ordinary photos, and how long. */
const kept_bytes = 64 * 1024 * 1024;
const kept_ms = 1000;
/** Bodies up to here are those of small pictures: a job of milliseconds, like the way from worker to worker. */
const light_bytes = 256 * 1024;

/** A model pack with its workers: the queue in front of them, and the memory of the bodies that they are given. */
export class Engine {
  readonly queue: JobQueue<MatchJob, MatchOutcome>;
  readonly bodies: BodyMemory;
  readonly #options: EngineOptions;
  #addon: Addon | undefined;
  #pool: Pool | undefined;
  #workerReplacements = 0;

  /** Starts nothing yet. */
  constructor(options: EngineOptions) {
    this.#options = options;
    const { workers, queue, deadline_ms } = options.config;
    this.queue = new JobQueue({
      workers,
      capacity: queue,
      deadline_ms,
      light: ({ body }) => body.length <= light_bytes,
      run: (job, worker, spare) => this.#pool!.run(job, worker, spare),
    });
    this.bodies = new BodyMemory({
      capacity_bytes: kept_bytes,
      idle_ms: kept_ms,
      free: (memory) => this.#addon?.release(new Uint8Array(memory)),
    });
  }

  /** Resolves when every worker has done its first inference. Rejects with an Error with a message for people. */
  async start(): Promise<void> {
    const { config, pack_directory, manifest, onWorkerError } = this.#options;
    await verifyPack(pack_directory, manifest);
    // Loaded here once, for the whole process: the workers find the sessions made, and a fault is told once and clearly.
    this.#addon = loadAddon();
    this.#addon.loadPack(pack_directory);
    this.#addon.keepEmbeddings(config.embedding_cache);
    this.#pool = await Pool.start({
      workers: config.workers,
      pack_directory,
      embedding_cache: config.embedding_cache > 0,
      onMemory: (memory) => this.bodies.give(memory),
      onWorkerReplaced: () => {
        this.#workerReplacements += 1;
      },
      onWorkerError,
    });
  }

  /** Ends the workers, waiting for native calls in progress. Not before `start` is over. */
  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** As the addon's. */
  preferNewestListener(port: number): void {
    this.#addon?.preferNewestListener(port);
  }

  /** For the metrics, by their names there. */
  readings() {
    const { workers, queue: capacity } = this.#options.config;
    const cache = () => this.#addon?.embeddingCache() ?? { hits: 0, misses: 0, pictures: 0 };
    return {
      queue_depth: () => this.queue.depth,
      queue_capacity: () => capacity,
      workers: () => workers,
      workers_busy: () => this.queue.running,
      worker_busy_seconds_total: () => this.queue.busy_ms / 1000,
      worker_replacements_total: () => this.#workerReplacements,
      embedding_cache_hits_total: () => cache().hits,
      embedding_cache_misses_total: () => cache().misses,
      embedding_cache_pictures: () => cache().pictures,
    };
  }
}
