import type { WorkerTools } from '../engine/jobs.ts';
import { comparePersons } from '../scoring/persons.ts';
import type { EmbeddingsInput } from './compare-embeddings.ts';

/**
 * Jobs of the worker threads besides the analysis of images. The main thread starts one with, for example,
 * `engine.work('embeddings', input)`.
 */
export const workerJobs = {
  persons: comparePersons,
  /** Imported on demand, because its dependencies use a few MB of memory in each worker. */
  embeddings: async (input: EmbeddingsInput, tools: WorkerTools) => {
    const { compareEmbeddings } = await import('./compare-embeddings.ts');
    return compareEmbeddings(input, tools);
  },
};

export type WorkerJobs = typeof workerJobs;

/** The program of a worker thread. */
export const workerProgram = new URL('./worker.js', import.meta.url);
