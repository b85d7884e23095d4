import { join } from 'node:path';
import { threadOptions, withBar } from 'facematch/for-lab';
import { Piscina } from 'piscina';
import type { EmbeddedImage, EmbedTask } from './embed-worker.ts';

/** The pack at `packDirectory` must be loaded. */
export type EmbedImagesOptions = Omit<EmbedTask, 'file'> & { folder: string; workers: number };

/**
 * Detects and embeds the faces of every image on `workers` threads. Resolves to the results by name, in the order of
 * `names`. `title` is the title of the progress bar.
 */
export async function embedImages(
  title: string,
  names: readonly string[],
  { folder, workers, ...how }: EmbedImagesOptions,
): Promise<Map<string, EmbeddedImage>> {
  const tasks = names.map((name) => ({ ...how, file: join(folder, name) }));
  const worker = new URL('./embed-worker.js', import.meta.url);
  const images = await runTasks<EmbedTask, EmbeddedImage>(title, worker, workers, tasks);
  return new Map(names.map((name, i) => [name, images[i]!]));
}

/** Runs tasks on `count` worker threads, with a progress bar. Rejects if a task fails or a thread cannot start. */
export function runTasks<Task, Result>(
  title: string,
  filename: URL,
  count: number,
  tasks: readonly Task[],
): Promise<Result[]> {
  return withBar(title, tasks.length, async (advance) => {
    const pool = new Piscina<Task, Result>({
      filename: filename.href,
      minThreads: count,
      maxThreads: count,
      ...threadOptions,
    });
    // Listens until the pool is destroyed. piscina emits an error for each late result, and an unhandled error would
    // end the process.
    const failed = new Promise<never>((_, reject) => pool.on('error', reject));
    const results = tasks.map(async (task) => {
      const result = await pool.run(task);
      advance();
      return result;
    });
    try {
      return await Promise.race([Promise.all(results), failed]);
    } finally {
      await pool.destroy();
    }
  });
}
