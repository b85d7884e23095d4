import { Piscina } from 'piscina';
import { threads } from '../engine/threads.ts';
import type { LabelledEmbedding } from './cohort.ts';
import type { FitCentres } from './held-out.ts';

/** Gives `work` a function that makes a cohort's centres on one of `workers` threads, and ends them afterwards. */
export async function withFitCentres<T>(
  workers: number,
  onFit: () => void,
  work: (fit: FitCentres) => Promise<T>,
): Promise<T> {
  const pool = new Piscina<readonly LabelledEmbedding[], Float32Array[]>({
    filename: new URL('./fit-centres-worker.js', import.meta.url).href,
    ...threads(workers),
  });
  try {
    return await work(async (pictures) => {
      const centres = await pool.run(pictures);
      onFit();
      return centres;
    });
  } finally {
    await pool.destroy();
  }
}
