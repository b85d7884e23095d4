import type { WorkerTools } from '../engine/jobs.ts';
import { comparePersons } from '../scoring/persons.ts';
import type { EmbeddingsInput } from './compare-embeddings.ts';

/** Jobs of the worker threads besides the analysis of images. `engine.work('embeddings', input)` on the main thread runs one there. */
export const workerJobs = {
  persons: comparePersons,
  /** Imported on demand, because its packages take some MB in each worker. */
  embeddings: async (input: EmbeddingsInput, tools: WorkerTools) => {
    const { compareEmbeddings } = await import('./compare-embeddings.ts');
    return compareEmbeddings(input, tools);
  },
};

export type WorkerJobs = typeof workerJobs;

/** The program of a worker thread. */
export const workerProgram = new URL('./worker.js', import.meta.url);
